// SPDX-License-Identifier: Apache-2.0
// What a policy thinks of observations: asked for by whoever plays, answered by whoever has the
// network.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

struct Predicted {
  std::span<const float> log_probabilities;  // [rows, actions]
  std::span<const float> values;             // [rows]: the return that is expected from here on
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  // `observations`: [rows, values], as many rows every time. The answer is valid until the next
  // call.
  virtual Predicted predict(std::span<const float> observations) = 0;
};

}  // namespace lockstep
