// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli). Detects every error of one or two bits and every burst of up to 32 bits.
// Misses one in 2^32 of other errors. Does not protect against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

uint32_t crc32c(const void* data, std::size_t bytes);
inline uint32_t crc32c(std::string_view bytes) { return crc32c(bytes.data(), bytes.size()); }

// Returns the checksum of two joined inputs, the second `bytes` long. So a file's checksum follows
// from its parts' checksums, and each byte is read once.
uint32_t crc32c_joined(uint32_t first, uint32_t second, std::size_t bytes);

// Returns eight hex digits.
std::string text_of_crc(uint32_t crc);

}  // namespace lockstep
