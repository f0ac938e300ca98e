// SPDX-License-Identifier: Apache-2.0
// Implements loops.h. P provides a processor's vectors of floats: vectors of kLanes floats,
// arithmetic, and the operations that filters_of.h needs. There are enough registers for kRows rows
// of two sums.
//
// For files that are compiled for one kind of processor: nothing here may be shared with other
// files, so no function of the standard library is used.
#pragma once

#include "operators/conv/winograd/filtering.h"
#include "operators/conv/winograd/filters_of.h"
#include "operators/conv/winograd/loops.h"

namespace lockstep::winograd {

template <class P>
class LoopsOf final : public Loops {
 public:
  int lanes() const override { return kLanes; }
  const char* name() const override { return P::kName; }

  void tile_inputs(const float* x, const Images& images, int64_t top, int64_t left,
                   const Tiles& tiles, int64_t stride, float* to, int64_t begin,
                   int64_t end) const override {
    for (int64_t item = begin; item < end; ++item) {
      const Place at(images, tiles, item);
      Vector tile[36], half[36];
      read<6>(x + at.plane, images, at.row - top, at.column - left, tile);
      for (int i = 0; i < 6; ++i) Filter::input(tile + i, 6, half + i, 6);
      for (int i = 0; i < 6; ++i) Filter::input(half + 6 * i, 1, tile + 6 * i, 1);
      for (int p = 0; p < kPoints; ++p) P::store(to + p * stride + item * kLanes, tile[p]);
    }
  }

  void tile_gradients(const float* dy, const Images& images, const Tiles& tiles, int64_t stride,
                      float* to, int64_t begin, int64_t end) const override {
    for (int64_t item = begin; item < end; ++item) {
      const Place at(images, tiles, item);
      Vector tile[36], half[24];
      read<4>(dy + at.plane, images, at.row, at.column, tile);
      for (int i = 0; i < 4; ++i) Filter::output_gradient(tile + i, 4, half + i, 4);
      for (int i = 0; i < 6; ++i) Filter::output_gradient(half + 4 * i, 1, tile + 6 * i, 1);
      for (int p = 0; p < kPoints; ++p) P::store(to + p * stride + item * kLanes, tile[p]);
    }
  }

  void filters(const float* w, const FilterPlaces& places, int64_t stride, float* to, int64_t begin,
               int64_t end) const override {
    for (int64_t item = begin; item < end; ++item)
      FiltersOf<P>::transform(w, places, stride, to, item);
  }

  void multiply(const float* x, const float* w, const Products& products, bool first, float* y,
                int64_t begin, int64_t end) const override {
    const int64_t panels = products.outputs / kPanel, group = products.tiles * kLanes;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t point = item / panels, panel = item % panels;
      const float* from = x + point * products.input_stride;
      const float* by = w + point * products.filter_stride + panel * products.inputs * kPanel;
      float* to = y + point * products.output_stride + 2 * panel * group;
      int64_t tile = 0;
      for (; tile + P::kRows <= products.tiles; tile += P::kRows)
        multiply_rows<P::kRows>(from + tile * kLanes, by, products.inputs, group, first,
                                to + tile * kLanes);
      multiply_rest<P::kRows - 1>(products.tiles - tile, from + tile * kLanes, by, products.inputs,
                                  group, first, to + tile * kLanes);
    }
  }

  void outputs(const float* from, int64_t stride, const Tiles& tiles, const Postlude& postlude,
               const Images& images, float* y, int64_t begin, int64_t end) const override {
    for (int64_t item = begin; item < end; ++item) {
      const Place at(images, tiles, item);
      Vector tile[36], half[24];
      for (int p = 0; p < kPoints; ++p) tile[p] = P::load(from + p * stride + item * kLanes);
      for (int i = 0; i < 6; ++i) Filter::output(tile + i, 6, half + i, 6);
      for (int i = 0; i < 4; ++i) Filter::output(half + 6 * i, 1, tile + 4 * i, 1);
      if (postlude.bias) {
        const Vector bias = P::load(postlude.bias + at.group * kLanes);
        for (int i = 0; i < 16; ++i) tile[i] = P::add(tile[i], bias);
      }
      if (postlude.z) {
        Vector added[16];
        read<kTile>(postlude.z + at.plane, images, at.row, at.column, added);
        for (int i = 0; i < 16; ++i) tile[i] = P::add(tile[i], added[i]);
      }
      if (postlude.relu)
        for (int i = 0; i < 16; ++i) tile[i] = P::relu(tile[i]);
      write(tile, images, at.row, at.column, y + at.plane);
    }
  }

