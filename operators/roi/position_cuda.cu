// SPDX-License-Identifier: Apache-2.0
// Position-sensitive pooling. One thread adds all RoIs to a plane of the map's gradient, in
// order, so that every run computes the same bits.
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/roi/position.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

// RoIs and their images. Coordinates are float32 or float64.
struct PositionRois {
  const void* boxes;
  bool wide;
  const int64_t* images;
  Fault* fault;

  PositionRois(const KernelArgs& args, std::size_t first)
      : boxes(args.in[first].data),
        wide(args.in[first].desc.dtype == DType::float64),
        images(args.in[first + 1].as<const int64_t>()),
        fault(args.fault) {}

  template <class T>
  __device__ PositionBin bin(const PositionProblem& p, int64_t roi, int64_t i, int64_t j) const {
    return wide ? p.bin<T>(static_cast<const double*>(boxes) + 4 * roi, i, j)
                : p.bin<T>(static_cast<const float*>(boxes) + 4 * roi, i, j);
  }
  // The image of a RoI, or -1 with a fault if there is no such image.
  __device__ int64_t image(const PositionProblem& p, int64_t roi) const {
    if (images[roi] >= 0 && images[roi] < p.images) return images[roi];
    raise(fault, images[roi], roi);
    return -1;
  }
};

ExplainFault outside_of_images(int64_t images) {
  return [images](const Fault& fault) {
    return join("image ", fault.value, " of RoI ", fault.place, " is outside 0..", images - 1);
  };
}

// An element of y.
template <class T>
struct PoolPosition {
  PositionProblem p;
  PositionRois rois;
  const T* x;
  T* y;
  __device__ void operator()(int64_t element) const {
    const int64_t j = element % p.grid, i = element / p.grid % p.grid;
    const int64_t c = element / p.grid / p.grid % p.channels;
    const int64_t roi = element / p.grid / p.grid / p.channels;
    const int64_t image = rois.image(p, roi);
    if (image < 0) return;
    const PositionBin bin = rois.bin<T>(p, roi, i, j);
    const T* const plane = x + p.plane_of(image, c, i, j);
    T total = 0;
    bin.each([&](int64_t cell) { total += plane[cell]; });
    y[element] = bin.cells() > 0 ? total / static_cast<T>(bin.cells()) : T(0);
  }
};

// A plane of dx.
template <class T>
struct SpreadPosition {
  PositionProblem p;
  PositionRois rois;
  const T* dy;
  T* dx;
  __device__ void operator()(int64_t plane) const {
    const int64_t j = plane % p.grid, i = plane / p.grid % p.grid;
    const int64_t c = plane / p.grid / p.grid % p.channels;
    const int64_t of = plane / p.grid / p.grid / p.channels;
    T* const to = dx + plane * p.plane();
    for (int64_t roi = 0; roi < p.rois; ++roi) {
      if (rois.image(p, roi) != of) continue;
      const PositionBin bin = rois.bin<T>(p, roi, i, j);
      if (bin.cells() == 0) continue;
      const T each =
          dy[((roi * p.channels + c) * p.grid + i) * p.grid + j] / static_cast<T>(bin.cells());
      bin.each([&](int64_t cell) { to[cell] += each; });
    }
  }
};

std::unique_ptr<Kernel> gpu_position(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    const PositionProblem p(request.attributes(), request.in[0].dims, request.in[1].dims[0]);
    return make_kernel(
        [p, count = request.out[0].count()](const KernelArgs& args) {
          for_elements(args, count,
                       PoolPosition<T>{p, PositionRois(args, 1), args.in[0].as<const T>(),
                                       args.out[0].as<T>()});
        },
        "", 0, outside_of_images(p.images));
  });
}

std::unique_ptr<Kernel> gpu_position_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    const PositionProblem p(request.attributes(), request.out[0].dims, request.in[2].dims[0]);
    return make_kernel(
        [p, bytes = request.out[0].bytes()](const KernelArgs& args) {
          check_cuda(cudaMemsetAsync(args.out[0].data, 0, bytes, stream_of(args)), "zeros");
          for_elements(args, p.images * p.channels * p.grid * p.grid,
                       SpreadPosition<T>{p, PositionRois(args, 2), args.in[0].as<const T>(),
                                         args.out[0].as<T>()});
        },
        "", 0, outside_of_images(p.images));
  });
}

}  // namespace

std::vector<KernelEntry> roi_cuda() {
  const Refusal forward = every({takes<Floats>(0), takes<Floats>(1)});
  const Refusal backward = every({takes<Floats>(0), takes<Floats>(2)});
  return {{"PSRoIPool", kOwnDomain, {{"GPU", forward, gpu_position}}},
          {"PSRoIPoolGrad", kOwnDomain, {{"GPU", backward, gpu_position_grad}}}};
}

}  // namespace lockstep
