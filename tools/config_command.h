// SPDX-License-Identifier: Apache-2.0
// Shared by commands with a CONFIG.yaml: the KEY VALUE pairs after it, flags for some keys, and
// running as one of several processes.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/processes.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep {

// Keys on a command line, in the form of read_words().
class KeyWords {
 public:
  // Adds the flags of a step's keys, and lets `command` accept extra words.
  explicit KeyWords(CLI::App& command);

  // After parsing: KEY VALUE .., the words that are no options. They bypass CLI11, which would
  // split bracketed lists. Throws for unknown options, as the parser does.
  std::vector<std::string> words() const;
  // Appends FLAG VALUE .. of the given flags. Throws if a word or a flag has no value.
  void add_flags(std::vector<std::string>& words) const;
  std::vector<std::string> all() const;

 private:
  struct Flag {
    std::string name, value = {};
    std::vector<std::string> items = {};  // of a list, or of a flag that may stand alone
    bool is_switch = false;               // may stand without a value
    bool is_list = false;                 // may be repeated, with one item each
    std::string alone = {};               // the value without a value
    CLI::Option* option = nullptr;

    std::string text() const;
  };
  const CLI::App& command_;
  std::deque<Flag> flags_;  // options refer to them
};

// Runs with a Comm to the other processes, or null. After a failure the others get the reason.
int over_processes(const std::function<int(Comm*)>& run);

}  // namespace lockstep
