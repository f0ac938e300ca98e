// SPDX-License-Identifier: Apache-2.0
// One node's kernel on tensors whose layout is given, on the emulated GPU or on the CPU.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep::testing {

// The node's results, row-major. Operands and results of three dimensions or more lie channels last
// in memory if asked; they are the last part of memory that nobody else has.
struct NodeRun {
  DeviceKind kind = DeviceKind::gpu;
  bool channels_last = true;
  bool results_only = false;            // operands are row-major
  std::optional<Layouts> layouts = {};  // instead: of each operand and result

  std::vector<Literal> results(const Node& node, const std::vector<Literal>& operands) const;
  // What the chosen kernel says of itself.
  std::string description(const Node& node) const;
};

// Values of float32 as numbers of a type.
Literal numbers(DType type, const Dims& dims, const std::vector<float>& values);

}  // namespace lockstep::testing
