// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include "tests/fuzz/mutate.h"

namespace lockstep::fuzz {

// The file is 8 bytes, then chunks: length (big-endian), 4 bytes of type, data, checksum of type
// and data.
std::string with_png_checksums(std::string bytes) {
  constexpr std::size_t kStart = 8, kAround = 12;
  auto* data = reinterpret_cast<uint8_t*>(bytes.data());
  for (std::size_t at = kStart; at + kAround <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | data[at + i];
    if (length > bytes.size() - at - kAround) break;
    const auto sum = crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += kAround + length;
  }
  return bytes;
}

}  // namespace lockstep::fuzz
