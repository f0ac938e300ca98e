// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "operators/elementwise/bytes.h"
#include "operators/elementwise/casts.h"
#include "operators/elementwise/clip.h"
#include "operators/elementwise/elementwise.h"
#include "operators/elementwise/rows.h"
#include "operators/kit/broadcast.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/widest.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

using Arithmetic = Types<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t,
                         uint32_t, uint64_t, BFloat16>;
using Comparable = Types<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t,
                         uint32_t, uint64_t, bool>;
using Tested = Types<float, double, bool>;
using Exponents = Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
using Chosen = Types<float, double, int32_t, int64_t, uint8_t, bool>;
using Convertible = Types<float, double, int32_t, int64_t, uint8_t, int8_t, bool, Half, BFloat16>;

struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    return quotient(a, b);
  }
};

// Throws if an integer divisor is 0, which would crash the process.
template <class T>
void check_divisors(const Tensor& divisors) {
  const T* b = divisors.as<T>();
  for (int64_t i = 0; i < divisors.count(); ++i)
    if (b[i] == 0) fail("Div: an integer was divided by zero");
}

template <class F>
Candidate arithmetic(F, LayoutPreference wish = nullptr) {
  return {"CPU", takes<Arithmetic>(),
          [](const KernelRequest& request) {
            check(request.in[0].dtype == request.in[1].dtype, "operands are ", request.in[0].dtype,
                  " and ", request.in[1].dtype, "; cast one");
            return dispatch<Arithmetic>(request.in[0].dtype, [&]<class T>() {
              constexpr bool kChecks = std::is_same_v<F, Divide> && std::is_integral_v<T>;
              return combine_rows(request, row_of_two<T, T, T, F>,
                                  kChecks ? check_divisors<T> : nullptr);
            });
          },
          std::move(wish)};
}

template <class F>
Candidate comparison(F) {
  return {"CPU", takes<Comparable>(), [](const KernelRequest& request) {
            return dispatch<Comparable>(request.in[0].dtype, [&]<class T>() {
              return combine_rows(request, row_of_two<T, T, bool, F>);
            });
          }};
}

template <class F>
Candidate function(F) {
  return {"CPU", takes<Arithmetic>(), [](const KernelRequest& request) {
            return dispatch<Arithmetic>(request.in[0].dtype, [&]<class T>() {
              return map_rows(request, row_of_one<T, T, F>);
            });
          }};
}

// Folds any number of operands from left to right, so bits do not depend on threads or aliases. At
// the end the result is divided by `divisor` (Mean).
template <class T, class Fold>
std::unique_ptr<Kernel> variadic_kernel(const KernelRequest& request, Fold fold,
                                        Widened<T> divisor) {
  using C = Widened<T>;
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
        widest_for<T>([&] {
          if (args.in.size() == 2 && divisor == C(1)) {
            const T *a = args.in[0].as<T>(), *b = args.in[1].as<T>();
            for (int64_t i = begin; i < end; ++i)
              y[i] = static_cast<T>(fold(static_cast<C>(a[i]), static_cast<C>(b[i])));
            return;
          }
          for (int64_t i = begin; i < end; ++i) {
            C total = args.in[0].as<T>()[i];
            for (std::size_t k = 1; k < args.in.size(); ++k)
              total = fold(total, static_cast<C>(args.in[k].as<T>()[i]));
            y[i] = static_cast<T>(divisor == C(1) ? total : total / divisor);
          }
        });
      });
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      C total{};
      for (std::size_t k = 0; k < walks.size(); ++k) {
        const auto& walk = walks[k];
        const C term =
            args.in[k]
                .as<T>()[walk.at(i / walk.row_length)[0] + i % walk.row_length * walk.step[0]];
        total = k == 0 ? term : fold(total, term);
      }
      y[i] = static_cast<T>(divisor == C(1) ? total : total / divisor);
    }
  });
}

