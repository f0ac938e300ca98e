#include "operators/activation/activation.h"
#include "operators/dispatch.h"
#include "operators/elements_cuda.h"

namespace lockstep {
namespace {

// NaN stays NaN: the comparison is written so that it fails for it.
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
  return dispatch<float, double>(request.in[0].dtype,
                                 [&]<class T>() { return map_one<T, T>(request, F()); });
}
template <class F>
std::unique_ptr<Kernel> binary(const KernelRequest& request) {
  return dispatch<float, double>(request.in[0].dtype,
                                 [&]<class T>() { return map_two<T, T>(request, F()); });
}

}  // namespace

std::vector<KernelEntry> activation_cuda() {
  return {{"Relu", "", unary<Relu>},
          {"Sigmoid", "", unary<Sigmoid>},
          {"Tanh", "", unary<Tanh>},
          {"ReluGrad", kOwnDomain, binary<ReluGrad>},
          {"SigmoidGrad", kOwnDomain, binary<SigmoidGrad>},
          {"TanhGrad", kOwnDomain, binary<TanhGrad>}};
}

}  // namespace lockstep
