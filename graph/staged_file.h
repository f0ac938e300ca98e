// SPDX-License-Identifier: Apache-2.0
// A file that is complete before it replaces an older file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

// Writes a file under a temporary name in the same folder. Call sync(), then replace(); without
// replace(), the older file stays and the temporary file is deleted. If several files belong
// together, sync all of them before the first replace(). A second writer of the same path, in any
// process, waits for the first. Errors name path and reason.
class StagedFile {
 public:
  // Throws before a file is touched if `path` or the temporary name cannot be written to
  // (graph/write_place.h).
  explicit StagedFile(const std::string& path);
  StagedFile(const StagedFile&) = delete;
  ~StagedFile();

  void append(std::span<const std::byte> bytes);
  void sync();     // puts the content on disk; append nothing afterwards
  void replace();  // puts the name on disk, too

 private:
  std::string place_;      // `path` with links followed
  std::string temporary_;  // "" once it is renamed
  int descriptor_;         // locked
};

}  // namespace lockstep
