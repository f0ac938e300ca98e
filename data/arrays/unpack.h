// SPDX-License-Identifier: Apache-2.0
// The unpacked data of a member of a ZIP file, read from its beginning to its end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "data/arrays/zip.h"

namespace lockstep {

class ZipData {
 public:
  // `file` and `member` must outlive this object. `what` names the member in errors.
  ZipData(const StoredBytes& file, const ZipMember& member, std::string what);
  ~ZipData();
  ZipData(const ZipData&) = delete;

  // Fills `bytes` with the next data. Throws if the data ends before, or is damaged.
  void next(std::span<std::byte> bytes);
  // Reads the rest, and throws unless the data has the checksum of the directory.
  void finish();

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
