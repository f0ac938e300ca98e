// SPDX-License-Identifier: Apache-2.0
// The transforms of filters and of their gradients, one item of the loops (loops.h) at a time.
//
// P::every_fourth_row has four floats of each of its rows. P::transpose transposes four by four
// floats in each four lanes. P::stream writes an aligned vector past the caches; end_streams makes
// all such writes visible to other threads.
#pragma once

#include "operators/conv/winograd/filtering.h"
#include "operators/conv/winograd/loops.h"

namespace lockstep::winograd {

template <class P>
class FiltersOf {
 public:
  static void transform(const float* w, const FilterPlaces& places, int64_t stride, float* to,
                        int64_t item) {
    const bool neighbours = places.of_output == kTaps;
    Staged staged;
    const float* from = filters_of(w, places, item);
    if (!neighbours) {
      stage(from, places.of_output, staged);
      from = staged.taps;
    }
    const int64_t of_output = neighbours ? kTaps : kStagedRow;
    const int64_t of_input = neighbours ? places.of_input : kTaps;
    for (int i = 0; i < kFilters; ++i) {
      float* const values_to = to + (item * kFilters + i) * kPanel;
      fetch_values<kToWrite>(values_to + kValuesAhead * kPanel, stride);
      if (neighbours) fetch_taps(from + (i + kFilters) * of_input, kTaps * kPanel);
      for (int side = 0; side < 2; ++side) {
        Vector taps[9], tile[9], half[18], values[36];
        load_filters(from + i * of_input + side * kLanes * of_output, of_output, taps);
        for (int t = 0; t < kTaps; ++t) tile[t] = taps[places.turned ? kTaps - 1 - t : t];
        for (int t = 0; t < 3; ++t) Filter::filter(tile + t, 3, half + t, 3);
        for (int t = 0; t < 6; ++t) Filter::filter(half + 3 * t, 1, values + 6 * t, 1);
        for (int p = 0; p < kPoints; ++p)
          P::store(values_to + p * stride + side * kLanes, values[p]);
      }
    }
  }

  static void gradients(const float* from, int64_t stride, const FilterPlaces& places, float* dw,
                        int64_t item) {
    Staged staged;
    for (int i = 0; i < kFilters; ++i) {
      const float* const values_from = from + (item * kFilters + i) * kPanel;
      fetch_values<kToRead>(values_from + kValuesAhead * kPanel, stride);
      for (int side = 0; side < 2; ++side) {
        Vector values[36], half[18], tile[9];
        for (int p = 0; p < kPoints; ++p)
          values[p] = P::load(values_from + p * stride + side * kLanes);
        for (int t = 0; t < 6; ++t) Filter::filter_gradient(values + t, 6, half + t, 6);
        for (int t = 0; t < 3; ++t) Filter::filter_gradient(half + 6 * t, 1, tile + 3 * t, 1);
        store_filters(staged.taps + i * kTaps + side * kLanes * kStagedRow, kStagedRow, tile);
      }
    }
    unstage(staged, places, filters_of(dw, places, item));
  }

 private:
  using Vector = typename P::Vector;
  using Filter = Filtering<P>;
  static constexpr int kLanes = P::kLanes, kPanel = 2 * kLanes;
  static constexpr int kTaps = 9, kStagedRow = kFilters * kTaps;  // floats
  static constexpr int kLine = 16;                                // of a cache

  template <class Float>
  static Float* filters_of(Float* w, const FilterPlaces& places, int64_t item) {
    const int64_t first = item * kFilters, panel = first / places.inputs;
    return w + panel * kPanel * places.of_output + first % places.inputs * places.of_input;
  }

  // The filters of an item, row by row of outputs. In memory these rows are often a multiple of
  // some KiB apart, so a cache can hold few of their lines at once. Each row is copied as a whole.
  struct Staged {
    alignas(64) float taps[kPanel * kStagedRow];
  };
  static void stage(const float* from, int64_t of_output, Staged& to) {
    for (int row = 0; row < kPanel; ++row, from += of_output) {
      fetch_taps(from + kStagedRow, kStagedRow);
      for (int i = 0; i < kStagedRow; i += kLanes)
        P::store(to.taps + row * kStagedRow + i, P::load(from + i));
    }
  }
  static void unstage(const Staged& from, const FilterPlaces& places, float* to) {
    const bool aligned = reinterpret_cast<uintptr_t>(to) % sizeof(Vector) == 0;
    for (int row = 0; row < kPanel; ++row, to += places.of_output)
      for (int i = 0; i < kStagedRow; i += kLanes) {
        const Vector taps = P::load(from.taps + row * kStagedRow + i);
        if (places.past_caches && aligned)
          P::stream(to + i, taps);
        else
          P::store(to + i, taps);
      }
  }

  // Loads four neighbouring floats of each of kLanes rows: vector i has float i of every row.
  static void load_four(const float* from, int64_t row, Vector* to) {
    P::transpose(P::every_fourth_row(from, row), P::every_fourth_row(from + row, row),
                 P::every_fourth_row(from + 2 * row, row), P::every_fourth_row(from + 3 * row, row),
                 to);
  }
  static void store_four(float* to, int64_t row, const Vector* from) {
    Vector by_row[4];
    P::transpose(from[0], from[1], from[2], from[3], by_row);
    for (int i = 0; i < 4; ++i) P::store_every_fourth_row(to + i * row, row, by_row[i]);
  }

  // Loads the nine taps of each of kLanes filters; the last two groups of four overlap.
  static void load_filters(const float* from, int64_t of_output, Vector* taps) {
    load_four(from, of_output, taps);
    load_four(from + 4, of_output, taps + 4);
    load_four(from + 5, of_output, taps + 5);
  }
  static void store_filters(float* to, int64_t of_output, const Vector* taps) {
    store_four(to, of_output, taps);
    store_four(to + 4, of_output, taps + 4);
    store_four(to + 5, of_output, taps + 5);
  }

  // The loops over filters touch 36 positions of values. The values are prefetched kValuesAhead
  // inputs ahead, even after the last input, if they do not fit a core's L2 cache. The values of a
  // slice (work.h) fit.
  static constexpr int64_t kValuesAhead = 2;
  enum Use { kToRead, kToWrite };

  template <Use kUse>
  static void fetch_values(const float* values, int64_t stride) {
    constexpr int kOwnCache = 256 * 1024;
    if (kPoints * stride * static_cast<int64_t>(sizeof(float)) <= kOwnCache) return;
    for (int p = 0; p < kPoints; ++p)
      for (int at = 0; at < kPanel; at += kLine) __builtin_prefetch(values + p * stride + at, kUse);
  }
  // Prefetches taps for the next item, which may follow products, into the L2 cache.
  static void fetch_taps(const float* taps, int count) {
    for (int at = 0; at < count; at += kLine) __builtin_prefetch(taps + at, kToRead, 2);
  }
};

}  // namespace lockstep::winograd
