// SPDX-License-Identifier: Apache-2.0
// The rules of parameter classes as nodes (ParamRules in lockstep/data_parallel.h).
#pragma once

#include "lockstep/data_parallel.h"

namespace lockstep {

float decay_of(const ParamRules& rules, StateKind kind);
// The gradient times the factor of its class.
Value scaled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                      Value gradient);

}  // namespace lockstep
