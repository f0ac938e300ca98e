// SPDX-License-Identifier: Apache-2.0
// One thread adds all points to a plane of the data's gradient, in order, so that every run
// computes the same bits.
#include "operators/grid_sample/grid_sample.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

// An element of y.
template <class T>
struct SampleGrid {
  GridProblem p;
  const T *x, *grid;
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t plane = i / p.points;
    GridTaps<T> taps[kMostGridAxes];
    p.find_taps(grid, plane / p.channels * p.points + i % p.points, taps);
    T total = 0;
    for_each_corner(taps, p.size, p.axes, [&](const GridCorner& corner) {
      total += corner.weight(taps, p.axes) * x[plane * p.plane + corner.offset];
    });
    y[i] = total;
  }
};

// A plane of dx.
template <class T>
struct SpreadGrid {
  GridProblem p;
  const T *dy, *grid;
  T* dx;
  __device__ void operator()(int64_t plane) const {
    T* const to = dx + plane * p.plane;
    for (int64_t i = 0; i < p.points; ++i) {
      GridTaps<T> taps[kMostGridAxes];
      p.find_taps(grid, plane / p.channels * p.points + i, taps);
      const T from = dy[plane * p.points + i];
      for_each_corner(taps, p.size, p.axes, [&](const GridCorner& corner) {
        to[corner.offset] += corner.weight(taps, p.axes) * from;
      });
    }
  }
};

// The coordinates of a point.
template <class T>
struct SlopesOfGrid {
  GridProblem p;
  const T *dy, *x, *grid;
  T* dgrid;
  __device__ void operator()(int64_t point) const {
    GridTaps<T> taps[kMostGridAxes];
    p.find_taps(grid, point, taps);
    T slopes[kMostGridAxes] = {};
    const int64_t first = point / p.points * p.channels;
    for_each_corner(taps, p.size, p.axes, [&](const GridCorner& corner) {
      T total = 0;
      for (int64_t c = 0; c < p.channels; ++c)
        total += x[(first + c) * p.plane + corner.offset] *
                 dy[(first + c) * p.points + point % p.points];
      for (int d = 0; d < p.axes; ++d) slopes[d] += total * corner.slope(taps, p.axes, d);
    });
    for (int d = 0; d < p.axes; ++d) dgrid[point * p.axes + p.axes - 1 - d] = slopes[d];
  }
};

std::unique_ptr<Kernel> gpu_sample(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = GridProblem(request.attributes(), request.in[0].dims, request.in[1].dims),
         count = request.out[0].count()](const KernelArgs& args) {
          for_elements(args, count,
                       SampleGrid<T>{p, args.in[0].as<const T>(), args.in[1].as<const T>(),
                                     args.out[0].as<T>()});
        });
  });
}

std::unique_ptr<Kernel> gpu_grad_x(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = GridProblem(request.attributes(), request.out[0].dims, request.in[2].dims),
         bytes = request.out[0].bytes()](const KernelArgs& args) {
          check_cuda(cudaMemsetAsync(args.out[0].data, 0, bytes, stream_of(args)), "zeros");
          for_elements(args, p.images * p.channels,
                       SpreadGrid<T>{p, args.in[0].as<const T>(), args.in[2].as<const T>(),
                                     args.out[0].as<T>()});
        });
  });
}

std::unique_ptr<Kernel> gpu_grad_grid(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([p = GridProblem(request.attributes(), request.in[1].dims,
                                        request.in[2].dims)](const KernelArgs& args) {
      for_elements(args, p.images * p.points,
                   SlopesOfGrid<T>{p, args.in[0].as<const T>(), args.in[1].as<const T>(),
                                   args.in[2].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> grid_sample_cuda() {
  const Refusal forward = every({takes<Floats>(), takes_grid_like_data(1)});
  const Refusal gradient = every({takes<Floats>(), takes_grid_like_data(2)});
  return {{"GridSample", "", {{"GPU", forward, gpu_sample}}},
          {"GridSample", kOwnDomain, {{"GPU", forward, gpu_sample}}},
          {"GridSampleGradX", kOwnDomain, {{"GPU", gradient, gpu_grad_x}}},
          {"GridSampleGradGrid", kOwnDomain, {{"GPU", gradient, gpu_grad_grid}}}};
}

}  // namespace lockstep
