// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/driver.h"

#include <algorithm>

#include "operators/conv/amx/tuning.h"
#include "runtime/memory.h"
#include "runtime/threads/parallel.h"

namespace lockstep::amx {
namespace {

// Strips of images that are packed into `planes` planes.
Strips strips_of(const BlockedConv& conv, int64_t planes, const GridAxis& down,
                 const GridAxis& across, int threads) {
  const bool few = conv.inputs * conv.outputs * conv.taps() <= kTuning.few_filters;
  // Each thread has several strips, since cores may differ in speed.
  const int64_t strips = (few ? 4 : 2) * std::max(1, threads);
  return {down,
          across,
          conv.windows,
          conv.images,
          (few ? kTuning.packed_beside : kTuning.packed_alone) / (planes * kDeep),
          divided_up(conv.images, strips)};
}

// True if each pixel of the result reads only the image's pixel at the same position.
bool same_pixels(const BlockedConv& conv) {
  const auto one = [](const ConvAxis& axis) {
    return axis.window == 1 && axis.step == 1 && axis.pad == 0 && axis.image == axis.result;
  };
  return !conv.windows && one(conv.down) && one(conv.across);
}

int64_t laid_out_pixels(const BlockedConv& conv) {
  return std::clamp(kTuning.laid_out / ((conv.input_pairs() + conv.output_pairs()) * kDeep),
                    kTuning.fewest_pixels, kTuning.most_pixels);
}

}  // namespace

BlockedConv BlockedConv::of(const Windows& windows) {
  const auto ones = [](int64_t size) { return ConvAxis{size, size, 1}; };
  return {{windows.images, windows.places(), windows.outputs, ones(windows.down.result),
           ones(windows.across.result)},
          windows};
}

Convolves Convolves::forward(const BlockedConv& conv, int threads) {
  const int64_t tiles = conv.taps() * kTile;
  return {strips_of(conv, conv.input_pairs(), forward_axis(conv.down), forward_axis(conv.across),
                    threads),
          conv.input_blocks(),
          conv.outputs,
          tiles,
          conv.input_pairs() * tiles,
          conv.taps(),
          threads};
}

Convolves Convolves::backward(const BlockedConv& conv, int threads) {
  const int64_t tiles = conv.taps() * kTile;
  return {strips_of(conv, conv.output_pairs(), backward_axis(conv.down), backward_axis(conv.across),
                    threads),
          conv.output_blocks(),
          conv.inputs,
          conv.input_blocks() * tiles,
          tiles,
          conv.taps(),
          threads};
}

Convolves::Convolves(const Strips& strips, int64_t source_blocks, int64_t result_channels,
                     int64_t filter_plane, int64_t filter_block, int64_t taps, int threads)
    : strips_(strips),
      source_blocks_(source_blocks),
      planes_(divided_up(source_blocks, 2)),
      result_blocks_(divided_up(result_channels, kBlock)),
      last_channels_(result_channels - (result_blocks_ - 1) * kBlock),
      filter_plane_(filter_plane),
      filter_block_(filter_block),
      window_(taps),
      plane_((strips.pixels() + kSlack) * kDeep),
      threads_(static_cast<int>(std::clamp<int64_t>(threads, 1, strips.count()))) {
  for (int64_t phase = 0; phase < strips.phases(); ++phase)
    taps_.push_back(strips.taps(phase, kTile));
}

std::size_t Convolves::workspace_bytes() const {
  return threads_ * planes_ * plane_ * sizeof(BFloat16);
}

void Convolves::run(const Operands& operands, std::byte* workspace) const {
  const auto make_strips = [&](int64_t slot, int64_t begin, int64_t end) {
    const TileScope tiles;
    auto* packed = reinterpret_cast<BFloat16*>(workspace) + slot * (planes_ * plane_);
    for (int64_t i = begin; i < end; ++i) {
      Fetching fetching;
      if (i + 1 < strips_.count())  // most likely processed by this thread, too
        fetching.ahead = strips_.source_of(strips_.at(i + 1), operands.source, source_blocks_);
      make(strips_.at(i), operands, fetching, packed);
    }
  };
  parallel_for_slots(strips_.count(), 1, threads_, make_strips);
}

void Convolves::make(const GridStrip& strip, const Operands& operands, Fetching& fetching,
                     BFloat16* packed) const {
  for (int64_t block = 0; block < source_blocks_; block += 2)
    strips_.pack_planes(strip, operands.source, source_blocks_, block, false,
                        packed + block / 2 * plane_);
  // A product has at least four tiles.
  const int64_t products = divided_up(strip.images * strip.rows * strips_.across().count, kDeep) *
                           divided_up(result_blocks_, 2) * planes_ * window_;
  fetching.at_once = divided_up(fetching.ahead.all_lines(), products);
  for (int64_t phase = 0; phase < strips_.phases(); ++phase) {
    const std::vector<Tap>& taps = taps_[phase];
    const int64_t at = strips_.first_place(strip, phase, result_blocks_);
    multiply({.packed = packed,
              .planes = planes_,
              .plane = plane_,
              .filters = operands.filters,
              .filter_plane = filter_plane_,
              .filter_block = filter_block_,
              .taps = taps.data(),
              .tap_count = static_cast<int64_t>(taps.size()),
              .grid = strips_.grid(strip, phase),
              .at = strips_.distances(result_blocks_),
              .blocks = result_blocks_,
              .last_channels = last_channels_,
              .y = operands.y + at,
              .z = operands.z ? operands.z + at : nullptr,
              .bias = operands.bias,
              .relu = operands.relu,
              .fetching = &fetching});
  }
}

FilterGradient::FilterGradient(const BlockedConv& conv, bool in_tiles, int threads)
    : conv_(conv),
      in_tiles_(in_tiles),
      turns_images_(same_pixels(conv) && conv.inputs < conv.outputs),
      paired_{turns_images_ ? conv.outputs : conv.inputs},
      turned_{turns_images_ ? conv.inputs : conv.outputs},
      strips_(forward_axis(conv.down), forward_axis(conv.across), conv.windows, conv.images,
              laid_out_pixels(conv), conv.images),
      seen_(strips_.taps(0, 0)),
      pixels_(divided_up(strips_.pixels() + kSlack, 2) * 2),
      most_tiles_(strips_.plane_pixels() / kDeep + 1),
      // An odd number of cache lines, so that the rows of a tile are in different sets of the
      // cache.
      row_((most_tiles_ | 1) * kDeep),
      copies_(conv.taps() > 1 ? 2 : 1),
      threads_(static_cast<int>(std::clamp<int64_t>(threads, 1, items()))) {}

FilterGradient::Memory FilterGradient::memory(std::byte* workspace) const {
  Memory memory{};
  memory.end = reinterpret_cast<std::uintptr_t>(workspace);
  const auto take = [&]<class T>(T*& pointer, int64_t count) {
    pointer = reinterpret_cast<T*>(memory.end);
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    memory.end += static_cast<std::uintptr_t>(divided_up(bytes, 64) * 64);
  };
  take(memory.sums, strips_.count() > 1 ? items() * kDeep * kDeep : 0);
  take(memory.firsts, most_tiles_);
  take(memory.pairs, paired_.planes() * kDeep * copies_ * pixels_);
  take(memory.rows, turned_.planes() * kDeep * row_);
  take(memory.planes, threads_ * pixels_ * kDeep);
  return memory;
}

std::size_t FilterGradient::workspace_bytes() const { return memory(nullptr).end; }

Paired FilterGradient::pairs_from(int64_t block, const Memory& memory) const {
  BFloat16* const even = memory.pairs + block * copies_ * pixels_ * kBlock;
  return {even, copies_ > 1 ? even + pixels_ * kBlock : nullptr, copies_ * pixels_ * kBlock};
}

void FilterGradient::lay_out_paired(int64_t plane, const GridStrip& strip, const BFloat16* paired,
                                    BFloat16* planes, const Memory& memory) const {
  strips_.pack_planes(strip, paired, paired_.blocks(), 2 * plane, true, planes);
  std::fill(planes + strips_.pixels() * kDeep, planes + pixels_ * kDeep, BFloat16());
  pair_up(planes, pixels_, pairs_from(2 * plane, memory));
}

void FilterGradient::lay_out_turned(int64_t plane, const GridStrip& strip, const BFloat16* turned,
                                    const Memory& memory) const {
  const int64_t blocks = turned_.blocks();
  Distances at = strips_.distances(blocks);
  const BFloat16* const first =
      turned + strips_.first_place(strip, 0, blocks) + 2 * plane * at.block;
  // If the last block has no partner, it is transposed twice; the second block's sums are not
  // written.
  if (2 * plane + 1 == blocks) at.block = 0;
  turn(first, strips_.grid(strip, 0), at, row_, memory.rows + plane * kDeep * row_);
}

FilterPlace FilterGradient::place(int64_t turned_block, int64_t paired_block, int64_t tap,
                                  BFloat16* dw) const {
  const int64_t output = turns_images_ ? paired_block : turned_block;
  const int64_t input = turns_images_ ? turned_block : paired_block;
  const int64_t taps = conv_.taps(), inputs = conv_.inputs;
  FilterPlace to{};
  if (in_tiles_) {
    to.input_block = taps * kBlock * kBlock;
    to.output_block = conv_.input_blocks() * to.input_block;
    to.data = dw + tap * kBlock * kBlock;
  } else {
    to = {.data = dw + tap,
          .output_block = kBlock * inputs * taps,
          .input_block = kBlock * taps,
          .output = inputs * taps,
          .input = taps,
          .outputs = conv_.outputs - output * kBlock,
          .inputs = inputs - input * kBlock};
  }
  to.data += output * to.output_block + input * to.input_block;
  return to;
}

// All items together prefetch the tensor that the next strip will pair, once.
void FilterGradient::add_strip(const Items& items, int64_t strip, int64_t tiles,
                               const BFloat16* paired, BFloat16* dw, const Memory& memory) const {
  const bool last = strip + 1 == strips_.count();
  Fetching fetching;
  if (!last) {
    const int64_t all = this->items(), blocks = paired_.blocks();
    const int64_t begin = blocks * items.begin / all, end = blocks * items.end / all;
    fetching.ahead = strips_.source_of(strips_.at(strip + 1), paired, blocks);
    fetching.ahead.from += begin * fetching.ahead.block;
    fetching.ahead.blocks = end - begin;
    fetching.at_once = divided_up(fetching.ahead.all_lines(),
                                  std::max<int64_t>(1, (items.end - items.begin) * tiles));
  }
  const int64_t taps = conv_.taps(), tile = kBlock * kBlock;
  const TileScope configured;
  for (int64_t item = items.begin; item < items.end; ++item) {
    const int64_t tap = item % taps;
    const int64_t p = item / taps / turned_.planes(), t = item / taps % turned_.planes();
    add_products({.turned = memory.rows + t * kDeep * row_,
                  .row = row_,
                  .paired = pairs_from(2 * p, memory),
                  .firsts = memory.firsts,
                  .tiles = tiles,
                  .seen = seen_[tap].pixels,
                  .sums = memory.sums + item * (4 * tile),
                  .turned_block = 2 * tile,
                  .paired_block = tile,
                  .first = strip == 0,
                  .last = last,
                  .of_outputs = !turns_images_,
                  .dw = place(2 * t, 2 * p, tap, dw),
                  .fetching = &fetching});
  }
}

void FilterGradient::run(const BFloat16* x, const BFloat16* dy, BFloat16* dw,
                         std::byte* workspace) const {
  const Memory memory = this->memory(workspace);
  const BFloat16* const paired = turns_images_ ? dy : x;
  const BFloat16* const turned = turns_images_ ? x : dy;
  for (int64_t s = 0; s < strips_.count(); ++s) {
    const GridStrip strip = strips_.at(s);
    const auto lay_out = [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (i < paired_.planes())
          lay_out_paired(i, strip, paired, memory.planes + slot * pixels_ * kDeep, memory);
        else
          lay_out_turned(i - paired_.planes(), strip, turned, memory);
    };
    parallel_for_slots(paired_.planes() + turned_.planes(), 1, threads_, lay_out);
    const int64_t tiles = tiles_of(strips_.grid(strip, 0), memory.firsts);
    parallel_for(items(), 1, threads_, [&](int64_t begin, int64_t end) {
      add_strip({begin, end}, s, tiles, paired, dw, memory);
    });
  }
}

}  // namespace lockstep::amx
