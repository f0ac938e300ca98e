// SPDX-License-Identifier: Apache-2.0
// A hint that a node of a GPU replica should run on the host's CPU. Hints change where a node runs,
// not its result (placement.h). A plan for CPUs ignores them.
#pragma once

#include <string>
#include <utility>

#include "lockstep/attributes.h"
#include "lockstep/graph.h"

namespace lockstep {

std::pair<std::string, AttributeValue> on_host_attribute();
bool asks_for_host(const Node& node);

}  // namespace lockstep
