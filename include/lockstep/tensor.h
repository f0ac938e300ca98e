// SPDX-License-Identifier: Apache-2.0
// Tensors in memory: the layout of their elements, their description, and a view of their bytes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/types.h"

namespace lockstep {

// Transposition of outputs and inputs. each: within a tile; all: also among the tiles.
enum class Turned : uint8_t { no, each, all };
// Products of 16-bit floats add pairs: two inputs of an output (turned: two outputs of an input)
// are adjacent. Deep tiles have twice as many of these inputs or outputs.
enum class Pairs : uint8_t { none, flat, deep };

// The layout of a filter in tiles: [outputs / .., inputs / .., height, width, one tile]. A tile has
// `side` inputs by `side` outputs. The outputs of an input are adjacent (turned: the inputs of an
// output are).
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

  // The index of an element within its tile is the sum of these two.
  constexpr int64_t place_of_output(int64_t output) const {
    return is_turned() ? apart(output) : together(output);
  }
  constexpr int64_t place_of_input(int64_t input) const {
    return is_turned() ? together(input) : apart(input);
  }

  // The index of a tile in a filter of `rows` tiles of outputs by `columns` tiles of inputs, each
  // for `plane` elements.
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

// The order of a tensor's elements in memory.
class Layout {
 public:
  constexpr Layout() = default;  // row-major

  // [images, blocks, spatial.., channels of a block]. If the block size does not divide the number
  // of channels, the last block is padded with zeros. Blocks of one channel are row-major.
  static constexpr Layout blocks(int64_t channels) {
    if (channels < 1 || channels > kMost) fail("internal: blocks of ", channels, " channels");
    return channels == 1 ? Layout() : Layout(Form::blocks, static_cast<uint8_t>(channels));
  }
  // Channels innermost, as GPU libraries prefer images. One channel is row-major.
  static constexpr Layout channels_last(int64_t channels) {
    return channels == 1 ? Layout() : Layout(Form::channels_last, 0);
  }
  // Tiles of a filter, for filters that fill them (FilterTiles::are_filled_by).
  static constexpr Layout in(const FilterTiles& tiles) {
    return {Form::tiles, static_cast<uint8_t>(tiles.side), tiles.turned, tiles.pairs};
  }

  constexpr bool is_rows() const { return form_ == Form::rows; }
  constexpr bool is_blocks() const { return form_ == Form::blocks; }
  constexpr bool is_channels_last() const { return form_ == Form::channels_last; }
  constexpr bool is_tiles() const { return form_ == Form::tiles; }

  constexpr int block() const { return is_blocks() ? size_ : 1; }  // channels of a block
  constexpr FilterTiles tiles() const { return {size_, turned_, pairs_}; }
  // States are row-major or in plain tiles. Other layouts are for copies of states and, with AMX,
  // for gradients of filters.
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

struct TensorDesc {
  DType dtype = DType::undefined;  // undefined: an omitted optional operand
  Dims dims;
  Layout layout = {};

  int64_t count() const { return element_count(dims); }
  // The number of neighbouring channels; 1 if each channel has a separate plane.
  int64_t block() const { return layout.is_channels_last() ? dims[1] : layout.block(); }
  bool padded() const { return layout.is_blocks() && dims[1] % layout.block() != 0; }
  // The dimensions in memory, where padding counts as channels.
  Dims stored() const {
    Dims whole = dims;
    if (padded()) whole[1] += layout.block() - dims[1] % layout.block();
    return whole;
  }
  // The number of elements in memory, padding included. Allocates nothing.
  int64_t places() const {
    if (!padded()) return count();
    return count() / dims[1] * (dims[1] + layout.block() - dims[1] % layout.block());
  }
  std::size_t bytes() const { return places() * size_of(dtype); }
  bool present() const { return dtype != DType::undefined; }
  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

// Layout::text(), but "/c64" for 64 channels innermost.
inline std::string text_of_layout(const TensorDesc& desc) {
  return desc.layout.is_channels_last() ? join("/c", desc.dims[1]) : desc.layout.text();
}

inline std::string text_of(const TensorDesc& desc) {
  return std::string(name_of(desc.dtype)) + text_of(desc.dims) + text_of_layout(desc);
}

// A non-owning view of memory.
struct Tensor {
  TensorDesc desc;
  void* data = nullptr;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t count() const { return desc.count(); }
};

// A tensor over the bytes of a literal, which must outlive the tensor. Only for reading.
inline Tensor view_of(const Literal& literal) {
  return {{literal.dtype(), literal.dims()}, const_cast<std::byte*>(literal.bytes().data())};
}

}  // namespace lockstep
