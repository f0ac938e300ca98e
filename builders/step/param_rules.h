// SPDX-License-Identifier: Apache-2.0
// The rules of parameter classes as nodes (ParamRules in lockstep/data_parallel.h).
#pragma once

#include "lockstep/data_parallel.h"

namespace lockstep {

// The decay of the class alone, and of a parameter by its name.
float decay_of(const ParamRules& rules, StateKind kind);
float decay_of(const ParamRules& rules, StateKind kind, const std::string& name);
// The factor of a parameter's learning rate.
float rate_factor_of(const ParamRules& rules, const std::string& name);
// Throws for a pattern that matches none of the parameters.
void check_patterns_used(const ParamRules& rules, const std::vector<std::string>& params);
// The gradient times the factor of its class.
Value scaled_gradient(Graph& graph, const ParamRules& rules, StateKind kind, Value param,
                      Value gradient);

}  // namespace lockstep
