#include <array>
#include <cmath>

#include "operators/dispatch.h"
#include "operators/function/function.h"
#include "operators/layout/layout.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 4096;

std::array<double, 2> parameters_of(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  std::array<double, 2> values{};
  std::size_t position = 0;
  for (const FunctionParameter& parameter : function_entry(request.node.type()).parameters)
    values[position++] = reader.number(parameter.name, parameter.fallback);
  return values;
}

// f(x, a, b) for float and double.
template <class F>
KernelFactory forward(F f) {
  return [f](const KernelRequest& request) {
    const auto [a, b] = parameters_of(request);
    return dispatch<float, double>(request.in[0].dtype, [&, a = a, b = b]<class T>() {
      return make_kernel([f, a = static_cast<T>(a), b = static_cast<T>(b),
                          count = request.out[0].count(),
                          threads = request.threads](const KernelArgs& args) {
        const T* x = args.in[0].as<T>();
        T* y = args.out[0].as<T>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] = f(x[i], a, b);
        });
      });
    });
  };
}

// dy * slope(x, a, b)
template <class F>
KernelFactory backward(F slope) {
  return [slope](const KernelRequest& request) {
    AttributeReader reader = request.attributes();
    const double a = reader.number("a", 0), b = reader.number("b", 0);
    return dispatch<float, double>(request.in[0].dtype, [&]<class T>() {
      return make_kernel([slope, a = static_cast<T>(a), b = static_cast<T>(b),
                          count = request.out[0].count(),
                          threads = request.threads](const KernelArgs& args) {
        const T* dy = args.in[0].as<T>();
        const T* x = args.in[1].as<T>();
        T* dx = args.out[0].as<T>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * slope(x[i], a, b);
        });
      });
    });
  };
}

// A function and its derivative, side by side.
struct Formula {
  const char* type;
  KernelFactory value;
  KernelFactory slope;
};

template <class F, class D>
Formula formula(const char* type, F f, D d) {
  return {type, forward(f), backward(d)};
}
template <class F>
Formula step(const char* type, F f) {
  return {type, forward(f), nullptr};
}

const std::vector<Formula>& formulas() {
  using std::exp;
  static const std::vector<Formula> all{
      formula(
          "LeakyRelu", [](auto x, auto a, auto) { return x < 0 ? a * x : x; },
          [](auto x, auto a, auto) { return x < 0 ? a : decltype(x)(1); }),
      formula(
          "Elu", [](auto x, auto a, auto) { return x < 0 ? a * std::expm1(x) : x; },
          [](auto x, auto a, auto) { return x < 0 ? a * exp(x) : decltype(x)(1); }),
      formula(
          "Celu", [](auto x, auto a, auto) { return x < 0 ? a * std::expm1(x / a) : x; },
          [](auto x, auto a, auto) { return x < 0 ? exp(x / a) : decltype(x)(1); }),
      formula(
          "Selu", [](auto x, auto a, auto g) { return g * (x < 0 ? a * std::expm1(x) : x); },
          [](auto x, auto a, auto g) { return x < 0 ? g * a * exp(x) : g; }),
      formula(
          "HardSigmoid",
          [](auto x, auto a, auto b) {
            return std::fmax(decltype(x)(0), std::fmin(decltype(x)(1), a * x + b));
          },
          [](auto x, auto a, auto b) {
            return a * x + b > 0 && a * x + b < 1 ? a : decltype(x)(0);
          }),
      formula(
          "HardSwish",
          [](auto x, auto, auto) {
            return x *
                   std::fmax(decltype(x)(0), std::fmin(decltype(x)(1), x / 6 + decltype(x)(0.5)));
          },
          [](auto x, auto, auto) {
            return x <= -3 ? decltype(x)(0) : x >= 3 ? decltype(x)(1) : x / 3 + decltype(x)(0.5);
          }),
      formula(
          "Softplus",
          [](auto x, auto, auto) {
            return std::fmax(x, decltype(x)(0)) + std::log1p(exp(-std::abs(x)));
          },
          [](auto x, auto, auto) { return 1 / (1 + exp(-x)); }),
      formula(
          "Softsign", [](auto x, auto, auto) { return x / (1 + std::abs(x)); },
          [](auto x, auto, auto) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }),
      formula(
          "ThresholdedRelu", [](auto x, auto a, auto) { return x > a ? x : decltype(x)(0); },
          [](auto x, auto a, auto) { return decltype(x)(x > a); }),
      formula(
          "Shrink",
          [](auto x, auto l, auto b) { return x < -l  ? x + b
                                              : x > l ? x - b
                                                      : decltype(x)(0); },
          [](auto x, auto l, auto) { return decltype(x)(x < -l || x > l); }),
      formula(
          "Erf", [](auto x, auto, auto) { return std::erf(x); },
          [](auto x, auto, auto) { return decltype(x)(M_2_SQRTPI) * exp(-x * x); }),
      formula(
          "Sin", [](auto x, auto, auto) { return std::sin(x); },
          [](auto x, auto, auto) { return std::cos(x); }),
      formula(
          "Cos", [](auto x, auto, auto) { return std::cos(x); },
          [](auto x, auto, auto) { return -std::sin(x); }),
      formula(
          "Tan", [](auto x, auto, auto) { return std::tan(x); },
          [](auto x, auto, auto) { return 1 + std::tan(x) * std::tan(x); }),
      formula(
          "Asin", [](auto x, auto, auto) { return std::asin(x); },
          [](auto x, auto, auto) { return 1 / std::sqrt(1 - x * x); }),
      formula(
          "Acos", [](auto x, auto, auto) { return std::acos(x); },
          [](auto x, auto, auto) { return -1 / std::sqrt(1 - x * x); }),
      formula(
          "Atan", [](auto x, auto, auto) { return std::atan(x); },
          [](auto x, auto, auto) { return 1 / (1 + x * x); }),
      formula(
          "Sinh", [](auto x, auto, auto) { return std::sinh(x); },
          [](auto x, auto, auto) { return std::cosh(x); }),
      formula(
          "Cosh", [](auto x, auto, auto) { return std::cosh(x); },
          [](auto x, auto, auto) { return std::sinh(x); }),
      formula(
          "Asinh", [](auto x, auto, auto) { return std::asinh(x); },
          [](auto x, auto, auto) { return 1 / std::sqrt(x * x + 1); }),
      formula(
          "Acosh", [](auto x, auto, auto) { return std::acosh(x); },
          [](auto x, auto, auto) { return 1 / std::sqrt(x * x - 1); }),
      formula(
          "Atanh", [](auto x, auto, auto) { return std::atanh(x); },
          [](auto x, auto, auto) { return 1 / (1 - x * x); }),
      step("Ceil", [](auto x, auto, auto) { return std::ceil(x); }),
      step("Floor", [](auto x, auto, auto) { return std::floor(x); }),
      // Halves go to the even neighbour, as the default rounding mode does.
      step("Round", [](auto x, auto, auto) { return std::nearbyint(x); })};
  return all;
}

std::unique_ptr<Kernel> prepare_gradient(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  const std::string function = reader.text("function", "");
  for (const Formula& formula : formulas())
    if (formula.type == function && formula.slope) return formula.slope(request);
  fail("FunctionGrad: no function '", function, "' has a gradient");
}

}  // namespace

std::vector<KernelEntry> function_cpu() {
  std::vector<KernelEntry> entries{{"FunctionGrad", kOwnDomain, prepare_gradient, flat}};
  for (const Formula& formula : formulas())
    entries.push_back({formula.type, "", formula.value, flat});
  return entries;
}

}  // namespace lockstep
