// SPDX-License-Identifier: Apache-2.0
// y = f(a, b) over broadcast shapes, on a GPU.
#pragma once

#include "operators/kit/elements_cuda.h"

namespace lockstep {

template <class A, class B, class Y, class F>
struct BroadcastTwo {
  Walk<2> walk;
  const A* a;
  const B* b;
  Y* y;
  F f;
  __device__ void operator()(int64_t i) const {
    int64_t at[2];
    walk.at(i, at);
    y[i] = stored<Y>(f(computed(a[at[0]]), computed(b[at[1]])));
  }
};

using LaunchWalk = void (*)(const KernelArgs& args, int64_t count, const Walk<2>& walk);
inline std::unique_ptr<Kernel> walking_kernel(const KernelRequest& request, LaunchWalk launch) {
  const Walk<2> walk(Broadcast<2>(request.out[0].dims, {request.in[0].dims, request.in[1].dims}));
  return make_kernel([launch, walk, count = request.out[0].count()](const KernelArgs& args) {
    launch(args, count, walk);
  });
}

template <class A, class B, class Y, class F>
std::unique_ptr<Kernel> kernel_of_two(const KernelRequest& request) {
  return walking_kernel(request, [](const KernelArgs& args, int64_t count, const Walk<2>& walk) {
    for_elements(args, count,
                 BroadcastTwo<A, B, Y, F>{walk, args.in[0].as<const A>(), args.in[1].as<const B>(),
                                          args.out[0].as<Y>(), F()});
  });
}

// A kernel for operands of one element type.
template <class X, class Y, class F>
std::unique_ptr<Kernel> broadcast_kernel(const KernelRequest& request) {
  check(request.in[0].dtype == request.in[1].dtype, "operands are ", request.in[0].dtype, " and ",
        request.in[1].dtype, "; cast one");
  const Dims& out = request.out[0].dims;
  if constexpr (is_tensor_float<X>)
    if (request.in[0].dims == out && request.in[1].dims == out) return map_two<X, Y>(request, F());
  return kernel_of_two<X, X, Y, F>(request);
}

}  // namespace lockstep
