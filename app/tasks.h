// SPDX-License-Identifier: Apache-2.0
// The task of a CONFIG.yaml: MODEL.TYPE decides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/unknown_key.h"
#include "app/train/task.h"

namespace lockstep {

std::unique_ptr<Task> task_of(const ConfigFiles& files, const std::vector<std::string>& words,
                              int processes);

// Whether any task has the key; a flag is its key, too.
bool is_key_of_a_task(const std::string& word);

// A key as shells complete keys, with the words that may follow. All tasks' keys are listed once.
struct CompletedKey {
  std::string key, flag;
  std::vector<std::string> words;
};
std::vector<CompletedKey> keys_to_complete();

// Throws the error again; a key of another task's gets the reason why it is unknown.
[[noreturn]] void explain_unknown(const UnknownKey& unknown, const ConfigFiles& files,
                                  const std::vector<std::string>& words);

// Runs `act`, which reads the configuration of whichever task it is.
template <class Act>
auto explaining_unknown(const ConfigFiles& files, const std::vector<std::string>& words,
                        const Act& act) {
  try {
    return act();
  } catch (const UnknownKey& unknown) {
    explain_unknown(unknown, files, words);
  }
}

}  // namespace lockstep
