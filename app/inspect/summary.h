// SPDX-License-Identifier: Apache-2.0
// The page that `lockstep inspect` prints about a model.
#pragma once

#include <string>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"
#include "app/model_source.h"

namespace lockstep {

// Figures of each replica, operators by kind, the largest nodes and states, then inputs and
// results. `all`: every node and state instead of the twenty largest.
std::string summary_of(const SourcedModel& source, const ModelFigures& figures,
                       const LookedAt& planned, bool all);

}  // namespace lockstep
