// SPDX-License-Identifier: Apache-2.0
// Adagrad for one element, as in torch.optim.Adagrad: s' = s + g^2; the parameter loses rate_t * g
// / (sqrt(s') + epsilon), where rate_t = rate / (1 + (t - 1) rate_decay) in the t-th update.
#pragma once

#include <cmath>

#include "operators/optimizer/update.h"

namespace lockstep {

struct AdagradRule {
  static constexpr const char* kType = "AdagradUpdate";
  static constexpr int kSlots = 1;
  static constexpr int kFlops = 7;
  static constexpr bool kDecouplesDecay = false;
  float rate_decay = 0, epsilon = 1e-8F;

  static UpdateSignature signature() {
    return {
        .doc =
            "s' = s + g^2; param' = param - rate / (1 + (update - 1) * rate_decay) * g / "
            "(sqrt(s') + epsilon)",
        .slots = {"sum_of_squares"},
        .number = {"update", "T", Arity::optional},
        .attributes = {{"rate_decay", AttributeKind::number}, {"epsilon", AttributeKind::number}}};
  }
  static AdagradRule read(AttributeReader reader) {
    return {reader.number("rate_decay", 0), reader.number("epsilon", 1e-8F)};
  }
  Attributes attributes() const { return {{"rate_decay", rate_decay}, {"epsilon", epsilon}}; }

  template <class T>
  struct Given {
    T rate;
  };
  // The factors of an update. `update` is the number of the update, from 1; the first if omitted.
  template <class T>
  constexpr Given<T> given(T rate, const T* update) const {
    return {rate / (1 + (update ? *update - 1 : T(0)) * rate_decay)};
  }

  template <class T>
  constexpr T step(const Given<T>& given, T gradient, T* slots, bool skipped) const {
    const T sum = slots[0] + gradient * gradient;
    slots[0] = skipped ? slots[0] : sum;
    return given.rate * gradient / (std::sqrt(sum) + epsilon);
  }
};

}  // namespace lockstep
