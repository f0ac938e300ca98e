// SPDX-License-Identifier: Apache-2.0
// Code shared by the AMX loops. For files that are compiled for processors with AMX: nothing here
// may be used by other files, so no function of the standard library is used.
#pragma once

#include <immintrin.h>

#include "operators/conv/amx/kernels.h"

namespace lockstep::amx {

using Bits = __m512i;
using Pixel = __m256i;  // 16 channels

constexpr int64_t kPixels = 16;  // of a tile of results
constexpr int64_t kRowBytes = 64;
// g++ 12 warns of uninitialised values in intrinsics without masks.
constexpr __mmask16 kAll = 0xFFFF;

// A pixel of a grid; iterates over the pixels that the result has.
class Place {
 public:
  explicit Place(const Grid& grid)
      : grid_(&grid), image_(0), row_(grid.row_begin), column_(grid.column_begin) {
    if (grid.row_begin >= grid.row_end || grid.column_begin >= grid.column_end)
      image_ = grid.images;
  }

  bool more() const { return image_ < grid_->images; }
  int64_t pixel() const { return image_ * grid_->image + row_ * grid_->row + column_; }
  int64_t left_of_row() const { return grid_->column_end - column_; }
  int64_t in(const Distances& at) const {
    return image_ * at.image + row_ * at.down + column_ * at.across;
  }

  // Moves to the next pixel that is at least `pixels` away.
  void skip(int64_t pixels) {
    column_ += pixels;
    while (column_ >= grid_->row) {
      column_ -= grid_->row;
      ++row_;
    }
    if (column_ >= grid_->column_end) {
      column_ = grid_->column_begin;
      ++row_;
    }
    while (row_ * grid_->row >= grid_->image) {
      row_ -= grid_->image / grid_->row;
      ++image_;
    }
    if (row_ >= grid_->row_end) {
      row_ = grid_->row_begin;
      column_ = grid_->column_begin;
      ++image_;
    } else if (row_ < grid_->row_begin) {
      row_ = grid_->row_begin;
      column_ = grid_->column_begin;
    }
    if (column_ < grid_->column_begin) column_ = grid_->column_begin;
  }

 private:
  const Grid* grid_;
  int64_t image_, row_, column_;
};

inline Pixel load_pixel(const BFloat16* from) {
  return _mm256_loadu_si256(reinterpret_cast<const Pixel*>(from));
}
inline void store_pixel(BFloat16* to, Pixel pixel) {
  _mm256_storeu_si256(reinterpret_cast<Pixel*>(to), pixel);
}
inline __m512 widened(Pixel pixel) {
  return _mm512_castsi512_ps(
      _mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, pixel), 16));
}
inline Pixel narrowed(__m512 floats) { return reinterpret_cast<Pixel>(_mm512_cvtneps_pbh(floats)); }
// Channels outside the mask are 0.
inline Pixel narrowed(__m512 floats, __mmask16 channels) {
  return reinterpret_cast<Pixel>(_mm512_maskz_cvtneps_pbh(channels, floats));
}

// Prefetches the next lines.
inline void fetch(Fetching& fetching) {
  LinesAhead& ahead = fetching.ahead;
  for (int64_t i = 0; i < fetching.at_once && ahead.images > 0; ++i) {
    _mm_prefetch(ahead.from + fetching.block * ahead.block + fetching.row * ahead.row +
                     fetching.line * kRowBytes,
                 _MM_HINT_T1);
    if (++fetching.line < ahead.lines) continue;
    fetching.line = 0;
    if (++fetching.row < ahead.rows) continue;
    fetching.row = 0;
    if (++fetching.block < ahead.blocks) continue;
    fetching.block = 0;
    ahead.from += ahead.image;
    --ahead.images;
  }
}

// Makes sure that memory read by tiles has been written: g++ does not see this dependency.
inline void finish_writing(const void* last = nullptr) {
  asm volatile("" : : "r"(last) : "memory");
}

}  // namespace lockstep::amx
