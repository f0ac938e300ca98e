// SPDX-License-Identifier: Apache-2.0
// Momentum SGD for one element: v' = mu v + rate g. The parameter loses v', or with Nesterov's
// look-ahead (1 + mu) v' - mu v.
#pragma once

#include "operators/optimizer/update.h"

namespace lockstep {

struct MomentumRule {
  static constexpr const char* kType = "MomentumSGDUpdate";
  static constexpr int kSlots = 1;
  static constexpr int kFlops = 4;
  static constexpr bool kDecouplesDecay = false;
  float momentum = 0;
  bool nesterov = false;

  static UpdateSignature signature() {
    return {
        .doc = "v' = momentum * v + rate * g; param' = param - v'",
        .slots = {"momentum"},
        .number = {"correction", "T", Arity::optional},
        .attributes = {{"momentum", AttributeKind::number}, {"nesterov", AttributeKind::integer}}};
  }
  static MomentumRule read(AttributeReader reader) {
    return {reader.number("momentum", 0), reader.integer("nesterov", 0) != 0};
  }
  Attributes attributes() const {
    Attributes written{{"momentum", momentum}};
    if (nesterov) written.push_back({"nesterov", int64_t{1}});
    return written;
  }

  // The momentum includes the rate. If the rate jumps, the old momentum is multiplied by
  // `correction`.
  template <class T>
  struct Given {
    T rate, correction;
  };
  template <class T>
  constexpr Given<T> given(T rate, const T* correction) const {
    return {rate, correction ? *correction : T(1)};
  }

  // A skipped step also sees the rate's jump: it only corrects the momentum.
  template <class T>
  constexpr T step(const Given<T>& given, T gradient, T* slots, bool skipped) const {
    const T old = given.correction * slots[0];
    const T fresh = momentum * old + given.rate * gradient;
    slots[0] = skipped ? old : fresh;
    return nesterov ? (1 + momentum) * fresh - momentum * old : fresh;
  }
};

}  // namespace lockstep
