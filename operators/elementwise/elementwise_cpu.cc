#include <cmath>
#include <cstring>

#include "operators/broadcast.h"
#include "operators/dispatch.h"
#include "operators/elementwise/elementwise.h"
#include "operators/layout/layout.h"
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
    return dispatch<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t,
                    uint64_t>(request.in[0].dtype,
                              [&]<class T>() { return broadcast_kernel<T, T>(request, f); });
  };
}

template <class F>
KernelFactory comparison(F f) {
  return [f](const KernelRequest& request) {
    return dispatch<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t,
                    uint64_t, bool>(
        request.in[0].dtype, [&]<class T>() { return broadcast_kernel<T, bool>(request, f); });
  };
}

template <class F>
KernelFactory function(F f) {
  return [f](const KernelRequest& request) {
    return dispatch<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t,
                    uint64_t>(request.in[0].dtype, [&]<class T>() {
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

// Folds any number of operands left to right, so bits do not depend on threads or aliases; the
// result is divided by `divisor` at the end (Mean).
template <class T, class Fold>
std::unique_ptr<Kernel> variadic_kernel(const KernelRequest& request, Fold fold, T divisor) {
  std::vector<Broadcast<1>> walks;
  bool same = true;
  for (const TensorDesc& in : request.in) {
    walks.emplace_back(request.out[0].dims, std::array<Dims, 1>{in.dims});
    same = same && in.dims == request.out[0].dims;
  }
  const int64_t count = request.out[0].count();
  return make_kernel([=, threads = request.threads](const KernelArgs& args) {
    T* y = args.out[0].as<T>();
    if (same) {
      parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T total = args.in[0].as<T>()[i];
          for (std::size_t k = 1; k < args.in.size(); ++k)
            total = fold(total, args.in[k].as<T>()[i]);
          y[i] = divisor == T(1) ? total : total / divisor;
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
        total = k == 0 ? term : fold(total, term);
      }
      y[i] = divisor == T(1) ? total : total / divisor;
    }
  });
}

template <class Fold>
KernelFactory variadic(Fold fold, bool mean = false) {
  return [fold, mean](const KernelRequest& request) {
    return dispatch<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t,
                    uint64_t>(request.out[0].dtype, [&]<class T>() {
      return variadic_kernel<T>(request, fold,
                                mean ? static_cast<T>(request.in.size()) : static_cast<T>(1));
    });
  };
}

// A function of bool, or a test of a float.
template <class F>
KernelFactory predicate(F f) {
  return [f](const KernelRequest& request) {
    return dispatch<float, double, bool>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([f, count = request.out[0].count()](const KernelArgs& args) {
        const T* x = args.in[0].as<T>();
        for (int64_t i = 0; i < count; ++i) args.out[0].as<bool>()[i] = f(x[i]);
      });
    });
  };
}

std::unique_ptr<Kernel> prepare_is_inf(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool up = attributes.integer("detect_positive", 1) != 0;
  const bool down = attributes.integer("detect_negative", 1) != 0;
  return predicate([up, down](auto x) { return std::isinf(x) && (x > 0 ? up : down); })(request);
}

// The base may be of another type than the exponent; the result is of the base's.
std::unique_ptr<Kernel> prepare_pow(const KernelRequest& request) {
  Broadcast<2> walk(request.out[0].dims, {request.in[0].dims, request.in[1].dims});
  return dispatch<float, double, int32_t, int64_t>(request.in[0].dtype, [&]<class A>() {
    return dispatch<float, double, int32_t, int64_t, uint32_t, uint64_t>(
        request.in[1].dtype, [&]<class B>() {
          return make_kernel([walk](const KernelArgs& args) {
            for (int64_t row = 0; row < walk.rows; ++row) {
              auto at = walk.at(row);
              for (int64_t i = 0; i < walk.row_length; ++i)
                args.out[0].as<A>()[row * walk.row_length + i] =
                    static_cast<A>(std::pow(args.in[0].as<A>()[at[0] + i * walk.step[0]],
                                            args.in[1].as<B>()[at[1] + i * walk.step[1]]));
            }
          });
        });
  });
}

// fmod = 1: the sign of the dividend, as C; else that of the divisor, as Python.
struct Modulo {
  bool c_like;
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      T rest = std::fmod(a, b);
      return !c_like && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (b == 0) return 0;
      T rest = static_cast<T>(a % b);
      return !c_like && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};

std::unique_ptr<Kernel> prepare_mod(const KernelRequest& request) {
  auto attributes = request.attributes();
  return arithmetic(Modulo{attributes.integer("fmod", 0) != 0})(request);
}

std::unique_ptr<Kernel> prepare_bit_shift(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool left = attributes.text("direction", "") == "LEFT";
  return dispatch<uint8_t, uint16_t, uint32_t, uint64_t>(request.in[0].dtype, [&]<class T>() {
    return broadcast_kernel<T, T>(request, [left](T a, T b) {
      if (b >= 8 * sizeof(T)) return T(0);
      return static_cast<T>(left ? a << b : a >> b);
    });
  });
}

std::unique_ptr<Kernel> prepare_where(const KernelRequest& request) {
  Broadcast<3> walk(request.out[0].dims,
                    {request.in[0].dims, request.in[1].dims, request.in[2].dims});
  return dispatch<float, double, int32_t, int64_t, uint8_t, bool>(
      request.in[1].dtype, [&]<class T>() {
        return make_kernel([walk](const KernelArgs& args) {
          for (int64_t row = 0; row < walk.rows; ++row) {
            auto at = walk.at(row);
            const bool* condition = args.in[0].as<bool>() + at[0];
            const T* a = args.in[1].as<T>() + at[1];
            const T* b = args.in[2].as<T>() + at[2];
            T* y = args.out[0].as<T>() + row * walk.row_length;
            for (int64_t i = 0; i < walk.row_length; ++i)
              y[i] = condition[i * walk.step[0]] ? a[i * walk.step[1]] : b[i * walk.step[2]];
          }
        });
      });
}

// Bounds are operands since opset 11, each optional.
std::unique_ptr<Kernel> prepare_clip(const KernelRequest& request) {
  const bool low = request.in.size() > 1 && request.in[1].present();
  const bool high = request.in.size() > 2 && request.in[2].present();
  return dispatch<float, double, int32_t, int64_t, int8_t, uint8_t>(
      request.in[0].dtype, [&]<class T>() {
        return make_kernel([low, high, count = request.out[0].count()](const KernelArgs& args) {
          for (int64_t i = 0; i < count; ++i) {
            T x = args.in[0].as<T>()[i];
            if (low && x < *args.in[1].as<T>()) x = *args.in[1].as<T>();
            if (high && x > *args.in[2].as<T>()) x = *args.in[2].as<T>();
            args.out[0].as<T>()[i] = x;
          }
        });
      });
}

// 16-bit floats go through float.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return static_cast<To>(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

template <class From, class To>
std::unique_ptr<Kernel> cast_kernel(const KernelRequest& request) {
  return make_kernel(
      [count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        const From* x = args.in[0].as<From>();
        To* y = args.out[0].as<To>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] = converted<To>(x[i]);
        });
      });
}

