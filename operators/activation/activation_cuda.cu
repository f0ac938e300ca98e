// SPDX-License-Identifier: Apache-2.0
#include "operators/activation/activation.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

// Relu(NaN) is NaN, because NaN < 0 is false.
struct Relu {
  template <class T>
  __device__ T operator()(T x) const {
    return x < 0 ? T(0) : x;
  }
};
struct Sigmoid {
  template <class T>
  __device__ T operator()(T x) const {
    return 1 / (1 + ::exp(-x));
  }
};
struct Tanh {
  template <class T>
  __device__ T operator()(T x) const {
    return ::tanh(x);
  }
};
struct ReluGrad {
  template <class T>
  __device__ T operator()(T dy, T y) const {
    return y > 0 ? dy : T(0);
  }
};
struct SigmoidGrad {
  template <class T>
  __device__ T operator()(T dy, T y) const {
    return dy * y * (1 - y);
  }
};
struct TanhGrad {
  template <class T>
  __device__ T operator()(T dy, T y) const {
    return dy * (1 - y * y);
  }
};

template <class F>
std::unique_ptr<Kernel> unary(const KernelRequest& request) {
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class T>() {
    return map_one<DeviceType<T>, DeviceType<T>>(request, F());
  });
}
template <class F>
std::unique_ptr<Kernel> binary(const KernelRequest& request) {
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class T>() {
    return map_two<DeviceType<T>, DeviceType<T>>(request, F());
  });
}

}  // namespace

std::vector<KernelEntry> activation_cuda() {
  return {{"Relu", "", {{"GPU", takes<AllFloats>(), unary<Relu>, flat}}},
          {"Sigmoid", "", {{"GPU", takes<AllFloats>(), unary<Sigmoid>, flat}}},
          {"Tanh", "", {{"GPU", takes<AllFloats>(), unary<Tanh>, flat}}},
          {"ReluGrad", kOwnDomain, {{"GPU", takes<AllFloats>(), binary<ReluGrad>, flat}}},
          {"SigmoidGrad", kOwnDomain, {{"GPU", takes<AllFloats>(), binary<SigmoidGrad>, flat}}},
          {"TanhGrad", kOwnDomain, {{"GPU", takes<AllFloats>(), binary<TanhGrad>, flat}}}};
}

}  // namespace lockstep