template <class Fold>
Candidate variadic(Fold fold, bool mean = false) {
  return {"CPU", takes<Arithmetic>(), [fold, mean](const KernelRequest& request) {
            return dispatch<Arithmetic>(request.out[0].dtype, [&]<class T>() {
              const std::size_t divisor = mean ? request.in.size() : 1;
              using C = Widened<T>;
              check(static_cast<double>(static_cast<C>(divisor)) == static_cast<double>(divisor),
                    "the mean of ", divisor, " operands is not supported for ",
                    request.out[0].dtype);
              return variadic_kernel<T>(request, fold, static_cast<C>(divisor));
            });
          }};
}

// A kernel for a function of bools or a test of floats.
template <class F>
Candidate predicate(F) {
  return {"CPU", takes<Tested>(), [](const KernelRequest& request) {
            return dispatch<Tested>(request.in[0].dtype, [&]<class T>() {
              return map_rows(request, row_of_one<T, bool, F>);
            });
          }};
}

std::unique_ptr<Kernel> prepare_is_inf(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool up = attributes.integer("detect_positive", 1) != 0;
  const bool down = attributes.integer("detect_negative", 1) != 0;
  if (up && down) return predicate([](auto x) { return std::isinf(x); }).prepare(request);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (up)
    return predicate([](auto x) { return static_cast<double>(x) == kInfinity; }).prepare(request);
  if (down)
    return predicate([](auto x) { return static_cast<double>(x) == -kInfinity; }).prepare(request);
  return predicate([](auto) { return false; }).prepare(request);
}

struct Power {
  template <class A, class B>
  auto operator()(A base, B exponent) const {
    return std::pow(base, exponent);
  }
};

// Base and exponent may differ in type; the result has the base's type.
std::unique_ptr<Kernel> prepare_pow(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype, [&]<class A>() {
    return dispatch<Exponents>(request.in[1].dtype, [&]<class B>() {
      return combine_rows(request, row_of_two<A, B, A, Power>);
    });
  });
}

// The result has the dividend's sign, as in C, if c_like, else the divisor's sign, as in Python.
template <bool c_like>
struct Modulo {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      T rest = std::fmod(a, b);
      return !c_like && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (b == 0) return 0;
      const T rest = remainder_of(a, b);
      return !c_like && rest != 0 && (rest < 0) != (b < 0) ? plus(rest, b) : rest;
    }
  }
};

std::unique_ptr<Kernel> prepare_mod(const KernelRequest& request) {
  auto attributes = request.attributes();
  return attributes.integer("fmod", 0) != 0 ? arithmetic(Modulo<true>()).prepare(request)
                                            : arithmetic(Modulo<false>()).prepare(request);
}

template <bool left>
struct Shift {
  template <class T>
  T operator()(T a, T b) const {
    if (b >= 8 * sizeof(T)) return T(0);
    return static_cast<T>(left ? a << b : a >> b);
  }
};

std::unique_ptr<Kernel> prepare_bit_shift(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool left = attributes.text("direction", "") == "LEFT";
  return dispatch<Unsigned>(request.in[0].dtype, [&]<class T>() {
    return combine_rows(
        request, left ? row_of_two<T, T, T, Shift<true>> : row_of_two<T, T, T, Shift<false>>);
  });
}

template <class T>
void chosen_row(RowOperand condition, RowOperand a, RowOperand b, void* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T*>(y)[i] = static_cast<const bool*>(condition.at)[i * condition.step]
                                ? static_cast<const T*>(a.at)[i * a.step]
                                : static_cast<const T*>(b.at)[i * b.step];
}

std::unique_ptr<Kernel> prepare_where(const KernelRequest& request) {
  return dispatch<Chosen>(request.in[1].dtype,
                          [&]<class T>() { return choose_rows(request, chosen_row<T>); });
}

// Converts types without C++ arithmetic, such as Half, through float.
template <class To>
struct Converted {
  template <class From>
  To operator()(From x) const {
    if constexpr (std::is_class_v<To>)
      return To(static_cast<float>(x));
    else if constexpr (std::is_class_v<From>)
      return converted<To>(static_cast<float>(x));
    else
      return converted<To>(x);
  }
};

std::unique_ptr<Kernel> prepare_cast(const KernelRequest& request) {
  return dispatch<Convertible>(request.in[0].dtype, [&]<class From>() {
    return dispatch<Convertible>(request.out[0].dtype, [&]<class To>() {
      return map_rows(request, row_of_one<From, To, Converted<To>>);
    });
  });
}

