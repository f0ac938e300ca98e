// SPDX-License-Identifier: Apache-2.0
// Comparison of the attributes of two nodes, which may belong to different graphs.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// An attribute that differs. The text of a missing attribute is "".
struct AttributeChange {
  std::string name;
  std::string a, b;
};

// Compares every attribute, except the node's replica. The order of attributes does not count.
bool same_attributes(const Node& a, const Node& b);
// The attributes that differ, in the order of a's, then of b's. Their texts differ, too.
std::vector<AttributeChange> attribute_changes(const Node& a, const Node& b);

}  // namespace lockstep
