// SPDX-License-Identifier: Apache-2.0
// Means of bilinear samples of one map or several. Each channel of a RoI is two small products. For
// a row of bins, the sampled rows of the map are summed into a line. Then columns of the line are
// summed into bins. The first product runs over neighbouring columns, so it is vectorised.
//
// Channels are the outer loop: the planes of a few channels stay in the cache while all RoIs read
// them. The gradient adds RoIs in order, and one thread processes a channel, so sums do not depend
// on the number of threads.
#include "operators/kit/dispatch.h"
#include "operators/roi/kernels.h"
#include "operators/roi/taps.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 8;     // channels
constexpr int64_t kTogether = 4;  // channels with planes that are read alternately

RoiAlignAttrs mean_attrs(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  return read_roi_align(reader);
}

std::vector<float> scales_of(const KernelRequest& request, bool multilevel) {
  AttributeReader reader = request.attributes();
  if (multilevel) return reader.numbers("spatial_scales");
  return {reader.number("spatial_scale", 1)};
}

std::vector<Dims> maps_of(const std::vector<TensorDesc>& tensors, std::size_t first,
                          std::size_t count) {
  std::vector<Dims> maps;
  for (std::size_t i = 0; i < count; ++i) maps.push_back(tensors[first + i].dims);
  return maps;
}

// line[k] = the weighted sum of rows, for `width` columns.
template <class T>
void sum_rows(const T* __restrict map, int64_t pitch, const int32_t* rows, const T* weights,
              int64_t count, int64_t width, T* __restrict line) {
  const T* a = map + rows[0] * pitch;
  const T wa = weights[0];
  if (count == 1) {
    for (int64_t k = 0; k < width; ++k) line[k] = wa * a[k];
    return;
  }
  const T* b = map + rows[1] * pitch;
  const T wb = weights[1];
  int64_t i = 2;
  if (count == 2) {
    for (int64_t k = 0; k < width; ++k) line[k] = wa * a[k] + wb * b[k];
  } else if (count == 3) {
    const T* c = map + rows[2] * pitch;
    const T wc = weights[2];
    for (int64_t k = 0; k < width; ++k) line[k] = wa * a[k] + wb * b[k] + wc * c[k];
    i = 3;
  } else {
    const T *c = map + rows[2] * pitch, *d = map + rows[3] * pitch;
    const T wc = weights[2], wd = weights[3];
    for (int64_t k = 0; k < width; ++k) line[k] = wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k];
    i = 4;
  }
  for (; i < count; ++i) {
    const T* row = map + rows[i] * pitch;
    for (int64_t k = 0; k < width; ++k) line[k] += weights[i] * row[k];
  }
}

// Data shared by the forward kernel and the gradient: the taps, and a line for each thread.
template <class T>
struct MeanPlan {
  std::vector<Dims> maps;
  RoiTaps<T> taps;
  int64_t channels = 0, widest = 0;
  std::size_t first_map;  // index of the first map among the operands or results
  int threads;
  const char* op;

  MeanPlan(const KernelRequest& request, std::vector<Dims> of_maps, int64_t rois,
           const RoiOperands& operands, std::size_t first_map, const char* op)
      : maps(std::move(of_maps)),
        taps(mean_attrs(request), scales_of(request, operands.levels != RoiOperands::kNoLevels),
             maps, rois, operands),
        channels(maps[0][1]),
        first_map(first_map),
        threads(request.threads),
        op(op) {
    for (const Dims& map : maps) widest = std::max(widest, map[3]);
  }

  std::size_t line_bytes() const { return (widest * sizeof(T) + 63) / 64 * 64; }
  std::size_t workspace_bytes() const {
    return taps.bytes() + (channels / kGrain + 1) * line_bytes();
  }
  // The line of the piece whose first channel is `begin`. Pieces have at least kGrain channels.
  T* line(std::byte* workspace, int64_t begin) const {
    return reinterpret_cast<T*>(workspace + taps.bytes() + begin / kGrain * line_bytes());
  }
  // The plane of channel `c` that contains RoI `at`, from the RoI's leftmost column.
  T* plane(std::span<const Tensor> tensors, const RoiPlace& at, int64_t c) const {
    const Dims& map = maps[at.level];
    return tensors[first_map + at.level].as<T>() + (at.image * channels + c) * map[2] * map[3] +
           at.left;
  }
  int64_t pitch(const RoiPlace& at) const { return maps[at.level][3]; }

  // Calls visit(roi, channel) for all pairs, with RoIs in order for every channel.
  template <class Visit>
  void each(int64_t begin, int64_t end, const Visit& visit) const {
    for (int64_t first = begin; first < end; first += kTogether)
      for (int64_t r = 0; r < taps.count(); ++r)
        for (int64_t c = first; c < std::min(first + kTogether, end); ++c) visit(r, c);
  }
};