// A cast keeps blocks only if a Reorder supports both types; otherwise it is row-major.
Candidate casting(const Refusal& refuses) {
  Candidate candidate = keeping_zeros({"CPU", refuses, prepare_cast});
  candidate.wish = [in_blocks = candidate.wish](const KernelRequest& request) {
    const auto lies_in_blocks = [](const TensorDesc& tensor) {
      return tensor.dtype == DType::float32 || size_of(tensor.dtype) == 2;
    };
    return lies_in_blocks(request.in[0]) && lies_in_blocks(request.out[0]) ? in_blocks(request)
                                                                           : row_major(request);
  };
  return candidate;
}

}  // namespace

std::vector<KernelEntry> elementwise_cpu() {
  const Refusal casts = every({takes<Convertible>(), makes<Convertible>()});
  return {
      {"Add", "", {keeping_zeros(arithmetic([](auto a, auto b) { return plus(a, b); }))}},
      {"Sub", "", {keeping_zeros(arithmetic([](auto a, auto b) { return minus(a, b); }))}},
      {"Mul", "", {keeping_zeros(arithmetic([](auto a, auto b) { return times(a, b); }))}},
      {"Div", "", {arithmetic(Divide(), flat)}},
      {"Pow", "", {{"CPU", every({takes<Numbers>(), takes<Exponents>(1)}), prepare_pow}}},
      {"Sum", "", {keeping_zeros(variadic([](auto a, auto b) { return plus(a, b); }))}},
      {"Mean", "", {variadic([](auto a, auto b) { return plus(a, b); }, true)}},
      {"Max", "", {variadic([](auto a, auto b) { return b > a || b != b ? b : a; })}},
      {"Min", "", {variadic([](auto a, auto b) { return b < a || b != b ? b : a; })}},
      {"PRelu", "", {arithmetic([](auto x, auto slope) { return x < 0 ? times(slope, x) : x; })}},
      {"Mod", "", {{"CPU", takes<Arithmetic>(), prepare_mod}}},
      {"BitShift", "", {{"CPU", takes<Unsigned>(), prepare_bit_shift}}},
      {"Where", "", {{"CPU", takes<Chosen>(1), prepare_where}}},
      byte_table_cpu(),
      casts_cpu(),
      clip_cpu(),
      clip_grad_cpu(),
      {"GreaterOrEqual", "", {comparison([](auto a, auto b) { return a >= b; })}},
      {"LessOrEqual", "", {comparison([](auto a, auto b) { return a <= b; })}},
      {"And", "", {comparison([](auto a, auto b) { return a && b; })}},
      {"Or", "", {comparison([](auto a, auto b) { return a || b; })}},
      {"Xor", "", {comparison([](auto a, auto b) { return (a != 0) != (b != 0); })}},
      {"Not", "", {predicate([](auto x) { return !x; })}},
      {"IsNaN", "", {predicate([](auto x) { return std::isnan(x); })}},
      {"IsInf", "", {{"CPU", takes<Tested>(), prepare_is_inf}}},
      {"CastLike", "", {{"CPU", casts, prepare_cast}}},
      {"Neg", "", {function([](auto x) { return negative(x); })}},
      {"Exp", "", {function([](auto x) { return std::exp(x); })}},
      {"Log", "", {function([](auto x) { return std::log(x); })}},
      {"Sqrt", "", {function([](auto x) { return std::sqrt(x); })}},
      {"Reciprocal", "", {function([](auto x) { return 1.0 / x; })}},
      {"Abs", "", {function([](auto x) { return absolute(x); })}},
      {"Sign", "", {function([](auto x) { return (x > 0) - (x < 0); })}},
      {"Equal", "", {comparison([](auto a, auto b) { return a == b; })}},
      {"Greater", "", {comparison([](auto a, auto b) { return a > b; })}},
      {"Less", "", {comparison([](auto a, auto b) { return a < b; })}},
      {"Cast", "", {casting(casts)}}};
}

}  // namespace lockstep
