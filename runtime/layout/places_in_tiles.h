// SPDX-License-Identifier: Apache-2.0
// Offsets of a filter's elements in a tiled layout, for loops in row-major order. A plan's filters
// fill their tiles. In a kernel's private memory tiles may be partly filled; no loop visits the
// padding.
#pragma once

#include <algorithm>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/tensor.h"

namespace lockstep {

class PlacesInTiles {
 public:
  PlacesInTiles(const Dims& filter, const FilterTiles& tiles)
      : plane_(filter[2] * filter[3]),
        tile_(tiles.places()),
        outputs_(filter[0]),
        inputs_(filter[1]) {
    const int64_t rows = (filter[0] + tiles.outputs() - 1) / tiles.outputs(),
                  columns = (filter[1] + tiles.inputs() - 1) / tiles.inputs();
    count_ = rows * columns * plane_ * tile_;
    for (int64_t o = 0; o < filter[0]; ++o)
      outputs_[o] = tiles.tile(o / tiles.outputs(), 0, rows, columns, plane_) * tile_ +
                    tiles.place_of_output(o % tiles.outputs());
    for (int64_t i = 0; i < filter[1]; ++i)
      inputs_[i] = tiles.tile(0, i / tiles.inputs(), rows, columns, plane_) * tile_ +
                   tiles.place_of_input(i % tiles.inputs());
  }

  int64_t plane() const { return plane_; }
  int64_t of(int64_t output, int64_t input, int64_t element) const {
    return outputs_[output] + inputs_[input] + element * tile_;
  }
  int64_t count() const { return count_; }  // of elements in all tiles, padding included

  // Calls body(n, offset of element first + n), for n in [0, count).
  template <class Body>
  void each(int64_t first, int64_t count, const Body& body) const {
    const auto inputs = static_cast<int64_t>(inputs_.size());
    int64_t output = first / plane_ / inputs, input = first / plane_ % inputs;
    int64_t place = first % plane_;
    for (int64_t n = 0; n < count; ++output, input = 0) {
      const int64_t row = outputs_[output];
      const int64_t* const column = inputs_.data();
      if (plane_ == 1) {  // most filters: a loop without the inner one
        const int64_t here = std::min(count - n, inputs - input);
        for (int64_t i = 0; i < here; ++i) body(n + i, row + column[input + i]);
        n += here;
        continue;
      }
      for (; input < inputs && n < count; ++input, place = 0)
        for (; place < plane_ && n < count; ++place) body(n++, row + column[input] + place * tile_);
    }
  }

 private:
  int64_t plane_, tile_, count_;
  std::vector<int64_t> outputs_, inputs_;  // offset of each output and input; an element adds both
};

}  // namespace lockstep
