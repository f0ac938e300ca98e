// SPDX-License-Identifier: Apache-2.0
#include "graph/flat.h"

#include <map>
#include <set>

#include "graph/export.h"
#include "graph/onnx.h"
#include "graph/roles.h"

namespace lockstep {
namespace {

// Declares the new values of states as outputs, each once and with the state's name.
void add_updates(const TrainingModel& model, onnx::GraphProto& graph) {
  std::map<std::string, onnx::ValueInfoProto*> outputs;
  for (auto& output : *graph.mutable_output()) outputs.emplace(output.name(), &output);
  for (const Binding& update : model.updates) {
    onnx::ValueInfoProto*& output = outputs[update.value];
    if (!output) {
      output = graph.add_output();
      output->set_name(update.value);
      to_proto(model.step.type(model.step.at(update.value)), *output->mutable_type());
    }
    output->set_doc_string(
        (output->doc_string().empty() ? "the next " : output->doc_string() + ", ") + update.state);
  }
  std::map<std::string, std::string> roles;
  for (const auto& [what, items] :
       {std::pair{"loss", &model.losses}, {"metric", &model.metrics}, {"check", &model.checks}})
    for (const Replicated& item : *items)
      for (const std::string& name : item.values) roles[name] = join(what, " ", item.name);
  for (const auto& [name, role] : roles)
    if (const auto output = outputs.find(name); output != outputs.end())
      if (output->second->doc_string().empty()) output->second->set_doc_string(role);
}

}  // namespace

void save_flat(const TrainingModel& model, const std::string& path, const SaveOptions& options) {
  check(model.step.node_count() > 0, path, ": there is no training step to write");
  onnx::ModelProto proto = headed(model);
  std::set<std::string> states;
  for (const State& state : model.states)
    if (is_saved(state.kind)) states.insert(state.values.begin(), state.values.end());
  export_graph(model.step, states, *proto.mutable_graph());
  add_updates(model, *proto.mutable_graph());
  add_metadata(proto, "flat", "the main graph is a training step");
  proto.set_doc_string(
      "A training step for viewers, without the bindings of its states. `lockstep build` or "
      "`lockstep train` wrote the step itself.");
  save_proto(std::move(proto), path, options);
}

}  // namespace lockstep
