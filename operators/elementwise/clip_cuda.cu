// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/clip.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

// Pointers to device memory; either may be null.
template <class T>
struct ClipBounds {
  const T *low, *high;

  static ClipBounds of(const KernelArgs& args, std::size_t first) {
    const auto given = [&](std::size_t i) {
      return i < args.in.size() ? args.in[i].as<const T>() : nullptr;
    };
    return {given(first), given(first + 1)};
  }
};

template <class T>
struct Clipped {
  ClipBounds<T> bounds;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    T value = x[i];
    if (bounds.low && computed(value) < computed(*bounds.low)) value = *bounds.low;
    if (bounds.high && computed(value) > computed(*bounds.high)) value = *bounds.high;
    y[i] = value;
  }
};

template <class T>
struct ClippedGrad {
  ClipBounds<T> bounds;
  const T *dy, *x;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const auto value = computed(x[i]);
    const bool within = value == value && !(bounds.low && value < computed(*bounds.low)) &&
                        !(bounds.high && value > computed(*bounds.high));
    dx[i] = within ? dy[i] : stored<T>(Computed<T>(0));
  }
};

std::unique_ptr<Kernel> prepare_clip(const KernelRequest& request) {
  return dispatch<AllNumbers>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
      for_elements(
          args, count,
          Clipped<T>{ClipBounds<T>::of(args, 1), args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_clip_grad(const KernelRequest& request) {
  using In = ClipGradIn;
  return dispatch<AllFloats>(request.in[In::dy].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count,
                   ClippedGrad<T>{ClipBounds<T>::of(args, In::low), args.in[In::dy].as<const T>(),
                                  args.in[In::x].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

KernelEntry clip_cuda() { return {"Clip", "", {{"GPU", takes<AllNumbers>(), prepare_clip, flat}}}; }

KernelEntry clip_grad_cuda() {
  return {"ClipGrad", kOwnDomain, {{"GPU", takes<AllFloats>(), prepare_clip_grad, flat}}};
}

}  // namespace lockstep