std::unique_ptr<Kernel> prepare_cast(const KernelRequest& request) {
  return dispatch<float, double, int32_t, int64_t, uint8_t, int8_t, bool, Half, BFloat16>(
      request.in[0].dtype, [&]<class From>() {
        return dispatch<float, double, int32_t, int64_t, uint8_t, int8_t, bool, Half, BFloat16>(
            request.out[0].dtype, [&]<class To>() { return cast_kernel<From, To>(request); });
      });
}

}  // namespace

std::vector<KernelEntry> elementwise_cpu() {
  return {
      {"Add", "", arithmetic([](auto a, auto b) { return a + b; }), flat},
      {"Sub", "", arithmetic([](auto a, auto b) { return a - b; }), flat},
      {"Mul", "", arithmetic([](auto a, auto b) { return a * b; }), flat},
      {"Div", "", arithmetic(Divide()), flat},
      {"Pow", "", prepare_pow},
      {"Sum", "", variadic([](auto a, auto b) { return static_cast<decltype(a)>(a + b); }), flat},
      {"Mean", "", variadic([](auto a, auto b) { return static_cast<decltype(a)>(a + b); }, true)},
      {"Max", "", variadic([](auto a, auto b) { return b > a || b != b ? b : a; })},
      {"Min", "", variadic([](auto a, auto b) { return b < a || b != b ? b : a; })},
      {"PRelu", "", arithmetic([](auto x, auto slope) {
         return x < 0 ? static_cast<decltype(x)>(slope * x) : x;
       })},
      {"Mod", "", prepare_mod},
      {"BitShift", "", prepare_bit_shift},
      {"Where", "", prepare_where},
      {"Clip", "", prepare_clip, flat},
      {"GreaterOrEqual", "", comparison([](auto a, auto b) { return a >= b; })},
      {"LessOrEqual", "", comparison([](auto a, auto b) { return a <= b; })},
      {"And", "", comparison([](auto a, auto b) { return a && b; })},
      {"Or", "", comparison([](auto a, auto b) { return a || b; })},
      {"Xor", "", comparison([](auto a, auto b) { return (a != 0) != (b != 0); })},
      {"Not", "", predicate([](auto x) { return !x; })},
      {"IsNaN", "", predicate([](auto x) { return std::isnan(x); })},
      {"IsInf", "", prepare_is_inf},
      {"CastLike", "", prepare_cast},
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
