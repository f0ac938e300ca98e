// SPDX-License-Identifier: Apache-2.0
// The passes of a convolution by AMX tiles, over threads. The number of threads changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/tensor.h"
#include "operators/conv/amx/geometry.h"

namespace lockstep::amx {

// A convolution with its channels in blocks.
struct BlockedConv : Conv2d {
  std::optional<Windows> windows = {};

  // The convolution of 1x1 windows that is equivalent to `windows`.
  static BlockedConv of(const Windows& windows);

  int64_t input_blocks() const { return (inputs + kBlock - 1) / kBlock; }
  int64_t output_blocks() const { return (outputs + kBlock - 1) / kBlock; }
  // The number of pairs of blocks; the last pair may have one block.
  int64_t input_pairs() const { return (inputs + kDeep - 1) / kDeep; }
  int64_t output_pairs() const { return (outputs + kDeep - 1) / kDeep; }
};

// The tiles of filters. The forward pass uses tiles of 16 outputs by 32 inputs, in pairs of inputs.
// The backward pass uses tiles of 32 outputs by 16 inputs, in pairs of outputs. Elements of tiles
// beyond the filters are read as 0.
constexpr FilterTiles kForwardTiles{16, Turned::no, Pairs::deep};
constexpr FilterTiles kBackwardTiles{16, Turned::each, Pairs::deep};
constexpr FilterTiles kGradientTiles{16, Turned::each, Pairs::none};

class Convolves {
 public:
  static Convolves forward(const BlockedConv& conv, int threads);
  static Convolves backward(const BlockedConv& conv, int threads);

  // Tensors in channel blocks, padded with 0. If the convolution has windows, the source is
  // row-major. z has y's layout, is added if not null, and may alias y.
  struct Operands {
    const BFloat16 *source, *filters, *bias, *z;
    bool relu;
    BFloat16* y;
  };
  // The workspace must begin at a multiple of 64 bytes.
  void run(const Operands& operands, std::byte* workspace) const;
  std::size_t workspace_bytes() const;

 private:
  Convolves(const Strips& strips, int64_t source_blocks, int64_t result_channels,
            int64_t filter_plane, int64_t filter_block, int64_t taps, int threads);

  void make(const GridStrip& strip, const Operands& operands, Fetching& fetching,
            BFloat16* packed) const;

  Strips strips_;
  int64_t source_blocks_, planes_;
  int64_t result_blocks_, last_channels_;
  int64_t filter_plane_, filter_block_;
  int64_t window_;  // number of elements of the window
  int64_t plane_;
  int threads_;
  std::vector<std::vector<Tap>> taps_;  // by phase
};

// The gradient of filters: in tiles if both numbers of channels are multiples of 32, or row-major.
class FilterGradient {
 public:
  FilterGradient(const BlockedConv& conv, bool in_tiles, int threads);

  void run(const BFloat16* x, const BFloat16* dy, BFloat16* dw, std::byte* workspace) const;
  std::size_t workspace_bytes() const;

 private:
  struct Memory {
    float* sums;
    int64_t* firsts;
    BFloat16 *pairs, *rows, *planes;
    std::uintptr_t end;  // an address; without a workspace, its size
  };
  Memory memory(std::byte* workspace) const;

  // An item is a plane of each tensor and an element of the window.
  struct Items {
    int64_t begin, end;
  };
  int64_t items() const { return paired_.planes() * turned_.planes() * conv_.taps(); }
  Paired pairs_from(int64_t block, const Memory& memory) const;
  void lay_out_paired(int64_t plane, const GridStrip& strip, const BFloat16* paired,
                      BFloat16* planes, const Memory& memory) const;
  void lay_out_turned(int64_t plane, const GridStrip& strip, const BFloat16* turned,
                      const Memory& memory) const;
  void add_strip(const Items& items, int64_t strip, int64_t tiles, const BFloat16* paired,
                 BFloat16* dw, const Memory& memory) const;
  FilterPlace place(int64_t turned_block, int64_t paired_block, int64_t tap, BFloat16* dw) const;

  // The channels of a tensor.
  struct Channels {
    int64_t count;

    int64_t blocks() const { return (count + kBlock - 1) / kBlock; }
    int64_t planes() const { return (count + kDeep - 1) / kDeep; }
  };

  BlockedConv conv_;
  bool in_tiles_;
  // Transposing takes longer than pairing. Usually images are paired and gradients transposed. If
  // both have the same pixels, the tensor with fewer channels is transposed.
  bool turns_images_;
  Channels paired_, turned_;
  Strips strips_;
  std::vector<Tap> seen_;
  int64_t pixels_;      // of packed planes, including the pixels that tiles may read after them
  int64_t most_tiles_;  // of a strip
  int64_t row_;         // of transposed channels
  int64_t copies_;      // of pairs of pixels: pairs from even pixels, and pairs from odd pixels
  int threads_;
};

}  // namespace lockstep::amx
