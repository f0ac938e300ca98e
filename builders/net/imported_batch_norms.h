// SPDX-License-Identifier: Apache-2.0
// The batch norms of a network from an ONNX file.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/model_files.h"

namespace lockstep {

bool is_batch_norm(const Node& node);

// A BatchNormalization whose running statistics are initializers. A node with computed statistics
// is no layer of this kind: timm's weight standardisation, for example, normalises a weight.
struct ImportedBatchNorm {
  int node = 0;  // index in the graph
  std::string name, scale, mean, variance;
  bool training = false;  // training_mode 1
};
std::vector<ImportedBatchNorm> batch_norms_of(const LoadedModel& file);

// True if a pattern matches the name of the node, of its scale or of its running mean.
bool is_named(const ImportedBatchNorm& norm, const std::vector<std::string>& patterns);
// Throws if a pattern other than * names no batch norm.
void check_names_batch_norms(const LoadedModel& file, const std::vector<std::string>& patterns);

}  // namespace lockstep
