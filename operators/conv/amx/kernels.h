// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by AMX tiles over channel blocks. A tile has 16 rows of 64 bytes; a
// product adds 16 x 32 times 32 x 16 numbers to 16 x 16 floats.
//
// A strip of images is packed into planes of 32 channels, with padding. For strides, the rows and
// columns are sorted by their remainders. Then each element of the window reads pixels at one fixed
// distance from the result's pixels, and 16 consecutive pixels are a tile regardless of the ends of
// rows. Positions beyond the ends of the result's rows are computed, too, but not written.
//
// For processors with AMX-BF16 and AVX512-BF16 only.
#pragma once

#include <cstdint>

#include "lockstep/types.h"

namespace lockstep::amx {

constexpr int64_t kBlock = 16;             // channels
constexpr int64_t kDeep = 2 * kBlock;      // channels of a packed plane
constexpr int64_t kTile = kDeep * kBlock;  // elements
constexpr int64_t kSlack = 32;             // pixels that tiles may read after a plane's end

// Configures this thread's tiles during its lifetime.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
};

// PlaneRows describe two channel blocks of an image. A plane has every step_down-th row and
// step_across-th column. Pixels outside the image are 0. The second block is 0 if the image has
// only one.
struct PlaneRows {
  const BFloat16* data;
  bool two;
  int64_t block;          // distance between the first and the second channel block
  int64_t height, width;  // of the image
  int64_t first_row, first_column;
  int64_t step_down, step_across;
  int64_t rows, columns;  // of the plane
};
// Packs to [rows, columns, 32 channels].
void pack(const PlaneRows& from, BFloat16* to);

// The positions of a strip of the result among its packed pixels.
struct Grid {
  int64_t images, image;       // number of images, and pixels of each
  int64_t row;                 // pixels
  int64_t row_begin, row_end;  // the rows and columns of the grid that the result has
  int64_t column_begin, column_end;
};

// Distances of the grid's rows and columns in the result, or in another tensor of the result's
// layout.
struct Distances {
  int64_t image, block, down, across;
};

// An element of the window.
struct Tap {
  int64_t pixels;  // distance from the grid's pixel to the pixel that is read
  int64_t filter;  // distance to the element's tiles of filters
};

// Memory to prefetch during the computation: `lines` consecutive cache lines, repeated for rows,
// blocks and images. It may end after the tensor.
struct LinesAhead {
  const char* from = nullptr;
  int64_t lines = 0;
  int64_t rows = 0, row = 0;
  int64_t blocks = 0, block = 0;
  int64_t images = 0, image = 0;

  int64_t all_lines() const { return lines * rows * blocks * images; }
};

// The progress of prefetching.
struct Fetching {
  LinesAhead ahead;
  int64_t line = 0, row = 0, block = 0;
  int64_t at_once = 0;  // number of lines
};

struct TileProducts {
  const BFloat16* packed;
  int64_t planes, plane;  // number of planes of 32 channels, and the distance between planes
  const BFloat16* filters;
  int64_t filter_plane, filter_block;  // distances of tiles for the next 32 and 16 channels
  const Tap* taps;
  int64_t tap_count;
  Grid grid;
  Distances at;
  int64_t blocks;         // of the result
  int64_t last_channels;  // of the last block; the other channels are set to 0
  BFloat16* y;
  const BFloat16* z;     // added if not null; has the layout of y
  const BFloat16* bias;  // added if not null; has no padding
  bool relu;
  Fetching* fetching;
};
// Writes y, the sums of products for the whole grid, rounded once.
void multiply(const TileProducts& products);

// Writes the first pixel of each tile of 32 pixels of the grid. Returns the number of tiles.
int64_t tiles_of(const Grid& grid, int64_t* firsts);

// Writes the two channel blocks of packed planes in pairs of pixels, [16 channels, 2]. Pairs begin
// at even pixels and, if `odd` is not null, also at odd pixels. `pixels` is even.
struct Paired {
  BFloat16 *even, *odd;
  int64_t block;  // distance between blocks
};
void pair_up(const BFloat16* planes, int64_t pixels, const Paired& to);

// Transposes two channel blocks of a tensor on a grid to rows of channels, `row` apart, in tiles of
// 32 pixels. Elements are 0 where the tensor has no pixel.
void turn(const BFloat16* from, const Grid& grid, const Distances& at, int64_t row, BFloat16* to);

// The destination of the gradient of filters: tiles of 16 outputs by 16 inputs, or row-major.
struct FilterPlace {
  BFloat16* data;
  int64_t output_block, input_block;  // distances between blocks
  int64_t output, input;              // row-major: distances between outputs and inputs; tiles: 0
  int64_t outputs, inputs;            // row-major: the remaining outputs and inputs
};

// A part of the gradient of filters: two channel blocks of a transposed tensor times two blocks of
// a paired tensor, for one element of the window.
struct FilterSums {
  const BFloat16* turned;
  int64_t row;
  Paired paired;
  const int64_t* firsts;  // first pixels of tiles
  int64_t tiles;
  int64_t seen;                        // distance from the grid's pixel to the pixel that is read
  float* sums;                         // tiles of 16 x 16 channels, a row for each transposed
                                       // channel
  int64_t turned_block, paired_block;  // distances between blocks of sums
  bool first, last;                    // first: starts at 0 instead of adding; last: rounds to dw
  bool of_outputs;                     // the transposed tensor has the outputs
  FilterPlace dw;
  Fetching* fetching;
};
void add_products(const FilterSums& sums);

}  // namespace lockstep::amx
