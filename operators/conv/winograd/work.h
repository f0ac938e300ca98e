// SPDX-License-Identifier: Apache-2.0
// The division of a Winograd convolution's work, and its memory. The division changes no result.
//
// Usually all filters are transformed once, and tiles are processed in turns that stay in the cache
// between transforms and products. Filters too large for this are transformed again in each turn. A
// thread processes a slice of outputs, for some inputs at a time, so that their filters stay in its
// L2 cache. Gradients of filters are divided in the same way, and transformed last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "lockstep/error.h"
#include "operators/conv/winograd/loops.h"
#include "operators/conv/winograd/tuning.h"
#include "runtime/threads/parallel.h"

namespace lockstep::winograd {

enum class Sums { over_inputs, over_tiles };  // over_tiles: gradients of filters

class Work {
 public:
  // `tiled` are the images that are cut into tiles; outputs are in blocks of `outputs_block`
  // channels.
  Work(const Loops& loops, Sums sums, int64_t images, const Images& tiled, int64_t inputs,
       int64_t outputs, int64_t outputs_block, int threads)
      : loops(loops),
        inputs(inputs),
        outputs(outputs),
        down_((tiled.height + kTile - 1) / kTile),
        across_((tiled.width + kTile - 1) / kTile),
        all_(images * down_ * across_),
        threads_(threads) {
    const int64_t slice = slice_for(sums, outputs_block);
    // Gradients of filters in slices need all tiles in one turn; this is used only if the tiles
    // take no more memory than the filters.
    in_slices = bytes_of(inputs * outputs) > kTuning.filters_at_once &&
                outputs / slice >= threads_ &&
                (sums == Sums::over_inputs || all_ * (inputs + outputs) <= inputs * outputs);
    outputs_of_slice = in_slices ? slice : outputs;
    inputs_at_once_ = in_slices ? inputs_that_fit() : inputs;
    if (!in_slices)
      tiles_of_turn_ = std::min(all_, tiles_that_fit() * threads_);
    else
      tiles_of_turn_ = sums == Sums::over_tiles ? all_ : tiles_of_equal_turns();
    const bool own_outputs = in_slices && sums == Sums::over_inputs;
    input_stride = stride_of(inputs * tiles_of_turn_);
    output_stride = stride_of((own_outputs ? outputs_of_slice : outputs) * tiles_of_turn_);
    filter_stride = stride_of(outputs_of_slice * inputs_at_once_);
    output_rooms_ = own_outputs ? threads_ : 1;
    filter_rooms_ = in_slices ? threads_ : 1;
  }

  const Loops& loops;
  int64_t inputs, outputs;
  bool in_slices;
  int64_t outputs_of_slice;
  int64_t input_stride, output_stride, filter_stride;

  std::size_t bytes() const {
    return bytes_of(filter_rooms_ * filter_stride + output_rooms_ * output_stride + input_stride);
  }
  // `slot` selects the thread's buffer, where each thread has a separate buffer.
  float* filters(std::byte* workspace, int slot = 0) const {
    return reinterpret_cast<float*>(workspace) + kPoints * slot * filter_stride;
  }
  float* output_tiles(std::byte* workspace, int slot = 0) const {
    return filters(workspace, filter_rooms_) + kPoints * slot * output_stride;
  }
  float* input_tiles(std::byte* workspace) const { return output_tiles(workspace, output_rooms_); }

