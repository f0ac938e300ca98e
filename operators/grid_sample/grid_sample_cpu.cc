// SPDX-License-Identifier: Apache-2.0
// A thread computes whole points of y and of the grid's gradient, and whole planes of the data's
// gradient, to which it adds the points in order. Results do not depend on the number of threads.
#include <algorithm>

#include "operators/grid_sample/grid_sample.h"
#include "operators/kit/dispatch.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kPointGrain = 64;

// The corners of a point, with weights.
template <class T>
struct Corners {
  static constexpr int kMost = 64;  // 4 taps along each of 3 axes
  int count = 0;
  int64_t offset[kMost];
  T weight[kMost];

  Corners(const GridProblem& p, const T* grid, int64_t point) {
    GridTaps<T> taps[kMostGridAxes];
    p.find_taps(grid, point, taps);
    for_each_corner(taps, p.size, p.axes, [&](const GridCorner& corner) {
      offset[count] = corner.offset;
      weight[count++] = corner.weight(taps, p.axes);
    });
  }
};

// The first element of a channel of the image of a point.
int64_t plane_of(const GridProblem& p, int64_t point, int64_t channel) {
  return (point / p.points * p.channels + channel) * p.plane;
}
int64_t place_of(const GridProblem& p, int64_t point, int64_t channel) {
  return (point / p.points * p.channels + channel) * p.points + point % p.points;
}

template <class T>
void sample(const GridProblem& p, int threads, const T* x, const T* grid, T* y) {
  parallel_for(p.images * p.points, kPointGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t point = begin; point < end; ++point) {
      const Corners<T> corners(p, grid, point);
      for (int64_t c = 0; c < p.channels; ++c) {
        const T* plane = x + plane_of(p, point, c);
        T total = 0;
        for (int k = 0; k < corners.count; ++k)
          total += corners.weight[k] * plane[corners.offset[k]];
        y[place_of(p, point, c)] = total;
      }
    }
  });
}

template <class T>
void spread(const GridProblem& p, int threads, const T* dy, const T* grid, T* dx) {
  parallel_for(p.images * p.channels, 1, threads, [&](int64_t begin, int64_t end) {
    std::fill(dx + begin * p.plane, dx + end * p.plane, T(0));
    for (int64_t next = begin; begin < end; begin = next) {  // the planes of one image
      const int64_t image = begin / p.channels;
      next = std::min(end, (image + 1) * p.channels);
      for (int64_t i = 0; i < p.points; ++i) {
        const Corners<T> corners(p, grid, image * p.points + i);
        for (int64_t plane = begin; plane < next; ++plane)
          for (int k = 0; k < corners.count; ++k)
            dx[plane * p.plane + corners.offset[k]] += corners.weight[k] * dy[plane * p.points + i];
      }
    }
  });
}

template <class T>
void slopes(const GridProblem& p, int threads, const T* dy, const T* x, const T* grid, T* dgrid) {
  parallel_for(p.images * p.points, kPointGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t point = begin; point < end; ++point) {
      GridTaps<T> taps[kMostGridAxes];
      p.find_taps(grid, point, taps);
      T* const to = dgrid + point * p.axes;
      std::fill_n(to, p.axes, T(0));
      for_each_corner(taps, p.size, p.axes, [&](const GridCorner& corner) {
        T total = 0;
        for (int64_t c = 0; c < p.channels; ++c)
          total += x[plane_of(p, point, c) + corner.offset] * dy[place_of(p, point, c)];
        for (int d = 0; d < p.axes; ++d)
          to[p.axes - 1 - d] += total * corner.slope(taps, p.axes, d);
      });
    }
  });
}

std::unique_ptr<Kernel> prepare_sample(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = GridProblem(request.attributes(), request.in[0].dims, request.in[1].dims),
         threads = request.threads](const KernelArgs& args) {
          sample(p, threads, args.in[0].as<T>(), args.in[1].as<T>(), args.out[0].as<T>());
        });
  });
}

std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = GridProblem(request.attributes(), request.out[0].dims, request.in[2].dims),
         threads = request.threads](const KernelArgs& args) {
          spread(p, threads, args.in[0].as<T>(), args.in[2].as<T>(), args.out[0].as<T>());
        });
  });
}

std::unique_ptr<Kernel> prepare_grad_grid(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = GridProblem(request.attributes(), request.in[1].dims, request.in[2].dims),
         threads = request.threads](const KernelArgs& args) {
          slopes(p, threads, args.in[0].as<T>(), args.in[1].as<T>(), args.in[2].as<T>(),
                 args.out[0].as<T>());
        });
  });
}

}  // namespace

std::vector<KernelEntry> grid_sample_cpu() {
  const Refusal forward = every({takes<Floats>(), takes_grid_like_data(1)});
  const Refusal gradient = every({takes<Floats>(), takes_grid_like_data(2)});
  return {{"GridSample", "", {{"CPU", forward, prepare_sample}}},
          {"GridSample", kOwnDomain, {{"CPU", forward, prepare_sample}}},
          {"GridSampleGradX", kOwnDomain, {{"CPU", gradient, prepare_grad_x}}},
          {"GridSampleGradGrid", kOwnDomain, {{"CPU", gradient, prepare_grad_grid}}}};
}

}  // namespace lockstep
