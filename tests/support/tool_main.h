// SPDX-License-Identifier: Apache-2.0
// The main() of small programs that scripts in tests/python run. Prints an Error as a line on
// standard error and exits with code 2.
#pragma once

#include <iostream>
#include <string>
#include <vector>

#include "lockstep/error.h"

namespace lockstep::testing {

using Tool = int (*)(const std::vector<std::string>& words);

inline int tool_main(int count, char** words, Tool tool) {
  try {
    return tool({words + 1, words + count});
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}

}  // namespace lockstep::testing
