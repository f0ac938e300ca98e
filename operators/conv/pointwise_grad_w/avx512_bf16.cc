// SPDX-License-Identifier: Apache-2.0
// Compiled for one kind of processor: nothing here may be shared with other files, so no function
// of the standard library is used.
#include <immintrin.h>

#include "operators/conv/pointwise_grad_w/loops.h"

namespace lockstep::pointwise {
namespace {

using Bits = __m512i;
using Pixel = __m256i;

constexpr int64_t kPair = 2 * kChannels;
constexpr int kOutputs = 8;  // 8 outputs x 2 blocks of inputs: 16 of 32 registers are sums

// Indices that interleave two vectors; the second vector begins at index 32.
constexpr uint16_t kInterleaved[kPair] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                          37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                          11, 43, 12, 44, 13, 45, 14, 46, 15, 47};

// Walks through pixels, across the ends of rows and images.
class Walk {
 public:
  Walk(const Pixels& pixels, int64_t block, int64_t first)
      : pixels_(pixels),
        at_(pixels.at(block, first)),
        left_(pixels.columns - first % pixels.columns),
        rows_left_(pixels.rows - first / pixels.columns % pixels.rows) {}

  Pixel next() {
    const Pixel pixel = _mm256_loadu_si256(reinterpret_cast<const Pixel*>(at_));
    at_ += pixels_.across;
    if (--left_ == 0) leave_row();
    return pixel;
  }

 private:
  void leave_row() {
    left_ = pixels_.columns;
    at_ += pixels_.down - pixels_.columns * pixels_.across;
    if (--rows_left_ > 0) return;
    rows_left_ = pixels_.rows;
    at_ += pixels_.blocks * pixels_.plane - pixels_.rows * pixels_.down;
  }

  const Pixels& pixels_;
  const BFloat16* at_;
  int64_t left_, rows_left_;
};

template <int kBlocks>
void add_tile(const PanelProducts& products, const BFloat16* x, const BFloat16* dy, float* dw,
              const BFloat16* ahead, int64_t ahead_step) {
  __m512 sums[kOutputs][kBlocks];
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o)
    for (int b = 0; b < kBlocks; ++b) sums[o][b] = _mm512_setzero_ps();
  const int64_t block = products.pairs * kPair;
  for (int64_t p = 0; p < products.pairs; ++p, x += kPair, dy += kPair, ahead += ahead_step) {
    Bits seen[kBlocks];
    for (int b = 0; b < kBlocks; ++b) seen[b] = _mm512_loadu_si512(x + b * block);
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      int32_t pair;
      __builtin_memcpy(&pair, dy + 2 * o, sizeof pair);
      const Bits gradient = _mm512_set1_epi32(pair);
      for (int b = 0; b < kBlocks; ++b)
        sums[o][b] = _mm512_dpbf16_ps(sums[o][b], reinterpret_cast<__m512bh>(seen[b]),
                                      reinterpret_cast<__m512bh>(gradient));
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o)
    for (int b = 0; b < kBlocks; ++b) {
      float* to = dw + o * products.row + b * kChannels;
      _mm512_storeu_ps(
          to, products.first ? sums[o][b] : _mm512_add_ps(_mm512_loadu_ps(to), sums[o][b]));
    }
}

}  // namespace

void interleave(const Pixels& from, int64_t block, int64_t first, int64_t count, BFloat16* to) {
  const Bits order = _mm512_loadu_si512(kInterleaved);
  Walk walk(from, block, first);
  for (; count > 0; count -= 2, to += kPair) {
    const Pixel one = walk.next();
    const Pixel other = count > 1 ? walk.next() : _mm256_setzero_si256();
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(_mm512_castsi256_si512(one), order,
                                                      _mm512_castsi256_si512(other)));
  }
}

void add_products(const PanelProducts& products) {
  const int64_t block = products.pairs * kPair;
  const Ahead& ahead = products.ahead;
  int64_t tile = 0;
  for (int64_t i = 0; i < products.inputs; i += 2)
    for (int64_t o = 0; o < products.outputs * kChannels; o += kOutputs, ++tile) {
      const BFloat16* x = products.x + i * block;
      const BFloat16* dy = products.dy + o / kChannels * block + o % kChannels * 2;
      float* dw = products.dw + o * products.row + i * kChannels;
      // Prefetches a new cache line for each pair, or the same line again.
      const bool more = tile < ahead.blocks;
      const BFloat16* next = more ? ahead.from + tile * ahead.plane : x;
      const auto add = products.inputs - i > 1 ? add_tile<2> : add_tile<1>;
      add(products, x, dy, dw, next, more ? kPair : 0);
    }
}

void round_sums(const float* sums, int64_t parts, int64_t size, BFloat16* dw, int64_t begin,
                int64_t end) {
  for (int64_t i = begin; i < end; i += kChannels) {
    __m512 all = _mm512_loadu_ps(sums + i);
    for (int64_t part = 1; part < parts; ++part)
      all = _mm512_add_ps(all, _mm512_loadu_ps(sums + part * size + i));
    _mm256_storeu_si256(reinterpret_cast<Pixel*>(dw + i),
                        reinterpret_cast<Pixel>(_mm512_cvtneps_pbh(all)));
  }
}

}  // namespace lockstep::pointwise
