// SPDX-License-Identifier: Apache-2.0
// A file whose content is complete before it takes the place of an older one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

// Written under a temporary name beside its place, sync() and then replace(). Without replace(),
// the older file stays and the temporary one is deleted. Several files that belong together are all
// synced before the first replaces another. A second writer of the same path, in any process, waits
// for the first. Errors name path and reason.
class StagedFile {
 public:
  // Throws before a file is touched if `path` or the temporary name cannot be written to
  // (graph/write_place.h).
  explicit StagedFile(const std::string& path);
  StagedFile(const StagedFile&) = delete;
  ~StagedFile();

  void append(std::span<const std::byte> bytes);
  void sync();     // the content is on disk; nothing is appended after
  void replace();  // the name is on disk, too

 private:
  std::string place_;      // at the end of the links of `path`
  std::string temporary_;  // "" once it is renamed
  int descriptor_;         // locked
};

}  // namespace lockstep
