// SPDX-License-Identifier: Apache-2.0
// Interpolation is separable: along each dimension an output position is a weighted sum of a few
// input positions. This file computes positions and weights identically on every device. Functions
// are templates so that they may be constexpr, which a GPU's compiler accepts in device code.
#pragma once

#include <cmath>
#include <cstdint>

namespace lockstep {

enum class ResizeMode { nearest, linear, cubic };
enum class ResizeCoordinates {
  half_pixel,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  crop,
  nearest_half_pixel
};
enum class ResizeNearest { round_prefer_floor, round_prefer_ceil, floor, ceil };

struct ResizeTaps {
  static constexpr int kMost = 4;
  int count = 0;
  int64_t place[kMost] = {};
  float weight[kMost] = {};
};

// One dimension, with its sizes before and after the resize.
struct ResizeLine {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeNearest nearest = ResizeNearest::round_prefer_floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  int64_t before = 1, after = 1;
  double scale = 1;
  double region_start = 0, region_end = 1;

  // The coordinate of output position i in the input; increases with i.
  template <class Index>
  constexpr double position(Index i) const {
    const double size = static_cast<double>(before), place = static_cast<double>(i);
    switch (coordinates) {
      case ResizeCoordinates::asymmetric:
        return place / scale;
      case ResizeCoordinates::align_corners:  // not rounded to whole positions, as in ONNX's own
                                              // test cases
        return after == 1 ? 0 : place * (size - 1) / (scale * size - 1);
      case ResizeCoordinates::pytorch_half_pixel:
        return after > 1 ? (place + 0.5) / scale - 0.5 : 0;
      case ResizeCoordinates::crop:
        return after > 1
                   ? region_start * (size - 1) + place * (region_end - region_start) * (size - 1) /
                                                     static_cast<double>(after - 1)
                   : 0.5 * (region_start + region_end) * (size - 1);
      case ResizeCoordinates::nearest_half_pixel:
        return (place + 0.5) / scale;
      default:
        return (place + 0.5) / scale - 0.5;
    }
  }

  template <class Index>
  constexpr bool outside(Index i) const {
    if (coordinates != ResizeCoordinates::crop) return false;
    const double at = position(i);
    return at < 0 || at > static_cast<double>(before - 1);
  }

  template <class Index>
  constexpr ResizeTaps taps(Index i) const {
    const double at = near(position(i));
    ResizeTaps taps;
    if (mode == ResizeMode::nearest) {
      add(taps, nearest_place(at), 1.0);
      return taps;
    }
    const double base = std::floor(at);
    const auto floor = static_cast<int64_t>(base);
    if (mode == ResizeMode::linear) {
      add(taps, floor, 1 - (at - base));
      add(taps, floor + 1, at - base);
      return taps;
    }
    double weights[ResizeTaps::kMost] = {}, total = 0;
    for (int k = 0; k < ResizeTaps::kMost; ++k) {
      const int64_t place = floor - 1 + k;
      const bool out = place < 0 || place >= before;
      weights[k] = out && exclude_outside ? 0 : cubic(at - static_cast<double>(place));
      total += weights[k];
    }
    for (int k = 0; k < ResizeTaps::kMost; ++k) {
      const auto weight = static_cast<float>(weights[k]);
      add(taps, floor - 1 + k, exclude_outside ? static_cast<double>(weight) / total : weight);
    }
    return taps;
  }

  // The first output position with an input coordinate of at least `at`.
  template <class Number>
  constexpr int64_t first_behind(Number at) const {
    int64_t low = 0, high = after;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (position(middle) < at)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  // Output positions outside [first_taker, last_taker) do not use input position `place`.
  template <class Index>
  constexpr int64_t first_taker(Index place) const {
    return place == 0 ? 0 : first_behind(static_cast<double>(place) - 3);
  }
  template <class Index>
  constexpr int64_t last_taker(Index place) const {
    return place == before - 1 ? after : first_behind(static_cast<double>(place) + 3);
  }

  // True if the resize leaves a tensor unchanged along this dimension.
  template <class Index = int64_t>
  constexpr bool trivial() const {
    if (before != after) return false;
    for (Index i = 0; i < after; ++i) {
      const ResizeTaps of = taps(i);
      for (int k = 0; k < of.count; ++k)
        if (of.weight[k] != 0 && (of.place[k] != i || of.weight[k] != 1)) return false;
    }
    return true;
  }

 private:
  // Clamps distant positions, which all map to the border, to the integer's range.
  template <class Number>
  constexpr Number near(Number at) const {
    const Number most = static_cast<Number>(before) + 8;
    return at > most ? most : at >= -8 ? at : -8;
  }

  template <class Number>
  constexpr void add(ResizeTaps& taps, int64_t place, Number weight) const {
    const int64_t last = before - 1;
    taps.place[taps.count] = place < 0 ? 0 : place > last ? last : place;
    taps.weight[taps.count++] = static_cast<float>(weight);
  }

  template <class Number>
  constexpr int64_t nearest_place(Number at) const {
    switch (nearest) {
      case ResizeNearest::floor:
        return static_cast<int64_t>(std::floor(at));
      case ResizeNearest::ceil:
        return static_cast<int64_t>(std::ceil(at));
      case ResizeNearest::round_prefer_ceil:
        return static_cast<int64_t>(std::floor(at + 0.5));
      default:
        return static_cast<int64_t>(std::ceil(at - 0.5));
    }
  }

  // Keys' cubic kernel at `distance`.
  template <class Number>
  constexpr Number cubic(Number distance) const {
    const Number a = cubic_a, d = distance < 0 ? -distance : distance;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
  }
};

}  // namespace lockstep
