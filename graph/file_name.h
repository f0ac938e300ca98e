// SPDX-License-Identifier: Apache-2.0
// Names of tensors as names of files, in which %2F stands for /.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

inline std::string file_name_of(std::string_view tensor) {
  std::string file;
  for (const char letter : tensor) {
    if (letter == '/')
      file += "%2F";
    else
      file += letter;
  }
  return file;
}

inline std::string tensor_in_file(std::string file) {
  for (auto at = file.find("%2F"); at != file.npos; at = file.find("%2F", at + 1))
    file.replace(at, 3, "/");
  return file;
}

}  // namespace lockstep
