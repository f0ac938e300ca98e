// SPDX-License-Identifier: Apache-2.0
// The loops of a Winograd convolution, written once (loops_of.h) and compiled for each kind of
// processor. All loops work on vectors of neighbouring channels.
//
//   tiles    [36][channels / lanes][tiles][lanes]: of 6x6 inputs or products, by point
//   filters  [36][outputs / 2 lanes][inputs][2 lanes]
//
// Points are `stride` floats apart. Each function computes the items [begin, end) of its loop; its
// comment gives the number of items. The result of an item does not depend on the thread that
// computes the item, nor on the number of lanes.
#pragma once

#include <cstdint>

namespace lockstep::winograd {

constexpr int kPoints = 36;
constexpr int kTile = 4;      // outputs of a tile, along each side
constexpr int kFilters = 16;  // number of inputs with filters that are transformed together

// Images in memory: [images][channels / block][height][width][block].
struct Images {
  int64_t channels, height, width;
  int block;  // a multiple of the lanes
};

// The tiles of all images in one sequence. The tiles of an image are in row-major order.
struct Tiles {
  int64_t down, across;  // in an image
  int64_t first, count;  // of the row of all tiles
};

struct Products {
  int64_t inputs, outputs;  // channels
  int64_t tiles;
  int64_t input_stride, output_stride, filter_stride;
};

// The positions of filters among row-major 3x3 filters. The filters of an output's inputs are
// neighbours, or the filters of an input's outputs.
struct FilterPlaces {
  int64_t inputs;               // a multiple of kFilters
  int64_t of_input, of_output;  // floats between the filters of consecutive channels
  bool turned;                  // rotated by half a turn, for the gradient of a convolution's input
  bool past_caches = false;     // gradients too large for a cache, written past the caches
};

// The work on outputs, in this order.
struct Postlude {
  const float* bias;  // null: none
  const float* z;     // added, has the layout of the outputs; null: none
  bool relu;          // NaN stays NaN
};

class Loops {
 public:
  virtual int lanes() const = 0;
  virtual const char* name() const = 0;

  // Transforms tiles of 6x6 inputs; the first starts at row -top and column -left. Items: channels
  // / lanes x tiles.
  virtual void tile_inputs(const float* x, const Images& images, int64_t top, int64_t left,
                           const Tiles& tiles, int64_t stride, float* to, int64_t begin,
                           int64_t end) const = 0;
  // Transforms tiles of 4x4 gradients of outputs. Items: channels / lanes x tiles.
  virtual void tile_gradients(const float* dy, const Images& images, const Tiles& tiles,
                              int64_t stride, float* to, int64_t begin, int64_t end) const = 0;
  // Transforms filters. Items: outputs / 2 lanes x inputs / kFilters.
  virtual void filters(const float* w, const FilterPlaces& places, int64_t stride, float* to,
                       int64_t begin, int64_t end) const = 0;
  // Multiplies tiles of inputs by filters, and adds to the existing products unless `first`. Items:
  // 36 x outputs / 2 lanes.
  virtual void multiply(const float* x, const float* w, const Products& products, bool first,
                        float* y, int64_t begin, int64_t end) const = 0;
  // Transforms tiles of products to 4x4 outputs. Items: channels / lanes x tiles.
  virtual void outputs(const float* from, int64_t stride, const Tiles& tiles,
                       const Postlude& postlude, const Images& images, float* y, int64_t begin,
                       int64_t end) const = 0;

  // Computes the gradients of filters at the points: sums over tiles of inputs times gradients,
  // added to the existing sums unless `first`. Items: 36 x outputs / 2 lanes x inputs / lanes.
  virtual void add_products(const float* x, const float* dy, const Products& products, bool first,
                            float* dw, int64_t begin, int64_t end) const = 0;
  // Transforms these gradients to row-major gradients of filters. Items: outputs / 2 lanes x inputs
  // / kFilters.
  virtual void filter_gradients(const float* from, int64_t stride, const FilterPlaces& places,
                                float* dw, int64_t begin, int64_t end) const = 0;

 protected:
  ~Loops() = default;
};

// This processor's loops; null if it has neither AVX2 nor AVX-512.
const Loops* loops_here();

const Loops& avx2_loops();
const Loops& avx512_loops();

}  // namespace lockstep::winograd
