// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockstep {
namespace {

constexpr std::size_t kShaBlock = 64;

// The first 32 fractional bits of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kShaRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Words = std::array<uint32_t, 8>;

// And of the square roots of the first eight.
constexpr Words kShaStart{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::array<uint32_t, 64> schedule_of(const char* block) {
  std::array<uint32_t, 64> words{};
  for (std::size_t i = 0; i < kShaBlock; ++i)
    words[i / 4] = words[i / 4] << 8U | static_cast<unsigned char>(block[i]);
  for (std::size_t i = 16; i < words.size(); ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3U)) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10U));
  }
  return words;
}

void take_in(Words& state, const char* block) {
  const auto words = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                         ((e & f) ^ (~e & g)) + kShaRound[i] + words[i];
    const uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one;
    d = c, c = b, b = a, a = one + two;
  }
  const Words worked{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += worked[i];
}

void append_big_endian(std::string& bytes, uint64_t number, int count) {
  for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(number >> static_cast<unsigned>(shift) & 0xFFU));
}

}  // namespace

std::string sha256(std::string_view text) {
  std::string padded(text);
  padded.push_back('\x80');
  padded.resize((padded.size() + 8 + kShaBlock - 1) / kShaBlock * kShaBlock - 8, '\0');
  append_big_endian(padded, uint64_t{text.size()} * 8, 8);
  Words state = kShaStart;
  for (std::size_t at = 0; at < padded.size(); at += kShaBlock) take_in(state, padded.data() + at);
  std::string digest;
  for (const uint32_t word : state) append_big_endian(digest, word, 4);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string inner = key.size() > kShaBlock ? sha256(key) : std::string(key);
  inner.resize(kShaBlock, '\0');
  std::string outer = inner;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return sha256(outer.append(sha256(inner.append(text))));
}

}  // namespace lockstep
