// SPDX-License-Identifier: Apache-2.0
// PyTorch's exporters write EmbeddingBag as a loop over bags: iteration i reduces the rows from
// offsets[i] to offsets[i + 1]. The number of bags and their sizes are data, so such a loop cannot
// be unrolled. It is computed for all bags at once instead: a mask says which rows belong to which
// bag.
#pragma once

#include "graph/flow/importer.h"

namespace lockstep {

// Adds the results of a Loop to the graph if each iteration reduces rows between positions, and no
// iteration needs the results of another. Returns false, and binds nothing, for other loops.
bool add_bag_loop(FlowImporter& importer, const onnx::NodeProto& node, FlowImporter::Scope& scope);

}  // namespace lockstep
