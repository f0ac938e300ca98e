// SPDX-License-Identifier: Apache-2.0
// Sampling without replacement. Every candidate of an image has a random key, and the smallest keys
// are selected. A key depends only on the seed, the step, the node, the image and the candidate.
// Other candidates and their order do not change it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "lockstep/random.h"

namespace lockstep {

struct Draw {
  uint64_t rank;  // key, then candidate
  int64_t place;  // index of the candidate; the last criterion
  friend auto operator<=>(const Draw&, const Draw&) = default;
};

class Draws {
 public:
  // The low 32 bits of an image's number distinguish images.
  Draws(uint64_t seed, uint64_t step, uint64_t stream, int64_t image_number)
      : seed_(seed),
        stream_(stream_in_step(step, stream)),
        image_(static_cast<uint64_t>(image_number) << 32U) {}

  // Four consecutive candidates share a block of the generator.
  Draw operator()(uint32_t candidate, int64_t place) {
    if (!known_ || candidate / 4 != number_) {
      known_ = true;
      number_ = candidate / 4;
      block_ = philox(seed_, stream_, image_ | number_);
    }
    return {uint64_t{block_[candidate % 4]} << 32U | candidate, place};
  }

 private:
  uint64_t seed_, stream_, image_;
  bool known_ = false;
  uint32_t number_ = 0;
  PhiloxBlock block_{};
};

// Keeps the smallest draws, in a buffer for twice as many.
class SmallestDraws {
 public:
  SmallestDraws(Draw* room, int64_t most) : room_(room), most_(most) {}

  void add(const Draw& draw) {
    if (full_ && !(draw < limit_)) return;
    if (most_ == 0) return;
    room_[count_++] = draw;
    if (count_ == 2 * most_) shrink(most_);
  }

  // Keeps at most `most` draws, in unspecified order.
  void shrink(int64_t most) {
    most = std::min(most, most_);
    if (count_ <= most) return;
    if (most > 0) {
      std::nth_element(room_, room_ + (most - 1), room_ + count_);
      limit_ = room_[most - 1];
      full_ = true;
    }
    count_ = most;
  }

  Draw* begin() const { return room_; }
  Draw* end() const { return room_ + count_; }
  int64_t count() const { return count_; }

 private:
  Draw* room_;
  int64_t most_;
  int64_t count_ = 0;
  bool full_ = false;
  Draw limit_{};
};

// The sample of one image: a limited number of foreground draws, filled up with background draws.
class SampleDraws {
 public:
  static std::size_t room(int64_t foreground, int64_t sample) { return 2 * (foreground + sample); }
  SampleDraws(Draw* room, int64_t foreground, int64_t sample)
      : foreground(room, foreground), background(room + 2 * foreground, sample), sample_(sample) {}

  // Selects the draws and sorts them.
  template <class Order>
  void finish(const Order& order) {
    foreground.shrink(sample_);
    background.shrink(sample_ - foreground.count());
    std::sort(foreground.begin(), foreground.end(), order);
    std::sort(background.begin(), background.end(), order);
  }

  SmallestDraws foreground, background;

 private:
  int64_t sample_;
};

}  // namespace lockstep
