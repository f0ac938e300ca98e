// SPDX-License-Identifier: Apache-2.0
// RMSProp for one element, as in torch.optim.RMSprop: s' = alpha s + (1 - alpha) g^2 and v' =
// momentum v + g / (sqrt(s') + epsilon); the parameter loses rate * v'. The centred rule divides by
// the gradient's deviation: a' = alpha a + (1 - alpha) g, and s' - a'^2 replaces s'.
#pragma once

#include <cmath>

#include "operators/optimizer/update.h"

namespace lockstep {

template <bool kCentred>
struct RmsPropRule {
  static constexpr const char* kType = kCentred ? "CentredRMSPropUpdate" : "RMSPropUpdate";
  static constexpr int kSlots = kCentred ? 3 : 2;
  static constexpr int kFlops = kCentred ? 17 : 11;
  static constexpr bool kDecouplesDecay = false;
  float alpha = 0.99F, momentum = 0, epsilon = 1e-8F;

  static UpdateSignature signature() {
    UpdateSignature signature{
        .doc =
            "s' = alpha * s + (1 - alpha) * g^2; "
            "v' = momentum * v + g / (sqrt(s') + epsilon); param' = param - rate * v'",
        .slots = {"mean_square", "momentum"},
        .attributes = {{"alpha", AttributeKind::number},
                       {"momentum", AttributeKind::number},
                       {"epsilon", AttributeKind::number}}};
    if (kCentred) {
      signature.doc += "; a' = alpha * a + (1 - alpha) * g, and s' - a'^2 is under the root";
      signature.slots.emplace_back("mean");
    }
    return signature;
  }
  static RmsPropRule read(AttributeReader reader) {
    return {reader.number("alpha", 0.99F), reader.number("momentum", 0),
            reader.number("epsilon", 1e-8F)};
  }
  Attributes attributes() const {
    return {{"alpha", alpha}, {"momentum", momentum}, {"epsilon", epsilon}};
  }

  template <class T>
  struct Given {
    T rate;
  };
  template <class T>
  constexpr Given<T> given(T rate, const T*) const {
    return {rate};
  }

  template <class T>
  constexpr T step(const Given<T>& given, T gradient, T* slots, bool skipped) const {
    T fresh[kSlots] = {alpha * slots[0] + (1 - alpha) * gradient * gradient};
    T spread = fresh[0];
    if constexpr (kCentred) {
      fresh[2] = alpha * slots[2] + (1 - alpha) * gradient;
      spread -= fresh[2] * fresh[2];
      spread = spread < 0 ? T(0) : spread;  // rounding can make it negative; NaN stays NaN
    }
    fresh[1] = momentum * slots[1] + gradient / (std::sqrt(spread) + epsilon);
    for (int s = 0; s < kSlots; ++s) slots[s] = skipped ? slots[s] : fresh[s];
    return given.rate * fresh[1];
  }
};

}  // namespace lockstep
