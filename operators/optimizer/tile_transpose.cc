// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/tile_transpose.h"

#include <type_traits>

namespace lockstep {
namespace {

constexpr int64_t kSide = UpdateTraversal::kSide;

// Calls move(n, offset) in the order of offsets. `outer` and `inner` are strides in the rows from
// one output or input to the next. kTogether outer elements are adjacent.
template <int64_t kTogether, class Outer, class Inner, class Move>
void in_order(Outer outer, Inner inner, const Move& move) {
  for (int64_t a = 0; a < kSide; a += kTogether)
    for (int64_t b = 0; b < kSide; ++b)
      for (int64_t c = 0; c < kTogether; ++c)
        move((a + c) * outer + b * inner, a * kSide + b * kTogether + c);
}

using Row = std::integral_constant<int64_t, kElementsAtOnce>;

// `step` is the stride in the rows from one input to the next.
template <class Step, class Move>
void each_place(const FilterTiles& tiles, Step step, const Move& move) {
  const bool pairs = tiles.pairs != Pairs::none;
  if (tiles.is_turned())
    pairs ? in_order<2>(Row(), step, move) : in_order<1>(Row(), step, move);
  else
    pairs ? in_order<2>(step, Row(), move) : in_order<1>(step, Row(), move);
}

}  // namespace

std::optional<Squares> Squares::of(const TensorDesc& filter, const UpdateTraversal& order) {
  const std::size_t bytes = size_of(filter.dtype);
  if (filter.layout.tiles().side != kSide || !order.has_short_rows() ||
      (bytes != sizeof(uint16_t) && bytes != sizeof(float)))
    return std::nullopt;
  return Squares(filter);
}

Squares::Squares(const TensorDesc& filter)
    : places_(filter.dims, filter.layout.tiles()),
      tiles_(filter.layout.tiles()),
      is_narrow_(size_of(filter.dtype) == sizeof(uint16_t)) {}

// Calls body(a number of an element's size, first element of rows, first offset, stride from one
// input to the next).
template <class Body>
void Squares::each(const UpdatePiece& piece, const Body& body) const {
  const int64_t plane = places_.plane();
  const auto with = [&](auto number) {
    for (int64_t left = piece.left; left < piece.right; left += kSide * plane)
      for (int64_t u = 0; u < plane; ++u) {
        const int64_t square = places_.of(piece.top, left / plane, u), at = left - piece.left + u;
        if (plane == 1)
          body(number, at, square, std::integral_constant<int64_t, 1>());
        else
          body(number, at, square, plane);
      }
  };
  is_narrow_ ? with(uint16_t()) : with(float());
}

void Squares::write(const UpdatePiece& piece, const void* rows, void* filter) const {
  each(piece, [&]<class T>(T, int64_t at, int64_t square, auto step) {
    const T* const from = static_cast<const T*>(rows) + at;
    T* const to = static_cast<T*>(filter) + square;
    each_place(tiles_, step, [&](int64_t n, int64_t place) { to[place] = from[n]; });
  });
}

void Squares::read(const UpdatePiece& piece, const void* filter, void* rows) const {
  each(piece, [&]<class T>(T, int64_t at, int64_t square, auto step) {
    const T* const from = static_cast<const T*>(filter) + square;
    T* const to = static_cast<T*>(rows) + at;
    each_place(tiles_, step, [&](int64_t n, int64_t place) { to[n] = from[place]; });
  });
}

}  // namespace lockstep
