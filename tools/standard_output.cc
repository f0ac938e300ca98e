// SPDX-License-Identifier: Apache-2.0
#include "tools/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "lockstep/error.h"

namespace lockstep {

void keep_closed_streams_closed() {
  // A new descriptor is the lowest free number; this one refuses writes.
  for (int file = 0; file >= 0 && file <= STDERR_FILENO;) {
    file = open("/dev/null", O_RDONLY);
    if (file > STDERR_FILENO) close(file);
  }
}

std::string trouble_with_output() {
  const bool written = std::cout.flush().good() && std::ferror(stdout) == 0;
  if (written) return "";
  // The stream keeps no reason, but an empty line is refused for the same reason.
  const bool refused = write(STDOUT_FILENO, "\n", 1) < 0;
  return join("cannot write to standard output",
              refused ? join(": ", std::strerror(errno)) : std::string(),
              "; some of the output is lost, but no file is");
}

}  // namespace lockstep
