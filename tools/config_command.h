// What the commands around a CONFIG.yaml share: KEY VALUE pairs behind it, flags for some of the
// keys, and running as one of several processes.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/comm.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep {

// What a command line says of keys, as read_words() takes it.
class KeyWords {
 public:
  // Adds the flags that keys of a step have, and lets `command` take words behind its own.
  explicit KeyWords(CLI::App& command);

  // Once the command line is parsed: KEY VALUE .., the words that are no options. They are none of
  // CLI11's, which would take the brackets of a list apart. Throws, as the parser does, for unknown
  // options.
  std::vector<std::string> words() const;
  // FLAG VALUE .. of those that were given.
  void add_flags(std::vector<std::string>& words) const;
  std::vector<std::string> all() const;

 private:
  struct Flag {
    std::string name, value;
    CLI::Option* option = nullptr;
  };
  const CLI::App& command_;
  std::deque<Flag> flags_;  // options refer to them
};

// Runs with a Comm to the other processes, or null; when one fails the others learn why.
int over_processes(const std::function<int(Comm*)>& run);

}  // namespace lockstep