template <class T>
class MeanKernel final : public Kernel {
 public:
  explicit MeanKernel(MeanPlan<T> plan) : plan_(std::move(plan)) {}
  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    plan_.taps.bind(args.workspace);
    plan_.taps.compute(args.in, plan_.op);
    T* y = args.out[0].as<T>();
    const int64_t bins = plan_.taps.rows().bins * plan_.taps.columns().bins;
    parallel_for(plan_.channels, kGrain, plan_.threads, [&](int64_t begin, int64_t end) {
      T* line = plan_.line(args.workspace, begin);
      plan_.each(begin, end, [&](int64_t r, int64_t c) {
        pool(args.in, r, c, line, y + (r * plan_.channels + c) * bins);
      });
    });
  }

 private:
  void pool(std::span<const Tensor> in, int64_t r, int64_t c, T* line, T* y) const {
    const AxisTaps<T>&rows = plan_.taps.rows(), &columns = plan_.taps.columns();
    const RoiPlace& at = plan_.taps.place(r);
    if (at.width == 0) {
      std::fill_n(y, rows.bins * columns.bins, T(0));
      return;
    }
    const T* map = plan_.plane(in, at, c);
    const int32_t* places = columns.places_of(r);
    const T* weights = columns.weights_of(r);
    int64_t row = 0;
    for (const int32_t row_end : rows.ends_of(r)) {
      if (row == row_end) {
        y = std::fill_n(y, columns.bins, T(0));
        continue;
      }
      sum_rows(map, plan_.pitch(at), rows.places_of(r) + row, rows.weights_of(r) + row,
               row_end - row, at.width, line);
      row = row_end;
      int64_t k = 0;
      for (const int32_t end : columns.ends_of(r)) {
        T total = 0;
        for (; k < end; ++k) total += weights[k] * line[places[k]];
        *y++ = total;
      }
    }
  }

  MeanPlan<T> plan_;
};

template <class T>
class MeanGradKernel final : public Kernel {
 public:
  explicit MeanGradKernel(MeanPlan<T> plan) : plan_(std::move(plan)) {}
  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    plan_.taps.bind(args.workspace);
    plan_.taps.compute(args.in, plan_.op);
    const T* dy = args.in[0].as<T>();
    const int64_t bins = plan_.taps.rows().bins * plan_.taps.columns().bins;
    parallel_for(plan_.channels, kGrain, plan_.threads, [&](int64_t begin, int64_t end) {
      clear(args.out, begin, end);
      T* line = plan_.line(args.workspace, begin);
      plan_.each(begin, end, [&](int64_t r, int64_t c) {
        spread(args.out, r, c, line, dy + (r * plan_.channels + c) * bins);
      });
    });
  }

 private:
  void clear(std::span<const Tensor> out, int64_t begin, int64_t end) const {
    for (std::size_t l = 0; l < plan_.maps.size(); ++l) {
      const Dims& map = plan_.maps[l];
      const int64_t plane = map[2] * map[3];
      for (int64_t i = 0; i < map[0]; ++i)
        std::fill_n(out[l].as<T>() + (i * plan_.channels + begin) * plane, (end - begin) * plane,
                    T(0));
    }
  }

  // The transpose of MeanKernel::pool().
  void spread(std::span<const Tensor> out, int64_t r, int64_t c, T* __restrict line,
              const T* dy) const {
    const AxisTaps<T>&rows = plan_.taps.rows(), &columns = plan_.taps.columns();
    const RoiPlace& at = plan_.taps.place(r);
    if (at.width == 0) return;
    T* map = plan_.plane(out, at, c);
    const int64_t pitch = plan_.pitch(at);
    const int32_t* places = columns.places_of(r);
    const T* weights = columns.weights_of(r);
    int64_t row = 0;
    for (const int32_t row_end : rows.ends_of(r)) {
      std::fill_n(line, at.width, T(0));
      int64_t k = 0;
      for (const int32_t end : columns.ends_of(r)) {
        const T each = *dy++;
        for (; k < end; ++k) line[places[k]] += weights[k] * each;
      }
      for (; row < row_end; ++row) {
        T* __restrict to = map + rows.places_of(r)[row] * pitch;
        const T weight = rows.weights_of(r)[row];
        for (int64_t i = 0; i < at.width; ++i) to[i] += weight * line[i];
      }
    }
  }

  MeanPlan<T> plan_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_roi_mean(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<MeanKernel<T>>(
        MeanPlan<T>(request, maps_of(request.in, 0, 1), request.in[1].dims[0],
                    {1, 2, RoiOperands::kNoLevels}, 0, "RoiAlign"));
  });
}

std::unique_ptr<Kernel> prepare_roi_mean_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<MeanGradKernel<T>>(
        MeanPlan<T>(request, maps_of(request.out, 0, 1), request.in[2].dims[0],
                    {2, 3, RoiOperands::kNoLevels}, 0, "RoiAlignGrad"));
  });
}

std::unique_ptr<Kernel> prepare_multilevel(const KernelRequest& request) {
  return dispatch<Floats>(request.out[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<MeanKernel<T>>(
        MeanPlan<T>(request, maps_of(request.in, 3, request.in.size() - 3), request.in[0].dims[0],
                    {0, 1, 2}, 3, "MultilevelRoiAlign"));
  });
}

std::unique_ptr<Kernel> prepare_multilevel_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<MeanGradKernel<T>>(
        MeanPlan<T>(request, maps_of(request.out, 0, request.out.size()), request.in[1].dims[0],
                    {1, 2, 3}, 0, "MultilevelRoiAlignGrad"));
  });
}

}  // namespace lockstep
