// SPDX-License-Identifier: Apache-2.0
// Interpolation is separable: along each axis, a place between the pixels is a weighted sum of a
// few pixels. This file computes pixels and weights identically on every device. Functions are
// templates so that they may be constexpr, which a GPU's compiler accepts in device code.
#pragma once

#include <cmath>
#include <cstdint>

namespace lockstep {

enum class GridMode { nearest, linear, cubic };
enum class GridPadding { zeros, border, reflection };

inline constexpr int kMostGridAxes = 3;

// The pixels that a place reads along one axis.
template <class T>
struct GridTaps {
  static constexpr int kMost = 4;
  int count = 0;
  int64_t pixel[kMost] = {};  // -1: outside, where everything is 0
  T weight[kMost] = {};
  T slope[kMost] = {};  // of the weight, by the coordinate
};

struct GridRule {
  GridMode mode = GridMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;

  // The taps of a coordinate, which is -1 at one end of the axis and 1 at the other.
  template <class T>
  constexpr GridTaps<T> taps(T coordinate, int64_t size) const {
    GridTaps<T> taps;
    const T whole = static_cast<T>(size);
    T place =
        align_corners ? (coordinate + 1) / 2 * (whole - 1) : ((coordinate + 1) * whole - 1) / 2;
    T scale = (align_corners ? whole - 1 : whole) / 2;  // of the place, by the coordinate
    if (mode != GridMode::cubic) keep_inside(place, scale, whole);
    if (!(place > -kFar && place < kFar)) place = -kOutside;  // also not a number
    if (mode == GridMode::nearest) {
      add(taps, static_cast<int64_t>(std::nearbyint(place)), size, T(1), T(0));
      return taps;
    }
    const T floor = std::floor(place);
    const T part = place - floor;
    const auto first = static_cast<int64_t>(floor);
    if (mode == GridMode::linear) {
      add(taps, first, size, 1 - part, -scale);
      add(taps, first + 1, size, part, scale);
      return taps;
    }
    for (int k = 0; k < GridTaps<T>::kMost; ++k) {
      const T distance = part + static_cast<T>(1 - k);
      add(taps, first - 1 + k, size, cubic(distance), scale * cubic_slope(distance));
    }
    return taps;
  }

 private:
  static constexpr double kFar = 1 << 30, kOutside = 100;

  // Moves a place onto the image as the padding says, and multiplies `scale` by the slope of this.
  template <class T>
  constexpr void keep_inside(T& place, T& scale, T size) const {
    if (padding == GridPadding::zeros) return;
    if (padding == GridPadding::reflection) {
      const T low = align_corners ? T(0) : T(-0.5);
      const T span = align_corners ? size - 1 : size;
      if (!(span > 0)) {
        place = scale = 0;
        return;
      }
      T distance = place - low;
      if (distance < 0) {
        distance = -distance;
        scale = -scale;
      }
      const T rest = std::fmod(distance, span);
      const bool odd = std::fmod(std::floor(distance / span), T(2)) > 0;
      place = low + (odd ? span - rest : rest);
      if (odd) scale = -scale;
    }
    if (place <= 0 || place >= size - 1) scale = 0;
    place = place <= 0 ? T(0) : place >= size - 1 ? size - 1 : place;
  }

  // The pixel that stands for `at`; -1 for none.
  template <class Index>
  constexpr Index pixel(Index at, Index size) const {
    if (size == 0) return -1;
    if (padding == GridPadding::border) return at < 0 ? 0 : at < size ? at : size - 1;
    if (padding == GridPadding::zeros) return at < 0 || at >= size ? -1 : at;
    const Index period = align_corners ? 2 * (size - 1) : 2 * size;
    if (period == 0) return 0;
    const Index rest = (at % period + period) % period;
    return rest < size ? rest : align_corners ? period - rest : period - 1 - rest;
  }

  template <class T>
  constexpr void add(GridTaps<T>& taps, int64_t at, int64_t size, T weight, T slope) const {
    // For the other modes, the place has been moved onto the image.
    const bool moves = mode == GridMode::cubic;
    taps.pixel[taps.count] = moves ? pixel(at, size) : at < 0 || at >= size ? -1 : at;
    taps.weight[taps.count] = weight;
    taps.slope[taps.count++] = slope;
  }

  // Keys' cubic kernel at a signed distance.
  template <class T>
  constexpr T cubic(T distance) const {
    const T a = T(-0.75), d = distance < 0 ? -distance : distance;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
  }
  template <class T>
  constexpr T cubic_slope(T distance) const {
    const T a = T(-0.75), sign = distance < 0 ? T(-1) : T(1), d = sign * distance;
    if (d <= 1) return sign * (3 * (a + 2) * d - 2 * (a + 3)) * d;
    if (d < 2) return sign * ((3 * a * d - 10 * a) * d + 8 * a);
    return 0;
  }
};

// One pixel of each axis: its offset in a plane and the number of its tap along each axis.
struct GridCorner {
  int64_t offset = 0;
  int tap[kMostGridAxes] = {};

  template <class T>
  constexpr T weight(const GridTaps<T>* taps, int axes) const {
    T product = 1;
    for (int d = 0; d < axes; ++d) product *= taps[d].weight[tap[d]];
    return product;
  }
  // The slope of the weight by the coordinate of one axis.
  template <class T>
  constexpr T slope(const GridTaps<T>* taps, int axes, int axis) const {
    T product = 1;
    for (int d = 0; d < axes; ++d)
      product *= d == axis ? taps[d].slope[tap[d]] : taps[d].weight[tap[d]];
    return product;
  }
};

// Calls visit(corner) for all combinations of taps that are on the image, always in the same order.
template <class T, class Visit>
constexpr void for_each_corner(const GridTaps<T>* taps, const int64_t* size, int axes,
                               const Visit& visit) {
  int count = 1;
  for (int d = 0; d < axes; ++d) count *= taps[d].count;
  for (int k = 0; k < count; ++k) {
    GridCorner corner;
    int64_t stride = 1;
    int rest = k;
    bool inside = true;
    for (int d = axes - 1; d >= 0; --d) {
      corner.tap[d] = rest % taps[d].count;
      rest /= taps[d].count;
      const int64_t pixel = taps[d].pixel[corner.tap[d]];
      inside = inside && pixel >= 0;
      corner.offset += pixel * stride;
      stride *= size[d];
    }
    if (inside) visit(corner);
  }
}

}  // namespace lockstep
