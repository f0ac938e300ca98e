// SPDX-License-Identifier: Apache-2.0
#include "operators/function/entries.h"
#include "operators/kit/dispatch.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 4096;

// Applies a formula to elements [begin, end), with parameters a and b.
template <class T>
using Stretch = void (*)(const KernelArgs& args, int64_t begin, int64_t end, T a, T b);

template <class T>
std::unique_ptr<Kernel> elements_kernel(const KernelRequest& request,
                                        const FunctionParameters& parameters, Stretch<T> run) {
  return make_kernel([run, a = static_cast<T>(parameters.a), b = static_cast<T>(parameters.b),
                      count = request.out[0].count(),
                      threads = request.threads](const KernelArgs& args) {
    parallel_for(count, kGrain, threads,
                 [&](int64_t begin, int64_t end) { run(args, begin, end, a, b); });
  });
}

struct Prepare {
  template <class Formula>
  static std::unique_ptr<Kernel> value(const KernelRequest& request) {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return elements_kernel<T>(request, parameters_of(request),
                                [](const KernelArgs& args, int64_t begin, int64_t end, T a, T b) {
                                  const T* x = args.in[0].as<T>();
                                  T* y = args.out[0].as<T>();
                                  for (int64_t i = begin; i < end; ++i)
                                    y[i] = Formula::value(x[i], a, b);
                                });
    });
  }

  // dy * slope(x, a, b)
  template <class Formula>
  static std::unique_ptr<Kernel> slope(const KernelRequest& request) {
    return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
      return elements_kernel<T>(request, parameters_of_gradient(request),
                                [](const KernelArgs& args, int64_t begin, int64_t end, T a, T b) {
                                  const T* dy = args.in[0].as<T>();
                                  const T* x = args.in[1].as<T>();
                                  T* dx = args.out[0].as<T>();
                                  for (int64_t i = begin; i < end; ++i)
                                    dx[i] = dy[i] * Formula::slope(x[i], a, b);
                                });
    });
  }
};

}  // namespace

std::vector<KernelEntry> function_cpu() { return formula_kernels<Prepare>("CPU"); }

}  // namespace lockstep
