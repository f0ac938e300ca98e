// SPDX-License-Identifier: Apache-2.0
// A hint on a node of a replica on a GPU: the node would rather run on the host's CPU. Hints say
// where, not what (placement.h); a plan for CPUs has no use for them.
#pragma once

#include <string>
#include <utility>

#include "graph/attributes.h"
#include "graph/graph.h"

namespace lockstep {

std::pair<std::string, AttributeValue> on_host_attribute();
bool asks_for_host(const Node& node);

}  // namespace lockstep
