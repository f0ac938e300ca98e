// SPDX-License-Identifier: Apache-2.0
// The order in which batch norm's CPU loops walk a tensor: in packs. The lanes of a pack are the
// channels of a group (channel blocks, matrices) or, for other row-major tensors, positions of one
// channel.
#pragma once

#include <algorithm>
#include <array>

#include "lockstep/tensor.h"
#include "operators/batch_norm/blocks.h"
#include "operators/kit/simd/pack.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

struct ChannelGroups {
  int64_t images = 0, channels = 0, plane = 0;
  int lanes = 8;
  bool of_channels = true;  // true: lanes are channels; false: positions
  bool in_blocks = false;   // channel blocks: all packs are whole, with zeros in padding
  int64_t groups = 0;
  int64_t pitch = 0;  // floats from one pack to the next
  int64_t image_pitch = 0, group_pitch = 0;

  explicit ChannelGroups(const TensorDesc& x);

  // A group's packs in one image: first `whole` packs, then `narrow` packs of `width` lanes.
  struct Walk {
    int64_t at;
    int64_t whole, narrow;
    int width;
  };
  Walk walk(int64_t image, int64_t group) const;

  // The number of elements of a channel.
  int64_t count() const { return images * plane; }
  int64_t channel(int64_t group, int lane) const {
    return of_channels ? group * lanes + lane : group;
  }
  // The number of lanes of a group that represent separate channels.
  int channels_of(int64_t group) const;
  std::size_t lane_count() const { return groups * lanes; }
};

// A channel's number in every lane of the channel, and `unused` in the other lanes.
template <int kLanes>
Pack<kLanes> spread(const ChannelGroups& lie, int64_t group, const float* by_channel,
                    float unused = 0) {
  const int own = lie.channels_of(group);
  if (own == kLanes) return Pack<kLanes>::load(by_channel + group * kLanes);
  std::array<float, kLanes> lanes;
  lanes.fill(unused);
  for (int lane = 0; lane < kLanes; ++lane)
    if (!lie.of_channels || lane < own) lanes[lane] = by_channel[lie.channel(group, lane)];
  return Pack<kLanes>::load(lanes.data());
}

// Calls visit(offset) for whole packs and visit(offset, width) for narrow packs.
template <class Visit>
void each_pack(const ChannelGroups& lie, const ChannelGroups::Walk& walk, const Visit& visit) {
  int64_t at = walk.at;
  for (int64_t k = 0; k < walk.whole; ++k, at += lie.pitch) visit(at);
  for (int64_t k = 0; k < walk.narrow; ++k, at += lie.pitch) visit(at, walk.width);
}

// Calls add_up(image, group) for every image of a group, then settle(group), then finish(image,
// group) for every image. If there are enough groups for all threads, one thread processes a group,
// so that the second pass finds the group in the cache.
template <class AddUp, class Settle, class Finish>
void over_groups(const ChannelGroups& lie, int threads, const AddUp& add_up, const Settle& settle,
                 const Finish& finish) {
  constexpr int64_t kGrain = 16384;
  const int64_t of_group = std::max<int64_t>(1, lie.count() * lie.lanes);
  const int64_t shares = (lie.groups + threads - 1) / threads;
  if (shares * threads * 7 <= lie.groups * 8) {  // at most an eighth of the time is lost
    parallel_for(lie.groups, std::max<int64_t>(1, kGrain / of_group), threads,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t g = begin; g < end; ++g) {
                     for (int64_t n = 0; n < lie.images; ++n) add_up(n, g);
                     settle(g);
                     for (int64_t n = 0; n < lie.images; ++n) finish(n, g);
                   }
                 });
    return;
  }
  const int64_t pieces = lie.images * lie.groups;
  const int64_t grain = std::max<int64_t>(1, kGrain * lie.images / of_group);
  const auto over_pieces = [&](const auto& work) {
    parallel_for(pieces, grain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(i / lie.groups, i % lie.groups);
    });
  };
  over_pieces(add_up);
  for (int64_t g = 0; g < lie.groups; ++g) settle(g);
  over_pieces(finish);
}

// Sums of two numbers per element, for each lane of each group and image. Short stretches are
// summed as floats, stretches are added as doubles. The order of addition depends on the shape
// only.
class PairedSums {
 public:
  explicit PairedSums(const ChannelGroups& lie) : lie_(lie) {}

  std::size_t bytes() const { return lie_.images * lie_.lane_count() * 2 * sizeof(double); }

  // term(offset) or term(offset, width) returns two packs.
  template <int kLanes, class Term>
  void add_up(double* sums, int64_t image, int64_t group, const Term& term) const {
    std::array<double, 2 * kLanes> total{};
    const auto walk = lie_.walk(image, group);
    int64_t at = walk.at;
    for (int64_t k = 0; k < walk.whole;) {
      Pack<kLanes> first[kWays]{}, second[kWays]{};
      const int64_t stop = std::min(walk.whole, k + kStretch);
      for (; k + kWays <= stop; k += kWays)
        for (int way = 0; way < kWays; ++way, at += lie_.pitch)
          add(first[way], second[way], term(at));
      for (; k < stop; ++k, at += lie_.pitch) add(first[0], second[0], term(at));
      for (int way = 0; way < kWays; ++way) flush<kLanes>(total, first[way], second[way]);
    }
    for (int64_t k = 0; k < walk.narrow; ++k, at += lie_.pitch) {
      const auto [first, second] = term(at, walk.width);
      flush<kLanes>(total, first, second);
    }
    std::copy(total.begin(), total.end(), sums + place(image, group));
  }

  // The sums of a block: first the first sum of every channel, then the second.
  double* of_block(double* sums, int64_t image, int64_t group) const {
    return sums + place(image, group);
  }

  // The two sums of a channel.
  std::array<double, 2> of(const double* sums, int64_t group, int lane) const {
    std::array<double, 2> total{};
    const int last = lie_.of_channels ? lane + 1 : lie_.lanes;
    for (int64_t n = 0; n < lie_.images; ++n)
      for (int l = lane; l < last; ++l)
        for (std::size_t which : {0, 1})
          total[which] += sums[place(n, group) + static_cast<int64_t>(which) * lie_.lanes + l];
    return total;
  }

 private:
  static constexpr int kWays = normed::kWays;
  static constexpr int64_t kStretch = normed::kStretch;

  int64_t place(int64_t image, int64_t group) const {
    return (image * lie_.groups + group) * 2 * lie_.lanes;
  }

  template <int kLanes>
  static void add(Pack<kLanes>& first, Pack<kLanes>& second,
                  const std::array<Pack<kLanes>, 2>& terms) {
    for (int i = 0; i < Pack<kLanes>::kParts; ++i) {
      first.part[i] += terms[0].part[i];
      second.part[i] += terms[1].part[i];
    }
  }
  template <int kLanes>
  static void flush(std::array<double, 2 * kLanes>& total, const Pack<kLanes>& first,
                    const Pack<kLanes>& second) {
    std::array<float, kLanes> a, b;
    first.store(a.data());
    second.store(b.data());
    for (std::size_t l = 0; l < kLanes; ++l) {
      total[l] += a[l];
      total[kLanes + l] += b[l];
    }
  }

  ChannelGroups lie_;
};

}  // namespace lockstep
