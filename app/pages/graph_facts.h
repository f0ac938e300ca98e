// SPDX-License-Identifier: Apache-2.0
// The figures of a whole graph in a few words, as its page begins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"

namespace lockstep {

struct GraphFacts {
  std::vector<std::pair<std::string, std::string>> rows;  // of replica 0
  std::vector<std::string> notes;                         // sentences
};
GraphFacts graph_facts(const TrainingModel& model, const ModelFigures& figures,
                       const LookedAt& planned);

}  // namespace lockstep
