// How the work of a Winograd convolution is divided, and the memory for it. Nothing of this changes
// results.
//
// Mostly all filters are transformed once and then tiles come in turns, few enough to stay in the
// cache between transforms and products. Filters that no cache holds are not: a thread makes one
// slice of outputs, for all tiles of a turn, and transforms its filters for some inputs at a time,
// into memory of its own that its cache holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "graph/error.h"
#include "operators/conv/winograd/loops.h"
#include "runtime/parallel.h"

namespace lockstep::winograd {

enum class Sums { over_inputs, over_tiles };  // the second: gradients of filters

class Work {
 public:
  // Tiles are those of the images `tiled`; outputs lie in blocks of `outputs_block` channels.
  Work(const Loops& loops, Sums sums, int64_t images, const Images& tiled, int64_t inputs,
       int64_t outputs, int64_t outputs_block, int threads)
      : loops(loops),
        inputs(inputs),
        outputs(outputs),
        down((tiled.height + kTile - 1) / kTile),
        across((tiled.width + kTile - 1) / kTile),
        all(images * down * across),
        threads(threads),
        outputs_of_slice(slice_for(sums, outputs_block)) {
    in_slices = bytes_of(inputs * outputs) > kMostFilters && outputs % outputs_of_slice == 0 &&
                outputs / outputs_of_slice >= threads &&
                (sums == Sums::over_inputs || all * (inputs + outputs) <= inputs * outputs);
    if (in_slices) {
      inputs_at_once = inputs_that_fit();
      tiles_of_turn = sums == Sums::over_tiles ? all : equal_turns();
    } else {
      outputs_of_slice = outputs;
      inputs_at_once = inputs;
      tiles_of_turn = std::min(all, tiles_that_fit() * threads);
    }
    const bool own_outputs = in_slices && sums == Sums::over_inputs;
    input_stride = stride_of(inputs * tiles_of_turn);
    output_stride = stride_of((own_outputs ? outputs_of_slice : outputs) * tiles_of_turn);
    filter_stride = stride_of(outputs_of_slice * inputs_at_once);
    output_rooms_ = own_outputs ? threads : 1;
    filter_rooms_ = in_slices ? threads : 1;
  }

  const Loops& loops;
  int64_t inputs, outputs;
  int64_t down, across, all;
  int threads;
  bool in_slices;
  int64_t outputs_of_slice, inputs_at_once, tiles_of_turn;
  int64_t input_stride, output_stride, filter_stride;

  std::size_t bytes() const {
    return static_cast<std::size_t>(
        bytes_of(filter_rooms_ * filter_stride + output_rooms_ * output_stride + input_stride));
  }
  // `slot`: of the thread, where each has its own.
  float* filters(std::byte* workspace, int slot = 0) const {
    return reinterpret_cast<float*>(workspace) + kPoints * slot * filter_stride;
  }
  float* output_tiles(std::byte* workspace, int slot = 0) const {
    return filters(workspace, filter_rooms_) + kPoints * slot * output_stride;
  }
  float* input_tiles(std::byte* workspace) const { return output_tiles(workspace, output_rooms_); }

  // visit(tiles) for all tiles.
  template <class Visit>
  void each_turn(const Visit& visit) const {
    for (int64_t first = 0; first < all; first += tiles_of_turn)
      visit(Tiles{down, across, first, std::min(tiles_of_turn, all - first)});
  }
  // run(begin, end) for the items of a loop.
  template <class Run>
  void share(int64_t items, const Run& run) const {
    parallel_for(items, 16, threads, run);
  }
  // run(first output, slot) for all slices.
  template <class Run>
  void share_slices(const Run& run) const {
    parallel_for_slots(outputs / outputs_of_slice, 1, threads,
                       [&](int slot, int64_t begin, int64_t end) {
                         for (int64_t slice = begin; slice < end; ++slice)
                           run(slice * outputs_of_slice, slot);
                       });
  }
  // run(first input, inputs) for all inputs of a slice.
  template <class Run>
  void each_inputs(const Run& run) const {
    for (int64_t first = 0; first < inputs; first += inputs_at_once)
      run(first, std::min(inputs_at_once, inputs - first));
  }

  int64_t panels() const { return outputs_of_slice / (2 * loops.lanes()); }
  Products products(int64_t of_inputs, const Tiles& tiles) const {
    return {of_inputs, outputs_of_slice, tiles.count, input_stride, output_stride, filter_stride};
  }
  std::string describe() const { return join("Winograd, ", loops.name()); }

 private:
  static constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
  static constexpr int64_t kMostFilters = 5 * kMiB;  // that are transformed only once
  static constexpr int64_t kRows = 12;  // tiles that are multiplied together; with AVX2 it is half

  static int64_t bytes_of(int64_t floats_of_point) {
    return kPoints * floats_of_point * static_cast<int64_t>(sizeof(float));
  }
  // An odd number of cache lines more than a multiple of a page, so that the 36 values of a tile do
  // not compete for the same places of a cache.
  static int64_t stride_of(int64_t floats) { return (floats + 1023) / 1024 * 1024 + 112; }

  // All tiles of inputs are read for each slice. Sums over tiles leave room for more outputs.
  int64_t slice_for(Sums sums, int64_t outputs_block) const {
    const int64_t least = std::lcm<int64_t>(outputs_block, 2 * loops.lanes());
    return sums == Sums::over_tiles && outputs % (2 * least) == 0 ? 2 * least : least;
  }
  // Their filters stay in a core's own cache, beside tiles.
  int64_t inputs_that_fit() const {
    const int64_t groups = 160 * kKiB / bytes_of(outputs_of_slice * loops.lanes());
    return std::min(inputs, std::max<int64_t>(1, groups) * loops.lanes());
  }
  // A turn's tiles of inputs, which each slice reads, stay in the cache that cores share.
  int64_t equal_turns() const {
    const int64_t cache = 3 * kMiB * std::min(threads, 2);
    const int64_t turns = (bytes_of(inputs * all) + cache - 1) / cache;
    return std::min(all, (all + turns * kRows - 1) / (turns * kRows) * kRows);
  }
  // In a thread's part of the cache, but enough for a filter that is read to be used often.
  int64_t tiles_that_fit() const {
    return std::max(2 * kRows, 2 * kMiB / bytes_of(inputs + outputs) / kRows * kRows);
  }

  int output_rooms_, filter_rooms_;
};

}  // namespace lockstep::winograd
