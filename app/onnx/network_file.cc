// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/network_file.h"

#include <iostream>
#include <set>
#include <vector>

#include "graph/listed.h"
#include "graph/load.h"
#include "graph/passes/fold.h"
#include "graph/passes/retype.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"

namespace lockstep {

LoadedModel read_model(const std::string& path, const std::map<std::string, Literal>& constants) {
  return load_model(all_ops(), path, folder_for(all_kernels()), constants);
}

LoadedModel load_network(const std::string& path, std::map<std::string, TensorType>* declared) {
  LoadedModel file = read_model(path);
  const bool has_step = file.model.step.node_count() > 0;
  check(!has_step || !file.model.updates.empty(), path,
        ": contains the forward pass of a training step, without gradients and updates, not a "
        "network; give the network's own file, or run this one in a Session (docs/from_cpp.md)");
  check(!has_step, path, ": contains a training step, not a network");
  const Graph& graph = file.model.inference;
  for (Value input : graph.inputs())
    if (declared) declared->emplace(graph.name(input), graph.type(input));
  std::vector<std::string> warnings;
  if (!file.warning.empty()) warnings.push_back(file.warning);
  if (const OtherFloats other = floats_to_widen(file); !other.types.empty()) {
    file.model.inference = in_float32(graph, other.types);
    std::vector<std::string> names;
    for (const DType type : other.types) names.push_back(join(type));
    warnings.push_back(join("is a network ", other.partly ? "partly in " : "in ",
                            listed(names, " and "),
                            "; it is read as float32, in which parameters are trained"));
  }
  static std::set<std::string> told;
  if (!warnings.empty() && told.insert(path).second)
    for (const std::string& warning : warnings)
      std::cerr << "warning: " << path << " " << warning << "\n";
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
