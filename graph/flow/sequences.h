// SPDX-License-Identifier: Apache-2.0
// Operators on sequences and optionals whose positions are constant. Their results are sequences
// while the file is read, and tensors of the graph.
#pragma once

#include <string>
#include <vector>

#include "graph/flow/flow_value.h"
#include "graph/opset/newer_node.h"

namespace lockstep {

// Names of the operators: SequenceAt, Optional, ..
bool is_of_sequences(const std::string& type);

// Returns the result of `node`. Its operands are in `inputs`; `node` itself names operands that are
// tensors, and omits others. A tensor gets the name of the node's output.
FlowValue of_sequences(NewerNode& node, const std::vector<FlowValue>& inputs);

// Returns the tensors of a sequence; adds nodes for the parts of a split.
std::vector<Value> parts_of(NewerNode& node, const Sequence& sequence);

// Returns the tensors joined along `axis`, a new axis if `stacked`, under the name of the node's
// output number `output`.
Value joined_parts(NewerNode& node, const std::vector<Value>& parts, int64_t axis, bool stacked,
                   int output = 0);

}  // namespace lockstep
