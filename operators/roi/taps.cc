// SPDX-License-Identifier: Apache-2.0
#include "operators/roi/taps.h"

#include <limits>

#include "operators/roi/place.h"

namespace lockstep {
namespace {

// The most taps that the bins of an axis can have together. If the number of points follows the
// bin's size, points are at most a pixel apart, so neighbouring bins share at most two pixels.
int64_t most_taps(const std::vector<Dims>& maps, std::size_t axis, int64_t bins, int64_t ratio) {
  int64_t most = 0;
  for (const Dims& map : maps)
    most = std::max(most, ratio > 0 ? bins * std::min(2 * ratio, map[axis])
                                    : std::min(bins * map[axis], map[axis] + 2 * bins));
  return most;
}

// Writes the taps of consecutive bins. Each pixel occurs once per bin, in ascending order.
template <class T>
class TapWriter {
 public:
  TapWriter(int32_t* places, T* weights) : places_(places), weights_(weights) {}

  void begin_bin() { begin_ = count_; }
  void add(int64_t place, T weight) {
    for (int64_t i = count_; i-- > std::max(begin_, count_ - 2);)
      if (places_[i] == place) {
        weights_[i] += weight;
        return;
      }
    places_[count_] = static_cast<int32_t>(place);
    weights_[count_++] = weight;
  }
  void end_bin(T factor) {
    for (int64_t i = begin_; i < count_; ++i) weights_[i] *= factor;
  }
  int64_t count() const { return count_; }

 private:
  int32_t* places_;
  T* weights_;
  int64_t begin_ = 0, count_ = 0;
};

template <class T>
int64_t write_taps(const RoiAxis<T>& axis, int64_t size, AxisTaps<T>& to, int64_t roi) {
  TapWriter<T> writer(to.places + roi * to.capacity, to.weights + roi * to.capacity);
  T last = -std::numeric_limits<T>::infinity();
  for (int64_t b = 0; b < to.bins; ++b) {
    writer.begin_bin();
    const PointRange range = points_on_map(axis, b, size);
    for (int64_t i = range.begin; i < range.end; ++i) {
      // A RoI with exchanged ends has descending points.
      T position = axis.at(b, axis.bin < 0 ? range.begin + range.end - 1 - i : i);
      // Rounding must not let a bin begin before the previous bin ends: most_taps() relies on this.
      if (axis.bin > 0) position = last = std::max(last, position);
      const LinearTap<T> tap(position, size);
      if (!tap.inside) continue;
      writer.add(tap.low, tap.low_weight);
      if (tap.high > tap.low) writer.add(tap.high, tap.high_weight);
    }
    writer.end_bin(1 / static_cast<T>(std::max<int64_t>(1, axis.points)));
    to.ends[roi * to.bins + b] = static_cast<int32_t>(writer.count());
  }
  return writer.count();
}

// Makes x indices relative to the first pixel. Returns the first pixel and the extent.
std::pair<int32_t, int32_t> cropped(int32_t* places, int64_t count) {
  if (count == 0) return {0, 0};
  const auto [first, last] = std::minmax_element(places, places + count);
  const int32_t left = *first, width = *last - left + 1;
  for (int64_t i = 0; i < count; ++i) places[i] -= left;
  return {left, width};
}

}  // namespace

template <class T>
RoiTaps<T>::RoiTaps(const RoiAlignAttrs& attrs, std::vector<float> scales, std::vector<Dims> maps,
                    int64_t count, const RoiOperands& operands)
    : attrs_(attrs),
      scales_(std::move(scales)),
      maps_(std::move(maps)),
      count_(count),
      operands_(operands) {
  for (const Dims& map : maps_)
    supported(std::max(map[2], map[3]) <= std::numeric_limits<int32_t>::max() / 4, "a map of ",
              map[2], " x ", map[3], " is too large");
  rows_ = {attrs.height, most_taps(maps_, 2, attrs.height, attrs.sampling_ratio)};
  columns_ = {attrs.width, most_taps(maps_, 3, attrs.width, attrs.sampling_ratio)};
  supported(std::max(rows_.capacity, columns_.capacity) <= std::numeric_limits<int32_t>::max(),
            "bins of ", attrs.sampling_ratio, " x ", attrs.sampling_ratio, " points are too many");
  bind(nullptr);
}

template <class T>
void RoiTaps<T>::bind(std::byte* workspace) {
  std::size_t used = 0;
  const auto take = [&]<class E>(E*& list, int64_t each) {
    list = workspace ? reinterpret_cast<E*>(workspace + used) : nullptr;
    used += (count_ * each * sizeof(E) + 63) / 64 * 64;
  };
  take(places_, 1);
  for (AxisTaps<T>* axis : {&rows_, &columns_}) {
    take(axis->ends, axis->bins);
    take(axis->places, axis->capacity);
    take(axis->weights, axis->capacity);
  }
  bytes_ = used;
}

template <class T>
void RoiTaps<T>::compute(std::span<const Tensor> in, const char* op) {
  const Tensor& boxes = in[operands_.boxes];
  const auto* images = in[operands_.images].as<int64_t>();
  const auto* levels =
      operands_.levels == RoiOperands::kNoLevels ? nullptr : in[operands_.levels].as<int64_t>();
  for (int64_t r = 0; r < count_; ++r) {
    RoiPlace& place = places_[r];
    const int64_t level = levels ? checked_level(levels[r], scales_.size(), r, op) : 0;
    place = {static_cast<int32_t>(level), 0, 0, 0};
    if (level < 0) continue;
    const Dims& map = maps_[level];
    const T scale = scales_[level];
    place.image = checked_image(images[r], map[0], r, op);
    T box[4];
    for (int64_t i = 0; i < 4; ++i)
      box[i] = boxes.desc.dtype == DType::float64 ? static_cast<T>(boxes.as<double>()[4 * r + i])
                                                  : static_cast<T>(boxes.as<float>()[4 * r + i]);
    const RoiAxis<T> y(box[1], box[3], scale, rows_.bins, attrs_);
    const RoiAxis<T> x(box[0], box[2], scale, columns_.bins, attrs_);
    const int64_t rows = write_taps(y, map[2], rows_, r);
    const int64_t columns = write_taps(x, map[3], columns_, r);
    const auto [left, width] = cropped(columns_.places + r * columns_.capacity, columns);
    place.left = left;
    place.width = rows > 0 ? width : 0;
  }
}

template class RoiTaps<float>;
template class RoiTaps<double>;

}  // namespace lockstep
