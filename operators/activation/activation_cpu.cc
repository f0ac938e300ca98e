// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "operators/activation/activation.h"
#include "operators/kit/compute_type.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/widest.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

using Activated = Types<float, double, BFloat16>;

// y[i] = f(a[i]) or f(a[i], b[i]).
template <class F>
Candidate unary(F f) {
  return {"CPU", takes<Activated>(),
          [f](const KernelRequest& request) {
            return dispatch<Activated>(request.in[0].dtype, [&]<class T>() {
              return make_kernel([f, count = request.out[0].count(),
                                  threads = request.threads](const KernelArgs& args) {
                const T* x = args.in[0].as<T>();
                T* y = args.out[0].as<T>();
                parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
                  widest_for<T>([=] {
                    for (int64_t i = begin; i < end; ++i)
                      y[i] = static_cast<T>(f(static_cast<Widened<T>>(x[i])));
                  });
                });
              });
            });
          },
          flat};
}

template <class F>
Candidate binary(F f) {
  return {"CPU", takes<Activated>(),
          [f](const KernelRequest& request) {
            return dispatch<Activated>(request.in[0].dtype, [&]<class T>() {
              return make_kernel([f, count = request.out[0].count(),
                                  threads = request.threads](const KernelArgs& args) {
                const T* dy = args.in[0].as<T>();
                const T* y = args.in[1].as<T>();
                T* dx = args.out[0].as<T>();
                parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
                  widest_for<T>([=] {
                    for (int64_t i = begin; i < end; ++i)
                      dx[i] = static_cast<T>(
                          f(static_cast<Widened<T>>(dy[i]), static_cast<Widened<T>>(y[i])));
                  });
                });
              });
            });
          },
          flat};
}

}  // namespace

std::vector<KernelEntry> activation_cpu() {
  // Relu(NaN) is NaN, because NaN < 0 is false.
  return {{"Relu", "", {keeping_zeros(unary([](auto x) { return x < 0 ? decltype(x)(0) : x; }))}},
          {"Sigmoid", "", {unary([](auto x) { return 1 / (1 + std::exp(-x)); })}},
          {"Tanh", "", {unary([](auto x) { return std::tanh(x); })}},
          {"ReluGrad",
           kOwnDomain,
           {keeping_zeros(binary([](auto dy, auto y) { return y > 0 ? dy : decltype(dy)(0); }))}},
          {"SigmoidGrad", kOwnDomain, {binary([](auto dy, auto y) { return dy * y * (1 - y); })}},
          {"TanhGrad", kOwnDomain, {binary([](auto dy, auto y) { return dy * (1 - y * y); })}}};
}

}  // namespace lockstep
