// SPDX-License-Identifier: Apache-2.0
// The cells of a feature map that PSRoIPool averages, along one axis: a RoI's ends are rounded to
// whole pixels of the input, a bin's ends outwards to whole cells. The same on every device.
// Functions are templates so that they may be constexpr, which a GPU's compiler accepts in device
// code.
#pragma once

#include <cmath>
#include <cstdint>

#include "lockstep/attributes.h"
#include "lockstep/types.h"
#include "operators/roi/roi.h"

namespace lockstep {

struct CellRange {
  int64_t begin, end;
  constexpr int64_t size() const { return end > begin ? end - begin : 0; }
};

template <class T>
struct PositionAxis {
  static constexpr double kLeastLength = 0.1;  // in cells, as in Caffe2

  T start, bin;

  // `high` is the last pixel inside the RoI.
  constexpr PositionAxis(T low, T high, T scale, int64_t bins) : start(std::round(low) * scale) {
    const T length = (std::round(high) + 1) * scale - start;
    const T least = static_cast<T>(kLeastLength);
    bin = (length > least ? length : least) / static_cast<T>(bins);
  }

  constexpr CellRange cells(int64_t of_bin, int64_t size) const {
    return {clipped(std::floor(static_cast<T>(of_bin) * bin + start), size),
            clipped(std::ceil(static_cast<T>(of_bin + 1) * bin + start), size)};
  }

 private:
  static constexpr int64_t clipped(T cell, int64_t size) {
    if (!(cell > 0)) return 0;  // also not a number
    return cell < static_cast<T>(size) ? static_cast<int64_t>(cell) : size;
  }
};

struct PositionBin {
  CellRange rows, columns;
  int64_t width;  // of the map

  constexpr int64_t cells() const { return rows.size() * columns.size(); }
  // Calls visit(element of the plane) for each cell.
  template <class Visit>
  constexpr void each(const Visit& visit) const {
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t column = columns.begin; column < columns.end; ++column)
        visit(row * width + column);
  }
};

// The sizes of a problem: a map [images, channels grid grid, height, width], RoIs [rois, 4].
// Channel (c grid + i) grid + j holds the features of bin (i, j) of output channel c.
struct PositionProblem {
  int64_t images = 0, channels = 0, height = 0, width = 0;
  int64_t rois = 0, grid = 1;
  float scale = 1;

  PositionProblem(AttributeReader attributes, const Dims& map, int64_t count);

  constexpr int64_t plane() const { return height * width; }
  // The first element of the plane that bin (i, j) of channel `c` reads.
  constexpr int64_t plane_of(int64_t image, int64_t c, int64_t i, int64_t j) const {
    return (((image * channels + c) * grid + i) * grid + j) * plane();
  }

  template <class T, class Box>
  constexpr PositionBin bin(const Box* box, int64_t i, int64_t j) const {
    const T by = static_cast<T>(scale);
    const PositionAxis<T> y(static_cast<T>(box[1]), static_cast<T>(box[3]), by, grid);
    const PositionAxis<T> x(static_cast<T>(box[0]), static_cast<T>(box[2]), by, grid);
    return {y.cells(i, height), x.cells(j, width), width};
  }
};

}  // namespace lockstep
