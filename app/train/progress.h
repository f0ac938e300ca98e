// SPDX-License-Identifier: Apache-2.0
// Progress output: one line that is rewritten on a terminal, otherwise plain lines.
#pragma once

#include <string>

namespace lockstep {

class Progress {
 public:
  explicit Progress(bool quiet);  // quiet: no output
  ~Progress();
  void status(const std::string& line);  // replaces the last status on a terminal
  void note(const std::string& line);    // stays

 private:
  bool quiet_;
  bool terminal_;
  bool open_ = false;  // a status line is still open
};

}  // namespace lockstep
