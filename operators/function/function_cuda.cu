// SPDX-License-Identifier: Apache-2.0
#include "operators/function/entries.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

template <class T, class Formula>
struct Value {
  const T* x;
  T* y;
  T a, b;
  __device__ void operator()(int64_t i) const { y[i] = Formula::value(x[i], a, b); }
};
template <class T, class Formula>
struct Slope {
  const T *dy, *x;
  T* dx;
  T a, b;
  __device__ void operator()(int64_t i) const { dx[i] = dy[i] * Formula::slope(x[i], a, b); }
};

using LaunchFunction = void (*)(const KernelArgs& args, int64_t count,
                                const FunctionParameters& parameters);
std::unique_ptr<Kernel> function_kernel(const KernelRequest& request,
                                        const FunctionParameters& parameters,
                                        LaunchFunction launch) {
  return make_kernel([parameters, launch, count = request.out[0].count()](const KernelArgs& args) {
    launch(args, count, parameters);
  });
}

struct Prepare {
  template <class Formula>
  static std::unique_ptr<Kernel> value(const KernelRequest& request) {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return function_kernel(
          request, parameters_of(request),
          [](const KernelArgs& args, int64_t count, const FunctionParameters& p) {
            for_elements(args, count,
                         Value<T, Formula>{args.in[0].as<const T>(), args.out[0].as<T>(),
                                           static_cast<T>(p.a), static_cast<T>(p.b)});
          });
    });
  }

  template <class Formula>
  static std::unique_ptr<Kernel> slope(const KernelRequest& request) {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return function_kernel(
          request, parameters_of_gradient(request),
          [](const KernelArgs& args, int64_t count, const FunctionParameters& p) {
            for_elements(
                args, count,
                Slope<T, Formula>{args.in[0].as<const T>(), args.in[1].as<const T>(),
                                  args.out[0].as<T>(), static_cast<T>(p.a), static_cast<T>(p.b)});
          });
    });
  }
};

}  // namespace

std::vector<KernelEntry> function_cuda() { return formula_kernels<Prepare>("GPU"); }

}  // namespace lockstep
