// SPDX-License-Identifier: Apache-2.0
// The order of a tensor's elements in memory.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "graph/error.h"
#include "runtime/layout/filter_tiles.h"

namespace lockstep {

class Layout {
 public:
  constexpr Layout() = default;  // row-major

  // [images, blocks, spatial.., channels of a block]. Where a block does not divide the channels,
  // the last one is padded: the places of missing channels hold 0. Blocks of one are row-major.
  static constexpr Layout blocks(int64_t channels) {
    if (channels < 1 || channels > kMost) fail("internal: blocks of ", channels, " channels");
    return channels == 1 ? Layout() : Layout(Form::blocks, static_cast<uint8_t>(channels));
  }
  // Channels innermost, as GPUs' libraries want images. One channel is row-major.
  static constexpr Layout channels_last(int64_t channels) {
    return channels == 1 ? Layout() : Layout(Form::channels_last, 0);
  }
  // Filters that fill their tiles.
  static constexpr Layout in(const FilterTiles& tiles) {
    return {Form::tiles, static_cast<uint8_t>(tiles.side), tiles.turned, tiles.pairs};
  }

  constexpr bool is_rows() const { return form_ == Form::rows; }
  constexpr bool is_blocks() const { return form_ == Form::blocks; }
  constexpr bool is_channels_last() const { return form_ == Form::channels_last; }
  constexpr bool is_tiles() const { return form_ == Form::tiles; }

  constexpr int block() const { return is_blocks() ? size_ : 1; }  // channels; 1: not in blocks
  constexpr FilterTiles tiles() const { return {size_, turned_, pairs_}; }
  // States lie row-major or in plain tiles. Other layouts hold copies of states and, with AMX,
  // gradients of filters.
  constexpr bool may_hold_states() const {
    return is_rows() || (is_tiles() && turned_ == Turned::no && pairs_ == Pairs::none);
  }

  // "/c16", "/t16", "/t16 turned", "/t8 each turned"; "" for row-major.
  std::string text() const {
    if (is_tiles()) return join("/", tiles());
    if (is_blocks()) return join("/c", block());
    return is_channels_last() ? "/channels last" : "";
  }

  // Order: tiles, row-major, small blocks, large blocks, channels last.
  friend constexpr auto operator<=>(const Layout&, const Layout&) = default;
  friend constexpr bool operator==(const Layout&, const Layout&) = default;  // nvcc implies none

 private:
  static constexpr int64_t kMost = 255;
  enum class Form : uint8_t { tiles, rows, blocks, channels_last };

  constexpr Layout(Form form, uint8_t size, Turned turned = Turned::no, Pairs pairs = Pairs::none)
      : form_(form), size_(size), turned_(turned), pairs_(pairs) {}

  Form form_ = Form::rows;
  uint8_t size_ = 0;  // the channels of a block, or the side of a tile
  Turned turned_ = Turned::no;
  Pairs pairs_ = Pairs::none;
};
static_assert(sizeof(Layout) == 4);

}  // namespace lockstep
