// SPDX-License-Identifier: Apache-2.0
// How filters may lie in tiles, [outputs / .., inputs / .., height, width, one tile], and the
// number that stands for such a layout in TensorDesc::channel_block.
#pragma once

#include <cstdint>
#include <string>

#include "graph/error.h"

namespace lockstep {

// Whether outputs and inputs have changed places.
enum class Turned { no, each, all };  // each: within a tile; all: among the tiles, too
// Products of 16-bit floats add pairs: two inputs of an output or, turned, two outputs of an input
// lie together. Deep tiles have twice as many of these inputs or outputs.
enum class Pairs { none, flat, deep };

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

  // Within a tile, a place is the sum of these.
  constexpr int64_t place_of_output(int64_t output) const {
    return is_turned() ? apart(output) : together(output);
  }
  constexpr int64_t place_of_input(int64_t input) const {
    return is_turned() ? together(input) : apart(input);
  }

  friend constexpr bool operator==(const FilterTiles&, const FilterTiles&) = default;

 private:
  constexpr int64_t together(int64_t i) const { return pairs == Pairs::none ? i : 2 * i; }
  constexpr int64_t apart(int64_t i) const {
    return pairs == Pairs::none ? i * side : i / 2 * 2 * side + i % 2;
  }
};

// Negative, as no channel block is.
constexpr int layout_of(const FilterTiles& tiles) {
  const int form = static_cast<int>(tiles.turned) + 3 * static_cast<int>(tiles.pairs);
  return -(1000 * form + tiles.side);
}
constexpr bool is_in_tiles(int layout) { return layout < 0; }
constexpr FilterTiles tiles_of(int layout) {
  const int form = -layout / 1000;
  return {-layout % 1000, static_cast<Turned>(form % 3), static_cast<Pairs>(form / 3)};
}
// States are row-major or lie in such tiles. In all others lie only copies of states and, with AMX,
// gradients of filters.
constexpr int tiles_of_side(int side) { return layout_of({.side = side}); }
constexpr bool only_copies_lie_in(int layout) { return layout < -1000; }

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
