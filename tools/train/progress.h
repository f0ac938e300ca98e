// What a user sees while training runs: one line that is rewritten on a terminal, plain lines else.
#pragma once

#include <string>

namespace lockstep {

class Progress {
 public:
  explicit Progress(bool quiet);  // quiet: says nothing
  ~Progress();
  void status(const std::string& line);  // replaces the last status on a terminal
  void note(const std::string& line);    // stays

 private:
  bool quiet_;
  bool terminal_;
  bool open_ = false;  // a status line without its end
};

}  // namespace lockstep
