// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets in the tensors of a recurrent node; the same on every device.
#pragma once

#include "lockstep/kernel.h"
#include "operators/kit/operands.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {

// A row is an example at a step, in x's order. Kept results have the same order.
struct RecurrentSizes {
  Cell cell;
  bool batch_first;
  int64_t steps, batch, inputs, hidden, directions;

  RecurrentSizes(Cell cell, const RecurrentAttrs& attrs, const KernelRequest& request)
      : cell(cell), batch_first(attrs.batch_first), directions(attrs.directions()) {
    const Dims& x = request.in[RecurrentIn::x].dims;
    steps = x[batch_first ? 1 : 0];
    batch = x[batch_first ? 0 : 1];
    inputs = x[2];
    hidden = request.in[RecurrentIn::r].dims[2];
  }

  constexpr int64_t rows() const { return steps * batch; }
  constexpr int64_t sums() const { return gates_of(cell) * hidden; }  // of a row
  constexpr int64_t row(int64_t t, int64_t n) const {
    return batch_first ? n * steps + t : t * batch + n;
  }
  // The distance in rows between the examples of a step.
  constexpr int64_t row_stride() const { return batch_first ? steps : 1; }
  // The offsets of elements of y, and of a state.
  constexpr int64_t y_at(int64_t t, int64_t d, int64_t n) const {
    return (batch_first ? row(t, n) * directions + d : (t * directions + d) * batch + n) * hidden;
  }
  constexpr int64_t state_at(int64_t d, int64_t n) const {
    return (batch_first ? n * directions + d : d * batch + n) * hidden;
  }
};

// Direction d of an optional operand with `each` numbers per direction.
inline const float* of_direction(const KernelArgs& args, std::size_t i, int64_t d, int64_t each) {
  const float* all = operand<float>(args, i);
  return all ? all + d * each : nullptr;
}

inline std::string length_outside(int64_t example, int64_t length, int64_t steps) {
  return join("the sequence of example ", example, " has length ", length, ", should be in 0..",
              steps);
}

// The order of a direction's steps. A sequence of `length` has steps 0 to length - 1.
struct RecurrentOrder {
  bool reversed;
  int64_t steps;

  constexpr int64_t at(int64_t i) const { return reversed ? steps - 1 - i : i; }
  constexpr bool is_first(int64_t t, int64_t length) const {
    return t == (reversed ? length - 1 : 0);
  }
  constexpr int64_t before(int64_t t) const { return reversed ? t + 1 : t - 1; }
};

}  // namespace lockstep
