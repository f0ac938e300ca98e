// SPDX-License-Identifier: Apache-2.0
// The record of a task: how each command treats the task's configurations and networks. A new task
// is a folder with a kind.cc, and a line in task_kinds().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/unknown_key.h"
#include "app/model_source.h"
#include "app/predict/infer_source.h"
#include "app/predict/scorer.h"
#include "app/train/task.h"
#include "app/train/trained_network.h"

namespace lockstep {

// A CONFIG.yaml as a command has it.
struct ConfigRequest {
  const ConfigFiles& files;
  const std::vector<std::string>& words;  // KEY VALUE ..
  int processes = 1;                      // each with DEVICES of its own
};

// Keys with the configuration that they refer to.
struct OwnedKeys {
  std::shared_ptr<void> config;
  ConfigKeys keys;
};

template <class Config>
OwnedKeys owned_keys() {
  const auto config = std::make_shared<Config>();
  return {config, keys_of(*config)};
}

// The same of each task whose configuration one function reads.
template <class Config,
          Config (*read)(const ConfigFiles& files, const std::vector<std::string>& words,
                         int processes, Origins& origins)>
struct ReadBy {
  static OwnedKeys keys() { return owned_keys<Config>(); }
  static Config config(const ConfigRequest& request) {
    Origins unasked;
    return read(request.files, request.words, request.processes, unasked);
  }
  static std::string yaml(const ConfigRequest& request) {
    Origins origins;
    Config config = read(request.files, request.words, request.processes, origins);
    return yaml_with_origins(keys_of(config), origins);
  }
};

struct TaskKind {
  std::string name;                // of `lockstep keys --task`
  std::string network;             // "a detector", for people
  std::string mark;                // metadata of its trained networks alone; "": of the first kind
  std::vector<std::string> types;  // values of MODEL.TYPE
  std::string page;                // the beginning of its page of keys
  OwnedKeys (*keys)();             // with their defaults

  // Each reads the configuration, and throws with file:line and key.
  std::string (*yaml)(const ConfigRequest& config);  // with the origin of every value
  std::unique_ptr<Task> (*task)(const ConfigRequest& config);
  SourcedModel (*step)(const ConfigRequest& config, const ModelRequest& wish);
  std::unique_ptr<Scorer> (*scorer)(const ConfigRequest& config);

  std::vector<std::string> infer_options;  // the options of `infer` that not every task has
  std::string no_infer;                    // why `infer` refuses its networks; "": it does not
  int (*infer)(InferSource source, const InferOptions& options);
  // Describes a network that is exported, for people. Throws for one that `infer` could not use.
  std::string (*describe)(TrainingModel& network, const RunFiles& files);
};

// Each in its task's folder.
TaskKind classification_kind();
TaskKind detection_kind();
TaskKind text_kind();
TaskKind control_kind();

// The first is the kind of a configuration without MODEL.TYPE, and of a network without a mark.
const std::vector<TaskKind>& task_kinds();

// Throws for a MODEL.TYPE that no kind has, unless a type of the first kind is nearest: that
// kind's key says so.
const TaskKind& task_kind_of(const ConfigFiles& files, const std::vector<std::string>& words);
const TaskKind& task_kind_of(const TrainingModel& network);

// The task of a configuration. An unknown key that another task has is explained.
std::unique_ptr<Task> task_of(const ConfigRequest& config);

// True for a key of any task, or its flag.
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

// Runs `act`, which reads the configuration.
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
