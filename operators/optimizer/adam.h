// SPDX-License-Identifier: Apache-2.0
// Adam for one element, as in torch.optim.Adam: m' = b1 m + (1 - b1) g and v' = b2 v + (1 - b2)
// g^2; the parameter loses rate * m^ / (sqrt(v^) + epsilon), with m^ = m' / (1 - b1^t) and v^ = v'
// / (1 - b2^t) in the t-th update.
#pragma once

#include <cmath>

#include "operators/optimizer/update.h"

namespace lockstep {

struct AdamRule {
  static constexpr const char* kType = "AdamUpdate";
  static constexpr int kSlots = 2;
  static constexpr int kFlops = 14;
  static constexpr bool kDecouplesDecay = false;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;

  static UpdateSignature signature() {
    return {.doc =
                "m' = beta1 * m + (1 - beta1) * g; v' = beta2 * v + (1 - beta2) * g^2; "
                "param' = param - rate * m^ / (sqrt(v^) + epsilon)",
            .slots = {"first_moment", "second_moment"},
            .number = {"update", "T", Arity::optional},
            .attributes = {{"beta1", AttributeKind::number},
                           {"beta2", AttributeKind::number},
                           {"epsilon", AttributeKind::number}}};
  }
  static AdamRule read(AttributeReader reader) {
    return {reader.number("beta1", 0.9F), reader.number("beta2", 0.999F),
            reader.number("epsilon", 1e-8F)};
  }
  Attributes attributes() const {
    return {{"beta1", beta1}, {"beta2", beta2}, {"epsilon", epsilon}};
  }

  // The rate and the bias corrections. The moments start at zero; share1 and share2 are the
  // fractions of the moments that come from gradients.
  template <class T>
  struct Given {
    T rate, share1, share2;
  };
  // `update` is the number of the update, from 1; the first if omitted.
  template <class T>
  constexpr Given<T> given(T rate, const T* update) const {
    const T t = update ? *update : T(1);
    return {rate, -std::expm1(t * std::log(beta1)), -std::expm1(t * std::log(beta2))};
  }

  template <class T>
  constexpr T step(const Given<T>& given, T gradient, T* slots, bool skipped) const {
    const T first = beta1 * slots[0] + (1 - beta1) * gradient;
    const T second = beta2 * slots[1] + (1 - beta2) * gradient * gradient;
    slots[0] = skipped ? slots[0] : first;
    slots[1] = skipped ? slots[1] : second;
    return given.rate * (first / given.share1) / (std::sqrt(second / given.share2) + epsilon);
  }
};

}  // namespace lockstep
