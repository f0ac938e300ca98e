#include "operators/conv/amx/passes.h"

#include <algorithm>

#include "runtime/parallel.h"

namespace lockstep::amx {
namespace {

// Strips and filters share an L2 cache, if it can hold the filters; else these are read again for
// each strip, of which there should be few.
constexpr int64_t kFewFilters = 3 << 17, kPackedBeside = 1 << 17, kPackedAlone = 1 << 19;
// Of images and gradients, which all threads read.
constexpr int64_t kTurnedElements = 3 << 18, kFewestPixels = 512, kMostPixels = 4096;

// Strips of images in so many packed planes.
Strips strips_of(const Problem& problem, int64_t planes, const GridAxis& down,
                 const GridAxis& across, int threads) {
  const bool few = problem.inputs * problem.outputs * problem.taps() <= kFewFilters;
  const int64_t shares = (few ? 2 : 1) * std::max(1, threads);
  return {down,
          across,
          problem.windows,
          problem.images,
          (few ? kPackedBeside : kPackedAlone) / (planes * kDeep),
          divided_up(problem.images, shares)};
}

int64_t turned_pixels(const Problem& problem) {
  return std::clamp(kTurnedElements / ((problem.input_pairs() + problem.output_pairs()) * kDeep),
                    kFewestPixels, kMostPixels);
}

}  // namespace

Problem Problem::of(const Windows& windows, int64_t images) {
  constexpr Span kOne{.size = 1, .step = 1, .hole = 1, .begin = 0};
  return {.images = images,
          .inputs = windows.places(),
          .outputs = windows.outputs,
          .down = kOne,
          .across = kOne,
          .height = windows.out_height,
          .width = windows.out_width,
          .out_height = windows.out_height,
          .out_width = windows.out_width,
          .windows = windows};
}

Convolves Convolves::forward(const Problem& problem, int threads) {
  const int64_t tiles = problem.taps() * kTile;
  return {strips_of(problem, problem.input_pairs(),
                    forward_axis(problem.down, problem.height, problem.out_height),
                    forward_axis(problem.across, problem.width, problem.out_width), threads),
          problem.input_blocks(),
          problem.outputs,
          tiles,
          problem.input_pairs() * tiles,
          problem.taps(),
          threads};
}

Convolves Convolves::backward(const Problem& problem, int threads) {
  const int64_t tiles = problem.taps() * kTile;
  return {strips_of(problem, problem.output_pairs(),
                    backward_axis(problem.down, problem.height, problem.out_height),
                    backward_axis(problem.across, problem.width, problem.out_width), threads),
          problem.output_blocks(),
          problem.inputs,
          problem.input_blocks() * tiles,
          tiles,
          problem.taps(),
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
      slots_(std::clamp<int64_t>(threads, 1, strips.count())) {
  for (int64_t phase = 0; phase < strips.phases(); ++phase)
    taps_.push_back(strips.taps(phase, kTile));
}

std::size_t Convolves::workspace_bytes() const {
  return static_cast<std::size_t>(slots_ * planes_ * plane_) * sizeof(BFloat16);
}

void Convolves::run(const Operands& operands, std::byte* workspace) const {
  parallel_for(slots_, 1, static_cast<int>(slots_), [&](int64_t begin, int64_t end) {
    const TileScope tiles;
    for (int64_t slot = begin; slot < end; ++slot) {
      auto* packed = reinterpret_cast<BFloat16*>(workspace) + slot * (planes_ * plane_);
      const int64_t first = strips_.count() * slot / slots_;
      const int64_t last = strips_.count() * (slot + 1) / slots_;
      for (int64_t i = first; i < last; ++i) {
        Fetching fetching;
        if (i + 1 < last)
          fetching.ahead = strips_.source_of(strips_.at(i + 1), operands.source, source_blocks_);
        make(strips_.at(i), operands, fetching, packed);
      }
    }
  });
}

void Convolves::make(const GridStrip& strip, const Operands& operands, Fetching& fetching,
                     BFloat16* packed) const {
  for (int64_t block = 0; block < source_blocks_; block += 2)
    strips_.pack_planes(strip, operands.source, source_blocks_, block, false,
                        packed + block / 2 * plane_);
  // Products of four tiles, at least.
  const int64_t products = divided_up(strip.images * strip.rows * strips_.across().count, kDeep) *
                           divided_up(result_blocks_, 2) * planes_ * window_;
  fetching.at_once = divided_up(fetching.ahead.all_lines(), products);
  for (int64_t phase = 0; phase < strips_.phases(); ++phase) {
    const std::vector<Tap>& taps = taps_[static_cast<std::size_t>(phase)];
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

FilterGradient::FilterGradient(const Problem& problem, bool in_tiles, int threads)
    : problem_(problem),
      in_tiles_(in_tiles),
      strips_(forward_axis(problem.down, problem.height, problem.out_height),
              forward_axis(problem.across, problem.width, problem.out_width), problem.windows,
              problem.images, turned_pixels(problem), problem.images),
      seen_(strips_.taps(0, 0)),
      pixels_(divided_up(strips_.pixels() + kSlack, 2) * 2),
      most_tiles_(strips_.plane_pixels() / kDeep + 1),
      // An odd number of lines of the cache: rows of a tile are in different sets of it.
      row_((most_tiles_ | 1) * kDeep),
      copies_(problem.taps() > 1 ? 2 : 1),
      slots_(std::clamp<int64_t>(
          threads, 1, problem.input_pairs() * problem.output_pairs() * problem.taps())) {}

FilterGradient::Memory FilterGradient::memory(std::byte* workspace) const {
  Memory memory{};
  memory.end = reinterpret_cast<std::uintptr_t>(workspace);
  const auto take = [&]<class T>(T*& pointer, int64_t count) {
    pointer = reinterpret_cast<T*>(memory.end);
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    memory.end += static_cast<std::uintptr_t>(divided_up(bytes, 64) * 64);
  };
  const int64_t inputs = problem_.input_pairs() * kDeep, outputs = problem_.output_pairs() * kDeep;
  take(memory.sums, strips_.count() > 1 ? inputs * outputs * problem_.taps() : 0);
  take(memory.firsts, most_tiles_);
  take(memory.x, inputs * copies_ * pixels_);
  take(memory.dy, outputs * row_);
  take(memory.planes, slots_ * pixels_ * kDeep);
  return memory;
}

std::size_t FilterGradient::workspace_bytes() const { return memory(nullptr).end; }

// Of so many channel blocks on.
Paired FilterGradient::paired(int64_t blocks, const Memory& memory) const {
  BFloat16* const even = memory.x + blocks * copies_ * pixels_ * kBlock;
  return {even, copies_ > 1 ? even + pixels_ * kBlock : nullptr, copies_ * pixels_ * kBlock};
}

// A slot's share of the channels: x in pairs of pixels, gradients turned.
void FilterGradient::lay_out(int64_t slot, const GridStrip& strip, const BFloat16* x,
                             const BFloat16* dy, const Memory& memory) const {
  BFloat16* const planes = memory.planes + slot * pixels_ * kDeep;
  const Share inputs = share_of(slot, problem_.input_pairs());
  for (int64_t i = inputs.begin; i < inputs.end; ++i) {
    strips_.pack_planes(strip, x, problem_.input_blocks(), 2 * i, true, planes);
    std::fill(planes + strips_.pixels() * kDeep, planes + pixels_ * kDeep, BFloat16());
    pair_up(planes, pixels_, paired(2 * i, memory));
  }
  const Grid grid = strips_.grid(strip, 0);
  const int64_t output_blocks = problem_.output_blocks();
  Distances at = strips_.distances(output_blocks);
  const int64_t block = at.block;
  const BFloat16* const first = dy + strips_.first_place(strip, 0, output_blocks);
  const Share outputs = share_of(slot, problem_.output_pairs());
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    // Beside an odd last block, it is turned once more; nothing is written of those sums.
    at.block = 2 * o + 1 < output_blocks ? block : 0;
    turn(first + 2 * o * block, grid, at, row_, memory.dy + o * kDeep * row_);
  }
}

// A slot's share of the filters. Meanwhile, x of the next strip is fetched.
void FilterGradient::add_strip(int64_t slot, int64_t strip, int64_t tiles, const BFloat16* x,
                               BFloat16* dw, const Memory& memory) const {
  const int64_t inputs = problem_.inputs, outputs = problem_.outputs;
  const int64_t input_pairs = problem_.input_pairs(), output_pairs = problem_.output_pairs();
  const int64_t taps = problem_.taps(), tile = kBlock * kBlock;
  const int64_t input = taps * tile, output = 2 * input_pairs * input;
  const bool last = strip + 1 == strips_.count();
  const Share items = share_of(slot, input_pairs * output_pairs * taps);
  Fetching fetching;
  if (!last) {
    const Share blocks = share_of(slot, input_pairs);
    fetching.ahead = strips_.source_of(strips_.at(strip + 1), x, problem_.input_blocks());
    fetching.ahead.from += 2 * blocks.begin * fetching.ahead.block;
    fetching.ahead.blocks = 2 * (blocks.end - blocks.begin);
    if (fetching.ahead.blocks == 0) fetching.ahead.images = 0;
    fetching.at_once = divided_up(fetching.ahead.all_lines(),
                                  std::max<int64_t>(1, (items.end - items.begin) * tiles));
  }
  const TileScope configured;
  for (int64_t item = items.begin; item < items.end; ++item) {
    const int64_t tap = item % taps;
    const int64_t i = item / taps / output_pairs * 2, o = item / taps % output_pairs * 2;
    const int64_t at = i * input + o * output + tap * tile;
    add_products({.dy = memory.dy + o * kBlock * row_,
                  .row = row_,
                  .x = paired(i, memory),
                  .firsts = memory.firsts,
                  .tiles = tiles,
                  .seen = seen_[static_cast<std::size_t>(tap)].pixels,
                  .sums = memory.sums + at,
                  .sums_input = input,
                  .sums_output = output,
                  .first = strip == 0,
                  .last = last,
                  .dw = in_tiles_ ? dw + at : dw + (o * inputs + i) * kBlock * taps + tap,
                  .dw_output = in_tiles_ ? 0 : inputs * taps,
                  .dw_input = taps,
                  .outputs = outputs - o * kBlock,
                  .inputs = inputs - i * kBlock,
                  .fetching = &fetching});
  }
}

void FilterGradient::run(const BFloat16* x, const BFloat16* dy, BFloat16* dw,
                         std::byte* workspace) const {
  const Memory memory = this->memory(workspace);
  const auto each_slot = [&](const auto& work) {
    parallel_for(slots_, 1, static_cast<int>(slots_), [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) work(slot);
    });
  };
  for (int64_t s = 0; s < strips_.count(); ++s) {
    const GridStrip strip = strips_.at(s);
    each_slot([&](int64_t slot) { lay_out(slot, strip, x, dy, memory); });
    const int64_t tiles = tiles_of(strips_.grid(strip, 0), memory.firsts);
    each_slot([&](int64_t slot) { add_strip(slot, s, tiles, x, dw, memory); });
  }
}

}  // namespace lockstep::amx
