// SPDX-License-Identifier: Apache-2.0
// The directory of a ZIP file, as NumPy writes for .npz. Nothing is trusted before it is checked
// against the file's size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/arrays/stored_bytes.h"

namespace lockstep {

struct ZipMember {
  std::string name;
  int64_t offset = 0;  // of the data in the file
  int64_t packed = 0, size = 0;
  uint32_t crc = 0;  // CRC-32 of the unpacked data
  bool is_deflated = false;
};

// Throws, naming `path`, for files that are truncated, damaged, encrypted or split, and for methods
// of compression other than deflate.
std::vector<ZipMember> read_zip_directory(const StoredBytes& file, const std::string& path);

}  // namespace lockstep
