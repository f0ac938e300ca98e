// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of (key, counter) by Philox 4x32-10 (Salmon et al., SC 2011): the
// same on any device, in any order, on any number of threads.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep {

using PhiloxBlock = std::array<uint32_t, 4>;

// `stream` separates the users of one seed; `index` counts blocks of four numbers.
constexpr PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t index) {
  PhiloxBlock x{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed);
  uint32_t k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53U} * x[0];
    uint64_t b = uint64_t{0xCD9E8D57U} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return x;
}

// In the open interval (0, 1).
constexpr double uniform_of(uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

// Two standard normal numbers from two words. Computed in double, so that devices whose functions
// differ in the last bit round to the same float.
inline std::array<double, 2> normal_of(uint32_t a, uint32_t b) {
  double radius = std::sqrt(-2.0 * std::log(uniform_of(a)));
  double angle = 6.283185307179586476925 * uniform_of(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// A sequence over one stream, for host code that draws one number after the other.
class PhiloxSequence {
 public:
  PhiloxSequence(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t bits() {
    if (used_ == 4) {
      block_ = philox(seed_, stream_, index_++);
      used_ = 0;
    }
    return block_[used_++];
  }
  // In the open interval (0, 1).
  double uniform() { return uniform_of(bits()); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() {
    uint32_t a = bits();
    return normal_of(a, bits())[0];
  }
  // In [0, count), for count up to 2^32.
  int64_t below(int64_t count) {
    return static_cast<int64_t>((static_cast<unsigned __int128>(bits()) * count) >> 32);
  }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t index_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

// The stream of a node's draws in one step, distinct from the streams of parameters and data.
constexpr uint64_t stream_in_step(uint64_t step, uint64_t stream) {
  constexpr uint64_t kStreams = uint64_t{1} << 63U;
  constexpr uint64_t kStepMask = 0x7fffffffU;
  return kStreams | (step & kStepMask) << 32U | stream;
}

// Puts the items into a random order that depends on the seed and the stream alone.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, uint64_t stream) {
  PhiloxSequence random(seed, stream);
  for (std::size_t i = items.size(); i-- > 1;)
    std::swap(items[i], items[random.below(static_cast<int64_t>(i) + 1)]);
}

}  // namespace lockstep
