// SPDX-License-Identifier: Apache-2.0
// Position-sensitive pooling. One thread processes an output channel and visits RoIs in order, so
// sums do not depend on the number of threads.
#include "operators/kit/dispatch.h"
#include "operators/roi/kernels.h"
#include "operators/roi/place.h"
#include "operators/roi/position.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kPositionGrain = 8;  // output channels

// A box in the element type of the features.
template <class T>
struct PositionBox {
  T edges[4];

  PositionBox(const Tensor& boxes, int64_t roi) {
    for (int64_t i = 0; i < 4; ++i)
      edges[i] = boxes.desc.dtype == DType::float64
                     ? static_cast<T>(boxes.as<double>()[4 * roi + i])
                     : static_cast<T>(boxes.as<float>()[4 * roi + i]);
  }
};

// Calls visit(bin, offset of its plane, offset in y) for the bins of channels begin to end.
template <class T, class Visit>
void each_bin(const PositionProblem& p, const Tensor& boxes, const Tensor& images, int64_t begin,
              int64_t end, const Visit& visit) {
  const auto* image = images.as<int64_t>();
  for (int64_t r = 0; r < p.rois; ++r) {
    const PositionBox<T> box(boxes, r);
    for (int64_t i = 0; i < p.grid; ++i)
      for (int64_t j = 0; j < p.grid; ++j) {
        const PositionBin bin = p.bin<T>(box.edges, i, j);
        for (int64_t c = begin; c < end; ++c)
          visit(bin, p.plane_of(image[r], c, i, j),
                ((r * p.channels + c) * p.grid + i) * p.grid + j);
      }
  }
}

void check_images(const PositionProblem& p, const Tensor& images, const char* op) {
  for (int64_t r = 0; r < p.rois; ++r) checked_image(images.as<int64_t>()[r], p.images, r, op);
}

}  // namespace

std::unique_ptr<Kernel> prepare_position(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = PositionProblem(request.attributes(), request.in[0].dims, request.in[1].dims[0]),
         threads = request.threads](const KernelArgs& args) {
          check_images(p, args.in[2], "PSRoIPool");
          const T* x = args.in[0].as<T>();
          T* y = args.out[0].as<T>();
          parallel_for(p.channels, kPositionGrain, threads, [&](int64_t begin, int64_t end) {
            each_bin<T>(p, args.in[1], args.in[2], begin, end,
                        [&](const PositionBin& bin, int64_t from, int64_t to) {
                          T total = 0;
                          bin.each([&](int64_t cell) { total += x[from + cell]; });
                          const int64_t cells = bin.cells();
                          y[to] = cells > 0 ? total / static_cast<T>(cells) : T(0);
                        });
          });
        });
  });
}

std::unique_ptr<Kernel> prepare_position_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [p = PositionProblem(request.attributes(), request.out[0].dims, request.in[2].dims[0]),
         threads = request.threads](const KernelArgs& args) {
          check_images(p, args.in[3], "PSRoIPoolGrad");
          const T* dy = args.in[0].as<T>();
          T* dx = args.out[0].as<T>();
          const int64_t of_channel = p.grid * p.grid * p.plane();
          parallel_for(p.channels, kPositionGrain, threads, [&](int64_t begin, int64_t end) {
            for (int64_t image = 0; image < p.images; ++image)
              std::fill_n(dx + p.plane_of(image, begin, 0, 0), (end - begin) * of_channel, T(0));
            each_bin<T>(p, args.in[2], args.in[3], begin, end,
                        [&](const PositionBin& bin, int64_t to, int64_t from) {
                          const int64_t cells = bin.cells();
                          if (cells == 0) return;
                          const T each = dy[from] / static_cast<T>(cells);
                          bin.each([&](int64_t cell) { dx[to + cell] += each; });
                        });
          });
        });
  });
}

}  // namespace lockstep
