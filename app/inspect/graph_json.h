// SPDX-License-Identifier: Apache-2.0
// The document lockstep.graph/1: a model's step, or else its inference graph, with its figures.
// docs/schemas/graph-1.json describes it; a change that breaks readers gets another number.
#pragma once

#include <ostream>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"
#include "app/model_source.h"

namespace lockstep {

inline constexpr const char* kGraphSchema = "lockstep.graph/1";

void write_json(std::ostream& out, const SourcedModel& source, const ModelFigures& figures,
                const LookedAt& planned);

}  // namespace lockstep
