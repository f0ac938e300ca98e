// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/checksum.h"

#include <array>
#include <cstring>

namespace lockstep {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78U;  // reflected: the highest power is the lowest bit
constexpr std::size_t kSlices = 8;

// tables[k][b]: the effect of byte b on the checksum, k bytes later.
constexpr std::array<std::array<uint32_t, 256>, kSlices> kTables = [] {
  std::array<std::array<uint32_t, 256>, kSlices> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ kPolynomial : crc >> 1;
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < kSlices; ++k)
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  return tables;
}();

// Returns the product of two polynomials, modulo kPolynomial.
uint32_t product(uint32_t a, uint32_t b) {
  uint32_t result = 0;
  for (uint32_t power = 0x80000000U; power != 0; power >>= 1) {
    if (a & power) result ^= b;
    b = b & 1 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return result;
}

}  // namespace

uint32_t crc32c(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t crc = 0xFFFFFFFFU;
  for (; bytes >= kSlices; bytes -= kSlices, at += kSlices) {
    uint32_t low = 0, high = 0;  // supported machines are little-endian, like the files
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + sizeof low, sizeof high);
    low ^= crc;
    crc = kTables[7][low & 0xFF] ^ kTables[6][low >> 8 & 0xFF] ^ kTables[5][low >> 16 & 0xFF] ^
          kTables[4][low >> 24] ^ kTables[3][high & 0xFF] ^ kTables[2][high >> 8 & 0xFF] ^
          kTables[1][high >> 16 & 0xFF] ^ kTables[0][high >> 24];
  }
  for (; bytes > 0; --bytes, ++at) crc = kTables[0][(crc ^ *at) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

// Shifting by `bytes` multiplies the first checksum by x^(8 * bytes).
uint32_t crc32c_joined(uint32_t first, uint32_t second, std::size_t bytes) {
  uint32_t square = 0x00800000U;  // x^8
  for (; bytes > 0; bytes >>= 1, square = product(square, square))
    if (bytes & 1) first = product(square, first);
  return first ^ second;
}

std::string text_of_crc(uint32_t crc) {
  std::string text(8, '0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = "0123456789abcdef"[crc >> (28 - 4 * i) & 0xF];
  return text;
}

}  // namespace lockstep
