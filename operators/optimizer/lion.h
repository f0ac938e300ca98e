// SPDX-License-Identifier: Apache-2.0
// Lion for one element (Chen et al., 2023): the parameter loses rate * sign(b1 m + (1 - b1) g), and
// m' = b2 m + (1 - b2) g. The decay is decoupled, as in AdamW: rate * decay * param is subtracted,
// too.
#pragma once

#include "operators/optimizer/update.h"

namespace lockstep {

struct LionRule {
  static constexpr const char* kType = "LionUpdate";
  static constexpr int kSlots = 1;
  static constexpr int kFlops = 8;
  static constexpr bool kDecouplesDecay = true;
  float beta1 = 0.9F, beta2 = 0.99F;

  static UpdateSignature signature() {
    return {.doc =
                "param' = param - rate * sign(beta1 * m + (1 - beta1) * g) - rate * decay * param; "
                "m' = beta2 * m + (1 - beta2) * g",
            .slots = {"momentum"},
            .attributes = {{"beta1", AttributeKind::number}, {"beta2", AttributeKind::number}}};
  }
  static LionRule read(AttributeReader reader) {
    return {reader.number("beta1", 0.9F), reader.number("beta2", 0.99F)};
  }
  Attributes attributes() const { return {{"beta1", beta1}, {"beta2", beta2}}; }

  template <class T>
  struct Given {
    T rate;
  };
  template <class T>
  constexpr Given<T> given(T rate, const T*) const {
    return {rate};
  }

  // The sign of a NaN is 0, so the momentum alone shows a NaN in a gradient.
  template <class T>
  constexpr T step(const Given<T>& given, T gradient, T* slots, bool skipped) const {
    const T mixed = beta1 * slots[0] + (1 - beta1) * gradient;
    const T momentum = beta2 * slots[0] + (1 - beta2) * gradient;
    slots[0] = skipped ? slots[0] : momentum;
    return mixed > 0 ? given.rate : mixed < 0 ? -given.rate : T(0);
  }
};

}  // namespace lockstep
