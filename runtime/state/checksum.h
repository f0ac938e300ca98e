// CRC-32C (Castagnoli): it finds every flipped bit, every two of them and every burst of up to 32,
// wherever they lie; of any other damage it misses one in 2^32. It is no defence against a forger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

uint32_t crc32c(const void* data, std::size_t bytes);
inline uint32_t crc32c(std::string_view bytes) { return crc32c(bytes.data(), bytes.size()); }

// Of what `first` and then `second` were computed from, the latter `bytes` long: so the sum of a
// whole file follows from those of its parts, and no byte is looked at twice.
uint32_t crc32c_joined(uint32_t first, uint32_t second, std::size_t bytes);

// Eight digits.
std::string text_of_crc(uint32_t crc);

}  // namespace lockstep
