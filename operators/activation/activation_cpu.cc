#include <cmath>

#include "operators/activation/activation.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// y[i] = f(a[i]) or f(a[i], b[i]) for float and double.
template <class F>
Candidate unary(F f) {
  return {"CPU", takes<Floats>(),
          [f](const KernelRequest& request) {
            return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
              return make_kernel([f, count = request.out[0].count(),
                                  threads = request.threads](const KernelArgs& args) {
                const T* x = args.in[0].as<T>();
                T* y = args.out[0].as<T>();
                parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
                });
              });
            });
          },
          flat};
}

template <class F>
Candidate binary(F f) {
  return {"CPU", takes<Floats>(),
          [f](const KernelRequest& request) {
            return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
              return make_kernel([f, count = request.out[0].count(),
                                  threads = request.threads](const KernelArgs& args) {
                const T* dy = args.in[0].as<T>();
                const T* y = args.in[1].as<T>();
                T* dx = args.out[0].as<T>();
                parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) dx[i] = f(dy[i], y[i]);
                });
              });
            });
          },
          flat};
}

}  // namespace

std::vector<KernelEntry> activation_cpu() {
  // NaN stays NaN: its comparison is false.
  return {{"Relu", "", {unary([](auto x) { return x < 0 ? decltype(x)(0) : x; })}},
          {"Sigmoid", "", {unary([](auto x) { return 1 / (1 + std::exp(-x)); })}},
          {"Tanh", "", {unary([](auto x) { return std::tanh(x); })}},
          {"ReluGrad", kOwnDomain, {binary([](auto dy, auto y) {
             return y > 0 ? dy : decltype(dy)(0);
           })}},
          {"SigmoidGrad", kOwnDomain, {binary([](auto dy, auto y) { return dy * y * (1 - y); })}},
          {"TanhGrad", kOwnDomain, {binary([](auto dy, auto y) { return dy * (1 - y * y); })}}};
}

}  // namespace lockstep
