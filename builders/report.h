// What a replica reports of a step, however many parts its share of the batch goes through in.
#pragma once

#include <vector>

#include "builders/net.h"

namespace lockstep {

struct Report {
  std::vector<Value> losses, metrics;
};

// Under the current scope and replica. `parts` are the nets of the parts and losses[part] their
// losses as they are differentiated. A loss is the sum of its parts', times `share`; a metric is
// the mean of its parts', as float32.
Report report_of(Graph& graph, const std::vector<const Net*>& parts,
                 const std::vector<std::vector<Value>>& losses, float share);

}  // namespace lockstep
