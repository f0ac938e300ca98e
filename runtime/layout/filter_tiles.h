// SPDX-License-Identifier: Apache-2.0
// Layouts of filters in tiles, [outputs / .., inputs / .., height, width, one tile].
#pragma once

#include <cstdint>
#include <string>

#include "graph/error.h"
#include "graph/shape.h"

namespace lockstep {

// Whether outputs and inputs have changed places.
enum class Turned : uint8_t { no, each, all };  // each: within a tile; all: among the tiles, too
// Products of 16-bit floats add pairs: two inputs of an output or, turned, two outputs of an input
// lie together. Deep tiles have twice as many of these inputs or outputs.
enum class Pairs : uint8_t { none, flat, deep };

// `side` inputs by `side` outputs; the outputs of an input lie together or, turned, the inputs of
// an output.
struct FilterTiles {
  int side = 16;
  Turned turned = Turned::no;
  Pairs pairs = Pairs::none;

  constexpr bool is_turned() const { return turned != Turned::no; }
  constexpr int outputs() const { return pairs == Pairs::deep && is_turned() ? 2 * side : side; }
  constexpr int inputs() const { return pairs == Pairs::deep && !is_turned() ? 2 * side : side; }
  constexpr int64_t places() const { return int64_t{inputs()} * outputs(); }

  bool are_filled_by(const Dims& filter) const {
    return filter.size() == 4 && filter[0] % outputs() == 0 && filter[1] % inputs() == 0;
  }

  // Within a tile, a place is the sum of these.
  constexpr int64_t place_of_output(int64_t output) const {
    return is_turned() ? apart(output) : together(output);
  }
  constexpr int64_t place_of_input(int64_t input) const {
    return is_turned() ? together(input) : apart(input);
  }

  // The number of a tile among all of a filter, which has `rows` tiles of outputs by `columns` of
  // inputs for each of `plane` elements.
  constexpr int64_t tile(int64_t row, int64_t column, int64_t rows, int64_t columns,
                         int64_t plane) const {
    return (turned == Turned::all ? column * rows + row : row * columns + column) * plane;
  }

  friend constexpr bool operator==(const FilterTiles&, const FilterTiles&) = default;

 private:
  constexpr int64_t together(int64_t i) const { return pairs == Pairs::none ? i : 2 * i; }
  constexpr int64_t apart(int64_t i) const {
    return pairs == Pairs::none ? i * side : i / 2 * 2 * side + i % 2;
  }
};

// "t16", "t16 turned", "t16 each turned", "t16 pairs turned", "t16x32 pairs".
inline std::string text_of(const FilterTiles& tiles) {
  std::string text = join("t", tiles.side);
  if (tiles.pairs == Pairs::deep) text += join("x", 2 * tiles.side);
  if (tiles.pairs != Pairs::none) text += " pairs";
  if (tiles.turned == Turned::each) text += " each";
  if (tiles.is_turned()) text += " turned";
  return text;
}

}  // namespace lockstep
