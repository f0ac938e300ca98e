// SPDX-License-Identifier: Apache-2.0
// Maxima over the bins of RoIs: of whole pixels for MaxRoiPool, of sampled points for RoiAlign. A
// gradient goes to the first maximum of a bin, which is searched again. One thread processes a
// channel and visits RoIs in order, so sums do not depend on the number of threads.
#include <limits>

#include "operators/kit/dispatch.h"
#include "operators/roi/kernels.h"
#include "operators/roi/place.h"
#include "operators/roi/sampling.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kChannelGrain = 4;

// The largest term seen so far: `weight` times the element at offset `place` of a plane. place is
// -1 for the zero of a point outside the map.
template <class T>
struct Largest {
  T value = 0, weight = 0;
  int64_t place = -1;
  bool any = false;

  void see(T term, T of_weight, int64_t at) {
    if (any && !(term > value)) return;
    *this = {term, of_weight, at, true};
  }
};

// The sizes that all four kernels iterate over.
struct MaxProblem {
  Dims map;  // [I, C, H, W]
  int64_t rois = 0, height = 0, width = 0;
  int threads = 1;

  int64_t plane() const { return map[2] * map[3]; }

  // Calls visit(bin, offset of the plane in x, offset in y), with bins in order for every channel.
  template <class Bins, class Visit>
  void each(int64_t begin, int64_t end, const Bins& bins, const Visit& visit) const {
    for (int64_t r = 0; r < rois; ++r)
      for (int64_t at = 0; at < height * width; ++at) {
        const auto bin = bins.bin(r, at / width, at % width);
        for (int64_t c = begin; c < end; ++c)
          visit(bin, (bins.image(r) * map[1] + c) * plane(),
                (r * map[1] + c) * height * width + at);
      }
  }
};

template <class T, class Bins>
void pool_maxima(const MaxProblem& p, const Bins& bins, const T* x, T* y) {
  parallel_for(p.map[1], kChannelGrain, p.threads, [&](int64_t begin, int64_t end) {
    p.each(begin, end, bins,
           [&](const auto& bin, int64_t from, int64_t to) { y[to] = bin.largest(x + from).value; });
  });
}

template <class T, class Bins>
void spread_maxima(const MaxProblem& p, const Bins& bins, const T* x, const T* dy, T* dx) {
  parallel_for(p.map[1], kChannelGrain, p.threads, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < p.map[0]; ++n)
      std::fill_n(dx + (n * p.map[1] + begin) * p.plane(), (end - begin) * p.plane(), T(0));
    p.each(begin, end, bins, [&](const auto& bin, int64_t to, int64_t from) {
      const Largest<T> largest = bin.largest(x + to);
      if (largest.place >= 0) dx[to + largest.place] += largest.weight * dy[from];
    });
  });
}

// -- RoiAlign. As in ONNX Runtime, the maximum is over the four weighted pixels of each point
// instead of the points' sums. A point outside the map is zero.

template <class T>
struct PointBin {
  RoiAxis<T> rows, columns;
  int64_t row, column;  // of bins
  int64_t map_height, map_width;

  Largest<T> largest(const T* plane) const {
    const PointRange down = points_on_map(rows, row, map_height);
    const PointRange right = points_on_map(columns, column, map_width);
    Largest<T> best;
    if (rows.points == 0 || columns.points == 0) return best;
    bool outside = down.end - down.begin < rows.points || right.end - right.begin < columns.points;
    for (int64_t a = down.begin; a < down.end; ++a) {
      const LinearTap<T> y(rows.at(row, a), map_height);
      for (int64_t b = right.begin; b < right.end; ++b) {
        const LinearTap<T> x(columns.at(column, b), map_width);
        outside = outside || !y.inside || !x.inside;
        if (!y.inside || !x.inside) continue;
        const auto see = [&](int64_t at_row, int64_t at_column, T weight) {
          const int64_t place = at_row * map_width + at_column;
          best.see(weight * plane[place], weight, place);
        };
        see(y.low, x.low, y.low_weight * x.low_weight);
        see(y.low, x.high, y.low_weight * x.high_weight);
        see(y.high, x.low, y.high_weight * x.low_weight);
        see(y.high, x.high, y.high_weight * x.high_weight);
      }
    }
    if (outside) best.see(0, 0, -1);
    return best;
  }
};

template <class T>
struct PointBins {
  const MaxProblem& problem;
  const RoiAlignAttrs& attrs;
  T scale;
  const T* boxes;
  const int64_t* images;

  int64_t image(int64_t r) const { return images[r]; }

  PointBin<T> bin(int64_t r, int64_t i, int64_t j) const {
    const T* box = boxes + 4 * r;
    return {{box[1], box[3], scale, problem.height, attrs},
            {box[0], box[2], scale, problem.width, attrs},
            i,
            j,
            problem.map[2],
            problem.map[3]};
  }
};

