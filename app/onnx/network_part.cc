// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/network_part.h"

#include <set>

#include "graph/passes/copy.h"
#include "graph/passes/prune.h"
#include "lockstep/operators.h"

namespace lockstep {

std::shared_ptr<const LoadedModel> part_of(const LoadedModel& file,
                                           const std::vector<std::string>& outputs) {
  const Graph& from = file.model.inference;
  std::vector<Value> wanted;
  for (const std::string& name : outputs) wanted.push_back(from.at(name));
  const std::vector<bool> needed = needed_nodes(from, wanted);
  std::set<int> used;
  for (Value value : wanted) used.insert(value.id);
  for (int i = 0; i < from.node_count(); ++i)
    if (needed[i])
      for (Value input : from.node(i).inputs())
        if (input) used.insert(input.id);
  GraphCopy copy(from, [&](Value input) { return used.contains(input.id); });
  for (int i = 0; i < from.node_count(); ++i)
    if (needed[i]) copy.take(from.node(i));
  for (Value value : wanted) copy.to().output(copy.of(value));
  auto part = std::make_shared<LoadedModel>(LoadedModel{TrainingModel(from.ops())});
  part->model.inference = std::move(copy.to());
  part->model.metadata = file.model.metadata;
  part->initializers = file.initializers;
  part->kinds = file.kinds;
  return part;
}

std::vector<Value> fed_inputs(const Graph& graph) {
  std::vector<Value> fed;
  for (Value input : graph.inputs())
    if (!graph.literal(input)) fed.push_back(input);
  return fed;
}

}  // namespace lockstep
