// The order in which a CPU updates the elements of a parameter: in pieces, which threads share out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/tensor.h"

namespace lockstep {

// Elements updated at a time: whole tiles of 16 or 8 fill it.
constexpr int64_t kElementsAtOnce = 256;

class UpdateOrder {
 public:
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

  // body(first, count): the elements of the pieces [begin, end) in ranges of at most
  // kElementsAtOnce.
  template <class Body>
  void each_range(int64_t begin, int64_t end, const Body& body) const {
    if (rows_ == 1) return in_ranges(begin * length_, std::min(end * length_, count_), body);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t left = piece % across_ * length_, right = std::min(left + length_, row_);
      const int64_t top = piece / across_ * rows_, bottom = std::min(top + rows_, count_ / row_);
      for (int64_t r = top; r < bottom; ++r) in_ranges(r * row_ + left, r * row_ + right, body);
    }
  }

 private:
  static constexpr int64_t kSide = 16;  // deep tiles span two pieces

  UpdateOrder(int64_t count, int64_t row, int64_t rows, int64_t length)
      : count_(count),
        row_(std::max<int64_t>(1, row)),
        rows_(rows),
        length_(length),
        across_(divided_up(row_, length)),
        down_(divided_up(count, row_ * rows)) {}

  static int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }
  template <class Body>
  static void in_ranges(int64_t begin, int64_t end, const Body& body) {
    for (; begin < end; begin += kElementsAtOnce)
      body(begin, std::min(kElementsAtOnce, end - begin));
  }

  int64_t count_, row_;    // of elements
  int64_t rows_, length_;  // of a piece
  int64_t across_, down_;  // pieces
};

}  // namespace lockstep
