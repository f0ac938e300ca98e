// SPDX-License-Identifier: Apache-2.0
// The arrays that the steps of a network are fed, and their types.
#include "app/arrays/fed_names.h"
#include "app/arrays/network.h"
#include "app/arrays/network_type.h"
#include "app/arrays/targets.h"
#include "app/onnx/network_part.h"
#include "lockstep/error.h"

namespace lockstep {

std::vector<FedArray> ArraysNetwork::fed_for(const std::vector<std::string>& outputs,
                                             const std::vector<FedArray>& beside) const {
  const auto part = part_of(*file_, outputs);
  const Graph& graph = part->model.inference;
  std::vector<FedArray> fed;
  for (Value input : fed_inputs(graph))
    fed.push_back({graph.name(input), graph.dtype(input), example_of(graph.type(input))});
  for (const FedArray& array : beside)
    if (!file_->model.inference.find(array.name)) fed.push_back(array);
  return fed;
}

// The dimensions of an example of a declared input.
std::optional<Dims> ArraysNetwork::example_of(const TensorType& declared) const {
  if (!declared.ranked) return std::nullopt;
  Dims dims;
  for (std::size_t i = config_.whole ? 0 : 1; i < declared.shape.size(); ++i)
    dims.push_back(declared.shape[i].known() ? declared.shape[i].size() : -1);
  return dims;
}

std::vector<FedArray> ArraysNetwork::fed_in_training() const {
  return fed_for(losses_in_network(), beside_losses(terms_));
}

std::vector<FedArray> ArraysNetwork::fed_in_test() const {
  const Graph& graph = file_->model.inference;
  std::vector<std::string> outputs = losses_in_network();
  for (const Metric& metric : metrics_) {
    add_new(outputs, metric.output);
    for (const std::string& name : {metric.target, metric.mask})
      if (!name.empty() && graph.find(name)) add_new(outputs, name);
  }
  return fed_for(outputs, beside_tests(terms_, metrics_));
}

int64_t ArraysNetwork::fixed_rows() const {
  if (config_.whole) return 0;
  const Graph& graph = file_->model.inference;
  for (Value input : fed_inputs(graph))
    if (const TensorType& type = graph.type(input);
        type.ranked && !type.shape.empty() && type.shape[0].known())
      return type.shape[0].size();
  return 0;
}

TensorType ArraysNetwork::batch_type(const ExampleType& example) const {
  Shape shape;
  if (!config_.whole) shape.emplace_back("N");
  for (int64_t size : example.dims) shape.emplace_back(size);
  return {example.dtype, shape};
}

std::map<std::string, TensorType> ArraysNetwork::types_of(const ExampleTypes& examples) const {
  const Graph& graph = file_->model.inference;
  std::map<std::string, TensorType> types;
  for (Value input : fed_inputs(graph)) {
    const auto found = examples.find(graph.name(input));
    if (found == examples.end()) continue;  // an input of other outputs
    const TensorType& declared = graph.type(input);
    check(config_.whole || !declared.ranked || !declared.shape.empty(),
          network_type(config_).title(config_), ": its input '", graph.name(input), "' is ",
          declared,
          ", without a dimension for the batch; if each example is all that a step takes, set ",
          Key{"DATA.WHOLE"}, " true");
    TensorType fed = batch_type(found->second);
    if (!config_.whole && declared.ranked && declared.shape[0].known())
      fed.shape[0] = declared.shape[0];
    types[graph.name(input)] = fed;
  }
  return types;
}

}  // namespace lockstep
