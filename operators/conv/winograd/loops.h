// SPDX-License-Identifier: Apache-2.0
// The loops of a Winograd convolution, written once (loops_of.h) and compiled for each kind of
// processor. All of them work on vectors of neighbouring channels.
//
//   tiles    [36][channels / lanes][tiles][lanes]: of 6x6 inputs or products, by point
//   filters  [36][outputs / 2 lanes][inputs][2 lanes]
//
// Points are `stride` floats apart. Each function does the items [begin, end) of its loop, whose
// number stands with it; an item's result does not depend on which thread does it, nor on lanes.
#pragma once

#include <cstdint>

namespace lockstep::winograd {

constexpr int kPoints = 36;
constexpr int kTile = 4;      // outputs of a tile, along each side
constexpr int kFilters = 16;  // the filters of so many inputs are transformed together

// Images as they lie in memory: [images][channels / block][height][width][block].
struct Images {
  int64_t channels, height, width;
  int block;  // a multiple of the lanes
};

// Tiles of all images in a row: those of an image lie row by row.
struct Tiles {
  int64_t down, across;  // in an image
  int64_t first, count;  // of the row of all tiles
};

struct Products {
  int64_t inputs, outputs;  // channels
  int64_t tiles;
  int64_t input_stride, output_stride, filter_stride;
};

// Where the filter of a pair of channels lies among row-major 3x3 filters: those of an output's
// inputs, or those of an input's outputs, are neighbours.
struct FilterPlaces {
  int64_t inputs;               // a multiple of kFilters
  int64_t of_input, of_output;  // floats from one channel's filter to the next one's
  bool turned;                  // by half a turn, for the gradient of a convolution's input
  bool past_caches = false;     // gradients so large that none should stay in a cache
};

// The work on outputs, in this order.
struct Postlude {
  const float* bias;  // null: none
  const float* z;     // added, lies as the outputs; null: none
  bool relu;          // NaN stays NaN
};

class Loops {
 public:
  virtual int lanes() const = 0;
  virtual const char* name() const = 0;

  // Tiles of 6x6 inputs, the first of which starts at row -top and column -left. Items: channels /
  // lanes x tiles.
  virtual void tile_inputs(const float* x, const Images& images, int64_t top, int64_t left,
                           const Tiles& tiles, int64_t stride, float* to, int64_t begin,
                           int64_t end) const = 0;
  // Tiles of 4x4 gradients of outputs. Items as above.
  virtual void tile_gradients(const float* dy, const Images& images, const Tiles& tiles,
                              int64_t stride, float* to, int64_t begin, int64_t end) const = 0;
  // Items: outputs / 2 lanes x inputs / kFilters.
  virtual void filters(const float* w, const FilterPlaces& places, int64_t stride, float* to,
                       int64_t begin, int64_t end) const = 0;
  // Tiles of products from tiles of inputs and filters, added to what is there unless `first`.
  // Items: 36 x outputs / 2 lanes.
  virtual void multiply(const float* x, const float* w, const Products& products, bool first,
                        float* y, int64_t begin, int64_t end) const = 0;
  // 4x4 outputs from tiles of products. Items: channels / lanes x tiles.
  virtual void outputs(const float* from, int64_t stride, const Tiles& tiles,
                       const Postlude& postlude, const Images& images, float* y, int64_t begin,
                       int64_t end) const = 0;

  // The gradients of filters at the points: sums over tiles of inputs times gradients, added to
  // what is there unless `first`. Items: 36 x outputs / 2 lanes x inputs / lanes.
  virtual void add_products(const float* x, const float* dy, const Products& products, bool first,
                            float* dw, int64_t begin, int64_t end) const = 0;
  // From there to row-major gradients of filters. Items: outputs / 2 lanes x inputs / kFilters.
  virtual void filter_gradients(const float* from, int64_t stride, const FilterPlaces& places,
                                float* dw, int64_t begin, int64_t end) const = 0;

 protected:
  ~Loops() = default;
};

// This processor's; null if it has neither AVX2 nor AVX-512.
const Loops* loops_here();

const Loops& avx2_loops();
const Loops& avx512_loops();

}  // namespace lockstep::winograd
