// SPDX-License-Identifier: Apache-2.0
// Runs one node's kernel on tensors with given layouts, on the emulated GPU or on the CPU.
#pragma once

#include <optional>
#include <vector>

#include "lockstep/kernel.h"

namespace lockstep::testing {

// Returns the node's results in row-major order. On request, operands and results of three or more
// dimensions are channels-last. Each tensor is at the end of a private allocation.
struct NodeRun {
  DeviceKind kind = DeviceKind::gpu;
  bool channels_last = true;
  bool results_only = false;            // operands are row-major
  std::optional<Layouts> layouts = {};  // per operand and result; replaces the flags

  std::vector<Literal> results(const Node& node, const std::vector<Literal>& operands) const;
  // The description that the chosen kernel returns.
  std::string description(const Node& node) const;
};

// Converts values of float32 to a type.
Literal numbers(DType type, const Dims& dims, const std::vector<float>& values);

}  // namespace lockstep::testing
