// SPDX-License-Identifier: Apache-2.0
// A file that grows during a run. A full disk does not end the run: unwritten text is kept and
// written with the next append.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

class AppendedFile {
 public:
  // Throws naming the path if the file cannot be opened.
  explicit AppendedFile(std::string path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;

  void append(std::string_view bytes);
  // The reason why text is waiting, or "".
  const std::string& trouble() const { return trouble_; }

 private:
  std::string path_;
  int descriptor_;
  std::string waiting_;
  std::string trouble_;
};

}  // namespace lockstep