  void add_products(const float* x, const float* dy, const Products& products, bool first,
                    float* dw, int64_t begin, int64_t end) const override {
    const int64_t panels = products.outputs / kPanel, groups = products.inputs / kLanes;
    const int64_t group = products.tiles * kLanes;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t point = item / (panels * groups), panel = item / groups % panels;
      const int64_t inputs = item % groups;
      const float* from = x + point * products.input_stride + inputs * group;
      const float* by = dy + point * products.output_stride + 2 * panel * group;
      float* to = dw + point * products.filter_stride +
                  (panel * products.inputs + inputs * kLanes) * kPanel;
      for (int row = 0; row < kLanes; row += kSummedRows)
        add_rows(from + row, by, products.tiles, first, to + row * kPanel);
    }
  }

  void filter_gradients(const float* from, int64_t stride, const FilterPlaces& places, float* dw,
                        int64_t begin, int64_t end) const override {
    for (int64_t item = begin; item < end; ++item)
      FiltersOf<P>::gradients(from, stride, places, dw, item);
    P::end_streams();
  }

 private:
  using Vector = typename P::Vector;
  using Filter = Filtering<P>;
  static constexpr int kLanes = P::kLanes, kPanel = 2 * kLanes;
  static constexpr int kSummedRows = kLanes / 2;

  // The position of an item of tiles in images.
  struct Place {
    int64_t group;  // of channels
    int64_t plane;  // offset of its vectors
    int64_t row, column;

    Place(const Images& images, const Tiles& tiles, int64_t item) {
      group = item / tiles.count;
      const int64_t tile = tiles.first + item % tiles.count;
      const int64_t in_image = tiles.down * tiles.across, image = tile / in_image;
      row = tile % in_image / tiles.across * kTile;
      column = tile % tiles.across * kTile;
      const int64_t pixels = images.height * images.width, channel = group * kLanes;
      plane = (image * images.channels + channel / images.block * images.block) * pixels +
              channel % images.block;
    }
  };

  // Reads kSide x kSide pixels from (row, column) on; pixels outside are 0.
  template <int kSide>
  static void read(const float* plane, const Images& images, int64_t row, int64_t column,
                   Vector* tile) {
    const int64_t block = images.block;
    if (row >= 0 && column >= 0 && row + kSide <= images.height && column + kSide <= images.width) {
      for (int r = 0; r < kSide; ++r)
        for (int c = 0; c < kSide; ++c)
          tile[r * kSide + c] = P::load(plane + ((row + r) * images.width + column + c) * block);
      return;
    }
    for (int r = 0; r < kSide; ++r)
      for (int c = 0; c < kSide; ++c) {
        const int64_t y = row + r, x = column + c;
        const bool inside = y >= 0 && y < images.height && x >= 0 && x < images.width;
        tile[r * kSide + c] = inside ? P::load(plane + (y * images.width + x) * block) : P::all(0);
      }
  }

  static void write(const Vector* tile, const Images& images, int64_t row, int64_t column,
                    float* plane) {
    const int64_t rows = images.height - row, columns = images.width - column;
    for (int r = 0; r < kTile && r < rows; ++r)
      for (int c = 0; c < kTile && c < columns; ++c)
        P::store(plane + ((row + r) * images.width + column + c) * images.block,
                 tile[r * kTile + c]);
  }

  // Multiplies kRows neighbouring tiles by a panel of filters.
  template <int kRows>
  static void multiply_rows(const float* x, const float* w, int64_t inputs, int64_t group,
                            bool first, float* y) {
    Vector sums[kRows][2];
    for (int r = 0; r < kRows; ++r)
      for (int side = 0; side < 2; ++side)
        sums[r][side] = first ? P::all(0) : P::load(y + side * group + r * kLanes);
    for (int64_t c = 0; c < inputs; c += kLanes, x += group)
      for (int lane = 0; lane < kLanes; ++lane, w += kPanel) {
        const Vector left = P::load(w), right = P::load(w + kLanes);
        for (int r = 0; r < kRows; ++r) {
          const Vector value = P::all(x[r * kLanes + lane]);
          sums[r][0] = P::fma(value, left, sums[r][0]);
          sums[r][1] = P::fma(value, right, sums[r][1]);
        }
      }
    for (int r = 0; r < kRows; ++r) {
      P::store(y + r * kLanes, sums[r][0]);
      P::store(y + group + r * kLanes, sums[r][1]);
    }
  }
  template <int kRows>
  static void multiply_rest(int64_t rows, const float* x, const float* w, int64_t inputs,
                            int64_t group, bool first, float* y) {
    if (rows == kRows)
      multiply_rows<kRows>(x, w, inputs, group, first, y);
    else if constexpr (kRows > 1)
      multiply_rest<kRows - 1>(rows, x, w, inputs, group, first, y);
  }

  static void add_rows(const float* x, const float* dy, int64_t tiles, bool first, float* dw) {
    Vector sums[kSummedRows][2];
    for (int r = 0; r < kSummedRows; ++r)
      for (int side = 0; side < 2; ++side)
        sums[r][side] = first ? P::all(0) : P::load(dw + r * kPanel + side * kLanes);
    const float* other = dy + tiles * kLanes;
    for (int64_t t = 0; t < tiles; ++t, x += kLanes, dy += kLanes, other += kLanes) {
      const Vector left = P::load(dy), right = P::load(other);
      for (int r = 0; r < kSummedRows; ++r) {
        const Vector value = P::all(x[r]);
        sums[r][0] = P::fma(value, left, sums[r][0]);
        sums[r][1] = P::fma(value, right, sums[r][1]);
      }
    }
    for (int r = 0; r < kSummedRows; ++r)
      for (int side = 0; side < 2; ++side) P::store(dw + r * kPanel + side * kLanes, sums[r][side]);
  }
};

}  // namespace lockstep::winograd
