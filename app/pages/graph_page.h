// SPDX-License-Identifier: Apache-2.0
// The page of a graph: `inspect --format html`. The nodes of the main graph with their figures, as
// compact JSON, and the scripts that fold, lay out and draw them.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"
#include "app/pages/node_times.h"

namespace lockstep {

struct GraphPage {
  std::string title = "";
  std::vector<std::string> devices = {};  // of replicas, then auxiliary ones
  std::optional<NodeTimes> times = {};    // measured
  std::string command = "";               // that writes the page
  int most_nodes = 400000;                // a browser shows more only slowly, if at all
};

// Throws for a graph with more nodes, and for times of other nodes than the graph's.
void write_graph_page(std::ostream& out, const SourcedModel& source, const ModelFigures& figures,
                      const LookedAt& planned, const GraphPage& page);

// The data alone. Lists of nodes and values have one array for each column. Texts, types and
// operations are in separate tables, since most repeat. A name is the texts of its scopes, from
// the outermost to the innermost, and its last part.
std::string graph_page_data(const SourcedModel& source, const ModelFigures& figures,
                            const LookedAt& planned, const GraphPage& page);

}  // namespace lockstep
