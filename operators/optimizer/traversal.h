// SPDX-License-Identifier: Apache-2.0
// The order in which a CPU updates the elements of a parameter: in pieces, which are distributed
// over threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lockstep/tensor.h"

namespace lockstep {

// The number of elements updated at a time: a multiple of whole tiles of 16 or 8.
constexpr int64_t kElementsAtOnce = 256;

// A rectangle of a parameter's rows and columns.
struct UpdatePiece {
  int64_t top, bottom, left, right;
};

class UpdateTraversal {
 public:
  static constexpr int64_t kSide = 16;  // rows of a piece of tiles; deep tiles span two pieces

  // The order of elements in memory.
  static UpdateTraversal in_order(int64_t count) { return {count, count, 1, kElementsAtOnce}; }
  // The order for a row-major filter with a gradient or copy in tiles. A piece has 16 outputs and a
  // few inputs, so that the written part of the tiles stays in the cache.
  static UpdateTraversal by_tiles(const Dims& filter) {
    const int64_t plane = filter[2] * filter[3];
    const int64_t inputs = std::max(kSide, kElementsAtOnce / plane / kSide * kSide);
    return {element_count(filter), filter[1] * plane, kSide, inputs * plane};
  }

  int64_t pieces() const { return down_ * across_; }
  // The number of whole pieces for this many elements.
  int64_t pieces_for(int64_t elements) const { return divided_up(elements, elements_of_piece()); }
  // The elements of a whole piece. Pieces at the edges may have fewer.
  int64_t elements_of_piece() const { return rows_ * length_; }
  // True if ranges are not consecutive in memory, so that hardware cannot prefetch them.
  bool leaps() const { return rows_ > 1; }
  // The range below, in the next row, clamped to the last range.
  int64_t below(int64_t first, int64_t count) const {
    return std::min(first + row_, count_ - count);
  }
  // True if a row of a piece is one range.
  bool has_short_rows() const { return length_ <= kElementsAtOnce; }

  UpdatePiece piece(int64_t number) const {
    const int64_t left = number % across_ * length_, top = number / across_ * rows_;
    return {top, std::min(top + rows_, count_ / row_), left, std::min(left + length_, row_)};
  }
  // Calls body(row of the piece, first, count) for ranges of at most kElementsAtOnce elements.
  template <class Body>
  void each_range(const UpdatePiece& piece, const Body& body) const {
    for (int64_t r = piece.top; r < piece.bottom; ++r) {
      const int64_t end = r * row_ + piece.right;
      for (int64_t first = r * row_ + piece.left; first < end; first += kElementsAtOnce)
        body(r - piece.top, first, std::min(kElementsAtOnce, end - first));
    }
  }

 private:
  UpdateTraversal(int64_t count, int64_t row, int64_t rows, int64_t length)
      : count_(count),
        row_(std::max<int64_t>(1, row)),
        rows_(rows),
        length_(length),
        across_(divided_up(row_, length)),
        down_(divided_up(count, row_ * rows)) {}

  static int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

  int64_t count_, row_;    // of elements
  int64_t rows_, length_;  // of a piece
  int64_t across_, down_;  // pieces
};

}  // namespace lockstep
