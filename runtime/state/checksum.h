// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli). It detects every error of one or two bits and every burst of up to 32 bits;
// of any other damage it misses one in 2^32. It does not protect against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

uint32_t crc32c(const void* data, std::size_t bytes);
inline uint32_t crc32c(std::string_view bytes) { return crc32c(bytes.data(), bytes.size()); }

// The checksum of two joined inputs, the second `bytes` long. A file's checksum thus follows from
// its parts', and each byte is read once.
uint32_t crc32c_joined(uint32_t first, uint32_t second, std::size_t bytes);

// Eight hex digits.
std::string text_of_crc(uint32_t crc);

}  // namespace lockstep
