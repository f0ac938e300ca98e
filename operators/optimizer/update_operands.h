// SPDX-License-Identifier: Apache-2.0
// The indices of an update operator's operands and results.
#pragma once

#include <cstddef>

namespace lockstep {

// operands                                                       results
//   one    gradient, slots.., rate, param, number, unless           step, slots.., param
//   many   slots.., params, -.., gradients, rate, number, unless    slots.., params, copies..
//
// "many" lists each slot of all parameters before the next slot. `k` is the parameter's index, `c`
// the copy's index. "-": an operand is omitted for each copy, since result i may alias operand i.
struct UpdatePlaces {
  static UpdatePlaces of_one(std::size_t slots) { return {slots, 1, false}; }
  static UpdatePlaces of_many(std::size_t slots, std::size_t params, std::size_t copies = 0) {
    return {slots, params, true, copies};
  }

  std::size_t slots, params;
  bool many;
  std::size_t copies = 0;

  std::size_t gradient(std::size_t k = 0) const { return many ? new_copy(copies) + k : 0; }
  std::size_t slot(std::size_t s, std::size_t k = 0) const { return many ? s * params + k : 1 + s; }
  std::size_t param(std::size_t k = 0) const { return many ? slots * params + k : slots + 2; }
  std::size_t rate() const { return many ? gradient(params) : slots + 1; }
  std::size_t number() const { return many ? rate() + 1 : rate() + 2; }
  std::size_t unless() const { return number() + 1; }

  static constexpr std::size_t kStep = 0;  // for one parameter
  std::size_t new_slot(std::size_t s, std::size_t k = 0) const { return slot(s, k); }
  std::size_t new_param(std::size_t k = 0) const { return many ? param(k) : slots + 1; }
  std::size_t new_copy(std::size_t c) const { return (slots + 1) * params + c; }
};

}  // namespace lockstep
