#include <cmath>
#include <cstring>

#include "operators/broadcast.h"
#include "operators/dispatch.h"
#include "operators/elementwise/elementwise.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

template <class T, class R, class F>
void combine_row(const T* a, int64_t step_a, const T* b, int64_t step_b, R* y, int64_t begin,
                 int64_t end, F f) {
  if (step_a == 1 && step_b == 1) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(a[i], b[i]);
  } else if (step_a == 1) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(a[i], *b);
  } else if (step_b == 1) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(*a, b[i]);
  } else {
    for (int64_t i = begin; i < end; ++i) y[i] = f(*a, *b);
  }
}

struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

// Integer division by zero would end the process; an exception must not leave a parallel loop.
template <class T, class F>
void check_divisors(const KernelArgs& args) {
  if constexpr (std::is_same_v<F, Divide> && std::is_integral_v<T>) {
    const T* b = args.in[1].as<T>();
    for (int64_t i = 0; i < args.in[1].count(); ++i)
      if (b[i] == 0) fail("Div: an integer was divided by zero");
  }
}

// y = f(a, b) with elements of T in and of R out. A single long row is cut, many rows are shared.
template <class T, class R, class F>
std::unique_ptr<Kernel> broadcast_kernel(const KernelRequest& request, F f) {
  Broadcast<2> walk(request.out[0].dims, {request.in[0].dims, request.in[1].dims});
  return make_kernel([walk, f, threads = request.threads](const KernelArgs& args) {
    check_divisors<T, F>(args);
    const T* a = args.in[0].as<T>();
    const T* b = args.in[1].as<T>();
    R* y = args.out[0].as<R>();
    if (walk.rows == 1) {
      parallel_for(walk.row_length, kGrain, threads, [&](int64_t begin, int64_t end) {
        combine_row(a, walk.step[0], b, walk.step[1], y, begin, end, f);
      });
      return;
    }
    int64_t grain = std::max<int64_t>(1, kGrain / walk.row_length);
    parallel_for(walk.rows, grain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        auto at = walk.at(row);
        combine_row(a + at[0], walk.step[0], b + at[1], walk.step[1], y + row * walk.row_length, 0,
                    walk.row_length, f);
      }
    });
  });
}

template <class F>
KernelFactory arithmetic(F f) {
  return [f](const KernelRequest& request) {
    check(request.in[0].dtype == request.in[1].dtype, "operands are ", request.in[0].dtype, " and ",
          request.in[1].dtype, "; cast one");
    return dispatch<float, double, int32_t, int64_t>(
        request.in[0].dtype, [&]<class T>() { return broadcast_kernel<T, T>(request, f); });
  };
}

template <class F>
KernelFactory comparison(F f) {
  return [f](const KernelRequest& request) {
    return dispatch<float, double, int32_t, int64_t, uint8_t, bool>(
        request.in[0].dtype, [&]<class T>() { return broadcast_kernel<T, bool>(request, f); });
  };
}

template <class F>
KernelFactory function(F f) {
  return [f](const KernelRequest& request) {
    return dispatch<float, double, int32_t, int64_t>(request.in[0].dtype, [&]<class T>() {
      return make_kernel(
          [f, count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
            const T* x = args.in[0].as<T>();
            T* y = args.out[0].as<T>();
            parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(x[i]));
            });
          });
    });
  };
}

// Sum adds its operands left to right, so its bits do not depend on threads or aliases.
template <class T>
std::unique_ptr<Kernel> sum_kernel(const KernelRequest& request) {
  std::vector<Broadcast<1>> walks;
  for (const TensorDesc& in : request.in)
    walks.emplace_back(request.out[0].dims, std::array<Dims, 1>{in.dims});
  int64_t count = request.out[0].count();
  bool same = true;
  for (const TensorDesc& in : request.in) same = same && in.dims == request.out[0].dims;
  return make_kernel([walks, count, same, threads = request.threads](const KernelArgs& args) {
    T* y = args.out[0].as<T>();
    if (same) {
      parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T total = args.in[0].as<T>()[i];
          for (std::size_t k = 1; k < args.in.size(); ++k) total += args.in[k].as<T>()[i];
          y[i] = total;
        }
      });
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      T total{};
      for (std::size_t k = 0; k < walks.size(); ++k) {
        const auto& walk = walks[k];
        T term = args.in[k]
                     .as<T>()[walk.at(i / walk.row_length)[0] + i % walk.row_length * walk.step[0]];
        total = k == 0 ? term : total + term;
      }
      y[i] = total;
    }
  });
}

std::unique_ptr<Kernel> prepare_sum(const KernelRequest& request) {
  return dispatch<float, double, int32_t, int64_t>(
      request.out[0].dtype, [&]<class T>() { return sum_kernel<T>(request); });
}

template <class From, class To>
std::unique_ptr<Kernel> cast_kernel(const KernelRequest& request) {
  return make_kernel(
      [count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        const From* x = args.in[0].as<From>();
        To* y = args.out[0].as<To>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
        });
      });
}

std::unique_ptr<Kernel> prepare_cast(const KernelRequest& request) {
  return dispatch<float, double, int32_t, int64_t, uint8_t, int8_t, bool>(
      request.in[0].dtype, [&]<class From>() {
        return dispatch<float, double, int32_t, int64_t, uint8_t, int8_t, bool>(
            request.out[0].dtype, [&]<class To>() { return cast_kernel<From, To>(request); });
      });
}

}  // namespace

std::vector<KernelEntry> elementwise_cpu() {
  return {{"Add", "", arithmetic([](auto a, auto b) { return a + b; })},
          {"Sub", "", arithmetic([](auto a, auto b) { return a - b; })},
          {"Mul", "", arithmetic([](auto a, auto b) { return a * b; })},
          {"Div", "", arithmetic(Divide())},
          {"Pow", "",
           arithmetic([](auto a, auto b) { return static_cast<decltype(a)>(std::pow(a, b)); })},
          {"Sum", "", prepare_sum},
          {"Neg", "", function([](auto x) { return -x; })},
          {"Exp", "", function([](auto x) { return std::exp(x); })},
          {"Log", "", function([](auto x) { return std::log(x); })},
          {"Sqrt", "", function([](auto x) { return std::sqrt(x); })},
          {"Reciprocal", "", function([](auto x) { return 1.0 / x; })},
          {"Abs", "", function([](auto x) { return x < 0 ? -x : x; })},
          {"Sign", "", function([](auto x) { return (x > 0) - (x < 0); })},
          {"Equal", "", comparison([](auto a, auto b) { return a == b; })},
          {"Greater", "", comparison([](auto a, auto b) { return a > b; })},
          {"Less", "", comparison([](auto a, auto b) { return a < b; })},
          {"Cast", "", prepare_cast}};
}

}  // namespace lockstep
