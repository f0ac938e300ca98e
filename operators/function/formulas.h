// SPDX-License-Identifier: Apache-2.0
// Functions of one element and their derivatives, with parameters a and b, for float and double.
// All devices share them.
#pragma once

#include <cmath>

namespace lockstep {

struct LeakyRelu {
  template <class T>
  static constexpr T value(T x, T a, T) {
    return x < 0 ? a * x : x;
  }
  template <class T>
  static constexpr T slope(T x, T a, T) {
    return x < 0 ? a : T(1);
  }
};

struct Elu {
  template <class T>
  static constexpr T value(T x, T a, T) {
    return x < 0 ? a * std::expm1(x) : x;
  }
  template <class T>
  static constexpr T slope(T x, T a, T) {
    return x < 0 ? a * std::exp(x) : T(1);
  }
};

struct Celu {
  template <class T>
  static constexpr T value(T x, T a, T) {
    return x < 0 ? a * std::expm1(x / a) : x;
  }
  template <class T>
  static constexpr T slope(T x, T a, T) {
    return x < 0 ? std::exp(x / a) : T(1);
  }
};

struct Selu {
  template <class T>
  static constexpr T value(T x, T a, T gamma) {
    return gamma * (x < 0 ? a * std::expm1(x) : x);
  }
  template <class T>
  static constexpr T slope(T x, T a, T gamma) {
    return x < 0 ? gamma * a * std::exp(x) : gamma;
  }
};

struct HardSigmoid {
  template <class T>
  static constexpr T value(T x, T a, T b) {
    return std::fmax(T(0), std::fmin(T(1), a * x + b));
  }
  template <class T>
  static constexpr T slope(T x, T a, T b) {
    return a * x + b > 0 && a * x + b < 1 ? a : T(0);
  }
};

struct HardSwish {
  template <class T>
  static constexpr T value(T x, T, T) {
    return x * std::fmax(T(0), std::fmin(T(1), x / 6 + T(0.5)));
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return x <= -3 ? T(0) : x >= 3 ? T(1) : x / 3 + T(0.5);
  }
};

struct Softplus {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::fmax(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / (1 + std::exp(-x));
  }
};

struct Softsign {
  template <class T>
  static constexpr T value(T x, T, T) {
    return x / (1 + std::abs(x));
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
  }
};

struct ThresholdedRelu {
  template <class T>
  static constexpr T value(T x, T a, T) {
    return x > a ? x : T(0);
  }
  template <class T>
  static constexpr T slope(T x, T a, T) {
    return T(x > a);
  }
};

struct Shrink {
  template <class T>
  static constexpr T value(T x, T lambda, T bias) {
    return x < -lambda ? x + bias : x > lambda ? x - bias : T(0);
  }
  template <class T>
  static constexpr T slope(T x, T lambda, T) {
    return T(x < -lambda || x > lambda);
  }
};

struct Erf {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::erf(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return T(M_2_SQRTPI) * std::exp(-x * x);
  }
};

struct Sin {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::sin(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return std::cos(x);
  }
};

struct Cos {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::cos(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return -std::sin(x);
  }
};

struct Tan {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::tan(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 + std::tan(x) * std::tan(x);
  }
};

struct Asin {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::asin(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / std::sqrt(1 - x * x);
  }
};

struct Acos {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::acos(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return -1 / std::sqrt(1 - x * x);
  }
};

struct Atan {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::atan(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / (1 + x * x);
  }
};

struct Sinh {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::sinh(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return std::cosh(x);
  }
};

struct Cosh {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::cosh(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return std::sinh(x);
  }
};

struct Asinh {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::asinh(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / std::sqrt(x * x + 1);
  }
};

struct Acosh {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::acosh(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / std::sqrt(x * x - 1);
  }
};

struct Atanh {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::atanh(x);
  }
  template <class T>
  static constexpr T slope(T x, T, T) {
    return 1 / (1 - x * x);
  }
};

// Step functions have slope zero and pass no gradient.
struct Ceil {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::ceil(x);
  }
};

struct Floor {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::floor(x);
  }
};

// Rounds halves to even, as the default rounding mode does.
struct Round {
  template <class T>
  static constexpr T value(T x, T, T) {
    return std::nearbyint(x);
  }
};

// Calls visit.operator()<Formula>(type) for each formula.
template <class Visit>
void for_each_formula(const Visit& visit) {
  visit.template operator()<LeakyRelu>("LeakyRelu");
  visit.template operator()<Elu>("Elu");
  visit.template operator()<Celu>("Celu");
  visit.template operator()<Selu>("Selu");
  visit.template operator()<HardSigmoid>("HardSigmoid");
  visit.template operator()<HardSwish>("HardSwish");
  visit.template operator()<Softplus>("Softplus");
  visit.template operator()<Softsign>("Softsign");
  visit.template operator()<ThresholdedRelu>("ThresholdedRelu");
  visit.template operator()<Shrink>("Shrink");
  visit.template operator()<Erf>("Erf");
  visit.template operator()<Sin>("Sin");
  visit.template operator()<Cos>("Cos");
  visit.template operator()<Tan>("Tan");
  visit.template operator()<Asin>("Asin");
  visit.template operator()<Acos>("Acos");
  visit.template operator()<Atan>("Atan");
  visit.template operator()<Sinh>("Sinh");
  visit.template operator()<Cosh>("Cosh");
  visit.template operator()<Asinh>("Asinh");
  visit.template operator()<Acosh>("Acosh");
  visit.template operator()<Atanh>("Atanh");
  visit.template operator()<Ceil>("Ceil");
  visit.template operator()<Floor>("Floor");
  visit.template operator()<Round>("Round");
}

// True if a gradient passes through the formula.
template <class Formula>
inline constexpr bool has_slope = requires {
  Formula::slope(0.0F, 0.0F, 0.0F);
};

}  // namespace lockstep
