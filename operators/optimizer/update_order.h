// SPDX-License-Identifier: Apache-2.0
// The order in which a CPU updates the elements of a parameter: in pieces, which threads share out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/tensor.h"

namespace lockstep {

// Elements updated at a time: whole tiles of 16 or 8 fill it.
constexpr int64_t kElementsAtOnce = 256;

// Some elements of some rows of a parameter.
struct UpdatePiece {
  int64_t top, bottom, left, right;
};

class UpdateOrder {
 public:
  static constexpr int64_t kSide = 16;  // rows of a piece by tiles; deep tiles span two pieces

  // As they lie.
  static UpdateOrder in_order(int64_t count) { return {count, count, 1, kElementsAtOnce}; }
  // For a row-major filter whose gradient or copy lies in tiles: 16 outputs by a few inputs at a
  // time, so that what is written of their tiles stays in the cache.
  static UpdateOrder by_tiles(const Dims& filter) {
    const int64_t plane = filter[2] * filter[3];
    const int64_t inputs = std::max(kSide, kElementsAtOnce / plane / kSide * kSide);
    return {element_count(filter), filter[1] * plane, kSide, inputs * plane};
  }

  int64_t pieces() const { return down_ * across_; }
  // So many whole pieces hold as many elements.
  int64_t pieces_for(int64_t elements) const { return divided_up(elements, elements_of_piece()); }
  // Pieces at the edges may have fewer.
  int64_t elements_of_piece() const { return rows_ * length_; }
  // Whether ranges do not follow each other in memory, so that a processor cannot tell what comes.
  bool leaps() const { return rows_ > 1; }
  // A range of the next row, or the last one.
  int64_t below(int64_t first, int64_t count) const {
    return std::min(first + row_, count_ - count);
  }
  // Whether a row of a piece is one range.
  bool has_short_rows() const { return length_ <= kElementsAtOnce; }

  UpdatePiece piece(int64_t number) const {
    const int64_t left = number % across_ * length_, top = number / across_ * rows_;
    return {top, std::min(top + rows_, count_ / row_), left, std::min(left + length_, row_)};
  }
  // body(row of the piece, first, count): its elements in ranges of at most kElementsAtOnce.
  template <class Body>
  void each_range(const UpdatePiece& piece, const Body& body) const {
    for (int64_t r = piece.top; r < piece.bottom; ++r) {
      const int64_t end = r * row_ + piece.right;
      for (int64_t first = r * row_ + piece.left; first < end; first += kElementsAtOnce)
        body(r - piece.top, first, std::min(kElementsAtOnce, end - first));
    }
  }

 private:
  UpdateOrder(int64_t count, int64_t row, int64_t rows, int64_t length)
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