  // Calls visit(tiles) for the tiles of each turn.
  template <class Visit>
  void each_turn(const Visit& visit) const {
    for (int64_t first = 0; first < all_; first += tiles_of_turn_)
      visit(Tiles{down_, across_, first, std::min(tiles_of_turn_, all_ - first)});
  }
  // Calls run(begin, end) for the items of a loop.
  template <class Run>
  void share(int64_t items, const Run& run) const {
    parallel_for(items, 16, threads_, run);
  }
  // Calls run(begin, end) for the items of a loop over all filters.
  template <class Run>
  void share_filters(const Run& run) const {
    parallel_for(filter_items(inputs), 1, threads_, run);
  }
  // Calls run(first output, slot) for all slices.
  template <class Run>
  void share_slices(const Run& run) const {
    parallel_for_slots(outputs / outputs_of_slice, 1, threads_,
                       [&](int slot, int64_t begin, int64_t end) {
                         for (int64_t slice = begin; slice < end; ++slice)
                           run(slice * outputs_of_slice, slot);
                       });
  }
  // Calls run(first input, places) for all inputs of a slice, places.inputs inputs at a time.
  template <class Run>
  void each_inputs(FilterPlaces places, const Run& run) const {
    for (int64_t first = 0; first < inputs; first += inputs_at_once_) {
      places.inputs = std::min(inputs_at_once_, inputs - first);
      run(first, places);
    }
  }

  // The number of items of loops over filters: of all inputs, or of some inputs of a slice.
  int64_t filter_items(int64_t of_inputs) const { return panels() * of_inputs / kFilters; }
  int64_t panels() const { return outputs_of_slice / (2 * loops.lanes()); }
  Products products(int64_t of_inputs, const Tiles& tiles) const {
    return {of_inputs, outputs_of_slice, tiles.count, input_stride, output_stride, filter_stride};
  }
  std::string describe() const { return join("Winograd, ", loops.name()); }

 private:
  static constexpr int64_t kRows = kTuning.rows;

  static int64_t bytes_of(int64_t floats_of_point) {
    return kPoints * floats_of_point * static_cast<int64_t>(sizeof(float));
  }
  // An odd number of cache lines more than a multiple of a page, so that the 36 values of a tile
  // are in different sets of a cache.
  static int64_t stride_of(int64_t floats) { return (floats + 1023) / 1024 * 1024 + 112; }

  // The number of outputs of a slice. Each slice reads all tiles of inputs. Sums over inputs also
  // keep the slice's tiles of products in the cache, so their slices are smaller. There should be a
  // slice for each thread.
  int64_t slice_for(Sums sums, int64_t outputs_block) const {
    const int64_t least = std::lcm<int64_t>(outputs_block, 2 * loops.lanes());
    const bool double_fits = outputs % (2 * least) == 0 && outputs / (2 * least) >= threads_;
    return sums == Sums::over_tiles && double_fits ? 2 * least : least;
  }
  // The number of inputs with filters that stay in a core's L2 cache, together with tiles.
  int64_t inputs_that_fit() const {
    const int64_t groups = kTuning.filters_of_slice / bytes_of(outputs_of_slice * kFilters);
    return std::min(inputs, std::max<int64_t>(1, groups) * kFilters);
  }
  // A turn's tiles of inputs, which each slice reads, stay in the cache shared by cores; other
  // replicas' threads need a part of this cache. A slice's tiles of products stay in a core's L2
  // cache.
  int64_t tiles_of_equal_turns() const {
    const int64_t shared = kTuning.shared_tiles * std::min(threads_, 2) / bytes_of(inputs);
    const int64_t own = kTuning.products_of_slice / bytes_of(outputs_of_slice);
    const int64_t most = std::max(2 * kRows, std::min(shared, own));
    const int64_t turns = std::max<int64_t>(1, (all_ + most - 1) / most);
    return std::min(all_, (all_ + turns * kRows - 1) / (turns * kRows) * kRows);
  }
  // A turn's tiles fit a thread's part of the cache, but are enough to use each filter often.
  int64_t tiles_that_fit() const {
    return std::max(2 * kRows,
                    kTuning.tiles_of_thread / bytes_of(inputs + outputs) / kRows * kRows);
  }

  int64_t down_, across_, all_;  // tiles
  int threads_;
  int64_t inputs_at_once_, tiles_of_turn_;
  int output_rooms_, filter_rooms_;
};

}  // namespace lockstep::winograd
