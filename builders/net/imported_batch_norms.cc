// SPDX-License-Identifier: Apache-2.0
#include "builders/net/imported_batch_norms.h"

#include <algorithm>
#include <set>

#include "builders/net/patterns.h"
#include "graph/printable.h"
#include "operators/batch_norm/batch_norm.h"

namespace lockstep {

bool is_batch_norm(const Node& node) {
  return node.type() == "BatchNormalization" && node.domain().empty();
}

std::vector<ImportedBatchNorm> batch_norms_of(const LoadedModel& file) {
  const Graph& graph = file.model.inference;
  const std::set<std::string> initializers(file.initializers.begin(), file.initializers.end());
  std::vector<ImportedBatchNorm> norms;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (!is_batch_norm(node)) continue;
    const auto inputs = node.inputs();
    ImportedBatchNorm norm{i,
                           node.name(),
                           graph.name(inputs[1]),
                           graph.name(inputs[3]),
                           graph.name(inputs[4]),
                           read_batch_norm(node).training};
    if (initializers.contains(norm.mean) && initializers.contains(norm.variance))
      norms.push_back(std::move(norm));
  }
  return norms;
}

bool is_named(const ImportedBatchNorm& norm, const std::vector<std::string>& patterns) {
  return matches_any(norm.name, patterns) || matches_any(norm.scale, patterns) ||
         matches_any(norm.mean, patterns);
}

void check_names_batch_norms(const LoadedModel& file, const std::vector<std::string>& patterns) {
  const std::vector<ImportedBatchNorm> norms = batch_norms_of(file);
  for (const std::string& pattern : patterns)
    check(pattern == "*" ||
              std::any_of(norms.begin(), norms.end(),
                          [&](const ImportedBatchNorm& norm) { return is_named(norm, {pattern}); }),
          "batch norms to train (MODEL.TRAIN_BATCH_NORM, --train-batch-norm): '",
          printable(pattern),
          "' matches no batch norm: neither a node, nor its scale or running "
          "mean; the file has ",
          norms.size(), " batch norms");
}

}  // namespace lockstep
