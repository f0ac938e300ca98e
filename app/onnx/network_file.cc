// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/network_file.h"

#include <iostream>
#include <set>

#include "graph/load.h"
#include "graph/passes/fold.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"

namespace lockstep {

LoadedModel read_model(const std::string& path) {
  return load_model(all_ops(), path, {.folder = folder_for(all_kernels())});
}

LoadedModel load_network(const std::string& path) {
  LoadedModel file = read_model(path);
  const bool has_step = file.model.step.node_count() > 0;
  check(!has_step || !file.model.updates.empty(), path,
        ": contains the forward pass of a training step, without gradients and updates, not a "
        "network; give the network's own file, or run this one in a Session (docs/from_cpp.md)");
  check(!has_step, path, ": contains a training step, not a network");
  static std::set<std::string> told;
  if (!file.warning.empty() && told.insert(path).second)
    std::cerr << "warning: " << path << " " << file.warning << "\n";
  return file;
}

std::shared_ptr<const LoadedModel> specialised(LoadedModel file,
                                               const std::map<std::string, TensorType>& types) {
  Graph& graph = file.model.inference;
  FoldOptions options{{}, types};
  for (const std::string& name : file.initializers)
    if (Value value = graph.find(name); value && is_floating(graph.dtype(value)))
      options.kept.insert(name);
  graph = fold_constants(graph, options, folder_for(all_kernels()));
  return std::make_shared<const LoadedModel>(std::move(file));
}

}  // namespace lockstep
