// SPDX-License-Identifier: Apache-2.0
// The activations of recurrent cells: formulas of one element, and the activations of a node.
#pragma once

#include <cmath>

#include "operators/function/formulas.h"
#include "operators/kit/exponential.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {

// The activations that formulas.h lacks. The default activations, Sigmoid and Tanh, are
// branch-free.
namespace activation {

struct Sigmoid {
  static constexpr float value(float x, float, float) {
    const float e = exp_of_minus(x < 0 ? -x : x), share = 1 / (1 + e);
    return x < 0 ? e * share : share;
  }
  static constexpr float slope(float x, float, float) {
    const float y = value(x, 0, 0);
    return y * (1 - y);
  }
};

struct Tanh {
  static constexpr float value(float x, float, float) {
    const float e = exp_of_minus(2 * (x < 0 ? -x : x)), size = (1 - e) / (1 + e);
    return x < 0 ? -size : size;
  }
  static constexpr float slope(float x, float, float) {
    const float y = value(x, 0, 0);
    return 1 - y * y;
  }
};

struct ScaledTanh {
  template <class T>
  static constexpr T value(T x, T a, T b) {
    return a * std::tanh(b * x);
  }
  template <class T>
  static constexpr T slope(T x, T a, T b) {
    const T y = std::tanh(b * x);
    return a * b * (1 - y * y);
  }
};

struct Relu {
  static constexpr float value(float x, float, float) { return x < 0 ? 0 : x; }
  static constexpr float slope(float x, float, float) { return x > 0 ? 1 : 0; }
};

struct Affine {
  static constexpr float value(float x, float a, float b) { return a * x + b; }
  static constexpr float slope(float, float a, float) { return a; }
};

}  // namespace activation

enum class ActivationKind {
  affine,
  elu,
  hard_sigmoid,
  leaky_relu,
  relu,
  scaled_tanh,
  sigmoid,
  softplus,
  softsign,
  tanh,
  thresholded_relu,
};

struct RecurrentActivation {
  ActivationKind kind = ActivationKind::sigmoid;
  float a = 0, b = 0;
  float clip = 0;  // limit of the argument
};

// The activations of all directions, one direction after the other. Throws for an unknown
// activation.
std::vector<RecurrentActivation> recurrent_activations(Cell cell, const RecurrentAttrs& attrs);

// Calls visit.operator()<Formula>() for the formula of `kind`.
template <class Visit>
void with_formula(ActivationKind kind, const Visit& visit) {
  switch (kind) {
    case ActivationKind::affine:
      return visit.template operator()<activation::Affine>();
    case ActivationKind::elu:
      return visit.template operator()<Elu>();
    case ActivationKind::hard_sigmoid:
      return visit.template operator()<HardSigmoid>();
    case ActivationKind::leaky_relu:
      return visit.template operator()<LeakyRelu>();
    case ActivationKind::relu:
      return visit.template operator()<activation::Relu>();
    case ActivationKind::scaled_tanh:
      return visit.template operator()<activation::ScaledTanh>();
    case ActivationKind::sigmoid:
      return visit.template operator()<activation::Sigmoid>();
    case ActivationKind::softplus:
      return visit.template operator()<Softplus>();
    case ActivationKind::softsign:
      return visit.template operator()<Softsign>();
    case ActivationKind::tanh:
      return visit.template operator()<activation::Tanh>();
    case ActivationKind::thresholded_relu:
      return visit.template operator()<ThresholdedRelu>();
  }
}

}  // namespace lockstep