template <class T>
PointBins<T> point_bins(const MaxProblem& p, const RoiAlignAttrs& attrs, float scale,
                        const Tensor& boxes, const Tensor& images, const char* op) {
  const auto* image = images.as<int64_t>();
  for (int64_t r = 0; r < p.rois; ++r) checked_image(image[r], p.map[0], r, op);
  return {p, attrs, static_cast<T>(scale), boxes.as<T>(), image};
}

struct PointMaximum {
  MaxProblem problem;
  RoiAlignAttrs attrs;
  float scale;
};

PointMaximum point_maximum(const KernelRequest& request, const Dims& map, int64_t rois) {
  AttributeReader reader = request.attributes();
  const RoiAlignAttrs attrs = read_roi_align(reader);
  return {{map, rois, attrs.height, attrs.width, request.threads},
          attrs,
          reader.number("spatial_scale", 1)};
}

// -- MaxRoiPool

// The first pixel of a bin and the pixel after its last, along one axis.
struct PlaceRange {
  int64_t begin, end;
};

template <class T>
PlaceRange places_of_bin(T low, T high, T scale, int64_t bin, int64_t bins, int64_t size) {
  constexpr T kFar = T(1 << 30);
  const T from = std::round(low * scale), to = std::round(high * scale);
  if (!(from >= -kFar && from <= kFar && to >= -kFar && to <= kFar)) return {0, 0};
  const auto start = static_cast<int64_t>(from);
  const int64_t length = std::max<int64_t>(static_cast<int64_t>(to) - start + 1, 1);
  const T each = static_cast<T>(length) / static_cast<T>(bins);
  const auto begin = static_cast<int64_t>(std::floor(static_cast<T>(bin) * each));
  const auto end = static_cast<int64_t>(std::ceil(static_cast<T>(bin + 1) * each));
  return {std::clamp<int64_t>(start + begin, 0, size), std::clamp<int64_t>(start + end, 0, size)};
}

template <class T>
struct PlaceBin {
  PlaceRange rows, columns;
  int64_t map_width;

  Largest<T> largest(const T* plane) const {
    Largest<T> best;
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const int64_t place = y * map_width + x;
        best.see(plane[place], 1, place);
      }
    return best;
  }
};

template <class T>
struct PlaceBins {
  const MaxProblem& problem;
  T scale;
  const T* boxes;

  int64_t image(int64_t r) const { return static_cast<int64_t>(boxes[5 * r]); }

  PlaceBin<T> bin(int64_t r, int64_t i, int64_t j) const {
    const T* box = boxes + 5 * r;
    return {places_of_bin(box[2], box[4], scale, i, problem.height, problem.map[2]),
            places_of_bin(box[1], box[3], scale, j, problem.width, problem.map[3]), problem.map[3]};
  }
};

template <class T>
PlaceBins<T> place_bins(const MaxProblem& p, float scale, const Tensor& boxes, const char* op) {
  for (int64_t r = 0; r < p.rois; ++r) checked_image(boxes.as<T>()[5 * r], p.map[0], r, op);
  return {p, static_cast<T>(scale), boxes.as<T>()};
}

struct PlaceMaximum {
  MaxProblem problem;
  float scale;
};

PlaceMaximum place_maximum(const KernelRequest& request, const Dims& map, int64_t rois) {
  AttributeReader reader = request.attributes();
  const auto size = reader.integers("pooled_shape");
  return {{map, rois, size[0], size[1], request.threads}, reader.number("spatial_scale", 1)};
}

}  // namespace

std::unique_ptr<Kernel> prepare_roi_max(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([p = point_maximum(request, request.in[0].dims, request.in[1].dims[0])](
                           const KernelArgs& args) {
      pool_maxima(p.problem,
                  point_bins<T>(p.problem, p.attrs, p.scale, args.in[1], args.in[2], "RoiAlign"),
                  args.in[0].as<T>(), args.out[0].as<T>());
    });
  });
}

std::unique_ptr<Kernel> prepare_roi_max_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([p = point_maximum(request, request.out[0].dims, request.in[2].dims[0])](
                           const KernelArgs& args) {
      spread_maxima(
          p.problem,
          point_bins<T>(p.problem, p.attrs, p.scale, args.in[2], args.in[3], "RoiAlignGrad"),
          args.in[4].as<T>(), args.in[0].as<T>(), args.out[0].as<T>());
    });
  });
}

std::unique_ptr<Kernel> prepare_max_roi_pool(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([p = place_maximum(request, request.in[0].dims, request.in[1].dims[0])](
                           const KernelArgs& args) {
      pool_maxima(p.problem, place_bins<T>(p.problem, p.scale, args.in[1], "MaxRoiPool"),
                  args.in[0].as<T>(), args.out[0].as<T>());
    });
  });
}

std::unique_ptr<Kernel> prepare_max_roi_pool_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([p = place_maximum(request, request.in[1].dims, request.in[2].dims[0])](
                           const KernelArgs& args) {
      spread_maxima(p.problem, place_bins<T>(p.problem, p.scale, args.in[2], "MaxRoiPoolGrad"),
                    args.in[1].as<T>(), args.in[0].as<T>(), args.out[0].as<T>());
    });
  });
}

}  // namespace lockstep
