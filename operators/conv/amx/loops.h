// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by matrix tiles (AMX) over channel blocks. A tile has 16 rows of 64
// bytes; a product adds 16 x 32 times 32 x 16 numbers to 16 x 16 floats.
//
// A strip of images is packed into planes of 32 channels, with its padding and, for steps, its rows
// and columns sorted by their remainders, so that each window's element sees pixels at one distance
// from the result's: 16 pixels that follow each other are a tile wherever rows end. Places beyond
// the ends of rows of the result are computed, too, but not written.
//
// For processors with AMX-BF16 and AVX512-BF16 only.
#pragma once

#include <cstdint>

#include "graph/half.h"

namespace lockstep::amx {

constexpr int64_t kBlock = 16;             // channels
constexpr int64_t kDeep = 2 * kBlock;      // channels of a packed plane
constexpr int64_t kTile = kDeep * kBlock;  // elements
constexpr int64_t kSlack = 32;             // pixels that tiles may read beyond a plane's end

// While it lives, this thread's tiles are configured.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
};

// PlaneRows of two channel blocks of an image, of which a plane holds each step_down-th and
// step_across-th pixel. Outside the image they are 0, and so is the second block if it has one.
struct PlaneRows {
  const BFloat16* data;
  bool two;
  int64_t block;          // from the first channel block to the second
  int64_t height, width;  // of the image
  int64_t first_row, first_column;
  int64_t step_down, step_across;
  int64_t rows, columns;  // of the plane
};
// To [rows, columns, 32 channels].
void pack(const PlaneRows& from, BFloat16* to);

// The places of a strip of the result among its packed pixels.
struct Grid {
  int64_t images, image;       // of so many pixels each
  int64_t row;                 // pixels
  int64_t row_begin, row_end;  // the rows, and their columns, that the result has
  int64_t column_begin, column_end;
};

// The result's rows and columns on the grid, or another tensor's that lies as it does.
struct Distances {
  int64_t image, block, down, across;
};

// An element of windows.
struct Tap {
  int64_t pixels;  // from the grid's pixel to what it sees
  int64_t filter;  // elements to its tiles
};

// Memory to be brought into the cache meanwhile: bytes that follow each other, and how many lines,
// rows, blocks and images of them. May end beyond a tensor.
struct LinesAhead {
  const char* from = nullptr;
  int64_t lines = 0;
  int64_t rows = 0, row = 0;
  int64_t blocks = 0, block = 0;
  int64_t images = 0, image = 0;

  int64_t all_lines() const { return lines * rows * blocks * images; }
};

// Where in it one is.
struct Fetching {
  LinesAhead ahead;
  int64_t line = 0, row = 0, block = 0;
  int64_t at_once = 0;  // lines
};

struct TileProducts {
  const BFloat16* packed;
  int64_t planes, plane;  // of 32 channels; elements from one to the next
  const BFloat16* filters;
  int64_t filter_plane, filter_block;  // distances of tiles for the next 32 and 16 channels
  const Tap* taps;
  int64_t tap_count;
  Grid grid;
  Distances at;
  int64_t blocks;         // of the result
  int64_t last_channels;  // of the last one; 0 is written to its others
  BFloat16* y;
  const BFloat16* z;     // added if not null; lies as y
  const BFloat16* bias;  // likewise, but has no padding
  bool relu;
  Fetching* fetching;
};
// y = the sums of products for all of the grid, rounded once.
void multiply(const TileProducts& products);

// Tiles of 32 pixels of the grid, as their first pixels. Returns their number.
int64_t tiles_of(const Grid& grid, int64_t* firsts);

// Packed planes, to their two channel blocks in pairs of pixels: [16 channels, 2], beginning at
// even pixels and, if `odd` is not null, at odd ones. `pixels` is even.
struct Paired {
  BFloat16 *even, *odd;
  int64_t block;  // from one block to the next
};
void pair_up(const BFloat16* planes, int64_t pixels, const Paired& to);

// Two channel blocks of a tensor on a grid, to rows of channels, `row` apart, of tiles of 32
// pixels, which are 0 where the tensor has no pixel.
void turn(const BFloat16* from, const Grid& grid, const Distances& at, int64_t row, BFloat16* to);

// Where the gradient of filters goes: to tiles of 16 outputs by 16 inputs, or row-major.
struct FilterPlace {
  BFloat16* data;
  int64_t output_block, input_block;  // from one block to the next
  int64_t output, input;              // row-major: from one to the next; tiles: 0
  int64_t outputs, inputs;            // that there are from here on, if row-major
};

// Some of the gradient of filters: two channel blocks of a turned tensor by two of a paired one,
// and one element of windows.
struct FilterSums {
  const BFloat16* turned;
  int64_t row;
  Paired paired;
  const int64_t* firsts;  // of tiles
  int64_t tiles;
  int64_t seen;                        // pixels from the grid's to what it sees
  float* sums;                         // tiles of 16 by 16 channels, a row for each turned one
  int64_t turned_block, paired_block;  // of sums, from one to the next
  bool first, last;                    // not added to what there is; rounded to dw
  bool of_outputs;                     // are the turned ones
  FilterPlace dw;
  Fetching* fetching;
};
void add_products(const FilterSums& sums);

}  // namespace lockstep::amx
