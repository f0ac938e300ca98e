// SPDX-License-Identifier: Apache-2.0
#include "app/train/progress.h"

#include <unistd.h>

#include <iostream>

#include "graph/printable.h"

namespace lockstep {

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDOUT_FILENO) != 0) {}

Progress::~Progress() {
  if (open_) std::cout << std::endl;
}

void Progress::status(const std::string& line) {
  if (quiet_) return;
  if (terminal_)
    std::cout << "\r\x1b[K" << line << std::flush;
  else
    std::cout << line << std::endl;
  open_ = terminal_;
}

void Progress::note(const std::string& line) {
  if (quiet_) return;
  if (open_) std::cout << "\r\x1b[K";
  std::cout << printable_lines(line) << std::endl;
  open_ = false;
}

}  // namespace lockstep
