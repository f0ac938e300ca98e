// SPDX-License-Identifier: Apache-2.0
// Text files, named one by one, by folders or by patterns, as one text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// The files that `names` mean, in order of their paths, each once. A name is a file; a folder, for
// all files below it; or a pattern, in which * and ? match within one part of a path and ** any
// number of folders. Neither folders nor patterns mean hidden files. `root` is the folder that
// relative names start from; "": the current one. Throws naming what means nothing.
std::vector<std::string> text_files_named(const std::vector<std::string>& names,
                                          const std::string& root);

// The files' bytes, one after the other.
class JoinedText {
 public:
  JoinedText() = default;
  // Of no file.
  static JoinedText of_bytes(std::string bytes) {
    JoinedText text;
    text.bytes_ = std::move(bytes);
    return text;
  }
  // Throws for a file that is missing or empty, and for more than memory holds.
  explicit JoinedText(const std::vector<std::string>& paths);

  const std::string& bytes() const { return bytes_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  int64_t files() const { return static_cast<int64_t>(starts_.size()); }
  // For errors: "notes.txt:3" of the byte's line.
  std::string where(int64_t position) const;

 private:
  struct Start {
    std::string path;
    int64_t first = 0;
  };
  std::string bytes_;
  std::vector<Start> starts_;
};

}  // namespace lockstep
