// SPDX-License-Identifier: Apache-2.0
// Drawing without repetition: every candidate of an image has a random key, and the smallest keys
// are taken. A key depends on the seed, the step, the node, the image and the candidate alone, so
// neither other candidates nor their order change it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "runtime/philox.h"

namespace lockstep {

struct Draw {
  uint64_t rank;  // key, then candidate
  int64_t place;  // where the candidate is; the last criterion
  friend auto operator<=>(const Draw&, const Draw&) = default;
};

class Draws {
 public:
  // Images are told apart by 32 bits of their number.
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

// Keeps the smallest draws, in a room for twice as many.
class SmallestDraws {
 public:
  SmallestDraws(Draw* room, int64_t most) : room_(room), most_(most) {}

  void add(const Draw& draw) {
    if (full_ && !(draw < limit_)) return;
    if (most_ == 0) return;
    room_[count_++] = draw;
    if (count_ == 2 * most_) shrink(most_);
  }

  // Keeps at most so many; their order is open.
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

// The sample of one image: at most so many draws of foreground, the rest of background.
class SampleDraws {
 public:
  static std::size_t room(int64_t foreground, int64_t sample) { return 2 * (foreground + sample); }
  SampleDraws(Draw* room, int64_t foreground, int64_t sample)
      : foreground(room, foreground), background(room + 2 * foreground, sample), sample_(sample) {}

  // Chooses, and sorts what was chosen.
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
