// SPDX-License-Identifier: Apache-2.0
// CPU copies of a parameter that an update writes along with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "lockstep/types.h"
#include "operators/optimizer/tile_transpose.h"
#include "runtime/layout/places_in_tiles.h"

namespace lockstep {

template <int64_t kSide>
void write_turned_tile(const float* x, float* y) {
  for (int64_t i = 0; i < kSide; ++i)
    for (int64_t o = 0; o < kSide; ++o) y[o * kSide + i] = x[i * kSide + o];
}

// Writes filters in tiles to transposed tiles. `first` is the index of the first element in the
// filters' layout.
template <int64_t kSide>
void write_turned(const float* from, const TensorDesc& copy, float* to, int64_t first,
                  int64_t count) {
  constexpr int64_t kTile = kSide * kSide;
  static_assert(kElementsAtOnce % kTile == 0);
  const Dims& dims = copy.dims;
  const int64_t outputs = dims[0] / kSide, inputs = dims[1] / kSide, plane = dims[2] * dims[3];
  const FilterTiles tiles = copy.layout.tiles();
  for (int64_t done = 0; done < count; done += kTile) {
    const int64_t tile = (first + done) / kTile, place = tile % plane, row = tile / plane;
    const int64_t other = tiles.tile(row / inputs, row % inputs, outputs, inputs, plane) + place;
    write_turned_tile<kSide>(from + done, to + other * kTile);
  }
}

// The rows of a piece of an update, for one operand. All elements have one type.
class PieceRows {
 public:
  void* all() { return bytes_; }
  const void* all() const { return bytes_; }
  template <class T>
  T* at(int64_t row) {
    static_assert(sizeof(T) <= sizeof(float));
    return reinterpret_cast<T*>(bytes_) + row * kElementsAtOnce;
  }

 private:
  alignas(64) std::byte bytes_[UpdateTraversal::kSide * kElementsAtOnce * sizeof(float)];
};

// A copy of a parameter. It has the parameter's layout, or tiles if the parameter is a row-major
// filter, or transposed float32 tiles if the parameter is a filter in tiles.
class WrittenCopy {
 public:
  WrittenCopy(const TensorDesc& param, const TensorDesc& copy) {
    if (copy.layout == param.layout) return;
    const FilterTiles tiles = copy.layout.tiles();
    if (param.layout.is_rows() && copy.layout.is_tiles())
      places_.emplace(copy.dims, tiles);
    else if (copy.dtype == DType::float32 && param.layout.is_tiles() && copy.layout.is_tiles() &&
             tiles.is_turned() && tiles.pairs == Pairs::none)
      turned_of_side_ = tiles.side;
    else
      supported(false, "writes no copy of ", text_of(param), " as ", text_of(copy));
  }

  bool in_tiles_of_rows() const { return places_.has_value(); }
  void use_squares(const TensorDesc& copy, const UpdateTraversal& order) {
    if (places_) squares_ = Squares::of(copy, order);
  }

  // Writes a range, unless the copy is written in squares at the end of the piece.
  template <class To>
  void write(const To* from, const Tensor& copy, int64_t first, int64_t count) const {
    To* const to = copy.as<To>();
    if (squares_) return;
    if (places_)
      return places_->each(first, count, [&](int64_t n, int64_t place) { to[place] = from[n]; });
    if constexpr (std::is_same_v<To, float>) {
      if (turned_of_side_ == 16) return write_turned<16>(from, copy.desc, to, first, count);
      if (turned_of_side_ == 8) return write_turned<8>(from, copy.desc, to, first, count);
    }
    std::copy_n(from, count, to + first);
  }
  void write_squares(const UpdatePiece& piece, const PieceRows& rows, const Tensor& copy) const {
    if (squares_) squares_->write(piece, rows.all(), copy.data);
  }

 private:
  std::optional<PlacesInTiles> places_;
  std::optional<Squares> squares_;
  int turned_of_side_ = 0;
};

// All copies of a parameter; they have one type.
class WrittenCopies {
 public:
  WrittenCopies(const TensorDesc& param, std::span<const TensorDesc> copies) {
    for (const TensorDesc& copy : copies) copies_.emplace_back(param, copy);
  }
  bool empty() const { return copies_.empty(); }
  bool any_in_tiles_of_rows() const {
    return std::ranges::any_of(copies_, &WrittenCopy::in_tiles_of_rows);
  }
  void use_squares(std::span<const TensorDesc> copies, const UpdateTraversal& order) {
    for (std::size_t c = 0; c < copies_.size(); ++c) copies_[c].use_squares(copies[c], order);
  }

  // Writes a range in row `row` of a piece. copies[c] is the destination of copy c.
  void write(const float* from, const Tensor* copies, int64_t first, int64_t count, int64_t row,
             PieceRows& rows) const {
    with_type<TensorFloats>(copies->desc.dtype, [&]<class To>() {
      write_as<To>(from, copies, first, count, row, rows);
    });
  }
  // Called after all ranges of a piece have been written.
  void finish(const UpdatePiece& piece, const Tensor* copies, const PieceRows& rows) const {
    for (std::size_t c = 0; c < copies_.size(); ++c)
      copies_[c].write_squares(piece, rows, copies[c]);
  }

 private:
  template <class To>
  void write_as(const float* from, const Tensor* copies, int64_t first, int64_t count, int64_t row,
                PieceRows& rows) const {
    To* const made = rows.at<To>(row);
    for (int64_t i = 0; i < count; ++i) made[i] = To(from[i]);
    for (std::size_t c = 0; c < copies_.size(); ++c)
      copies_[c].write(made, copies[c], first, count);
  }

  std::vector<WrittenCopy> copies_;
};

}  // namespace lockstep
