// SPDX-License-Identifier: Apache-2.0
// Dropout (x, ratio, training_mode) -> y, mask     draws from its stream (graph/random_stream.h)
//   DropoutGrad (dy, ratio, training_mode) -> dx   repeats the draws
#include "operators/dropout/dropout.h"

#include "graph/random_stream.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

void check_options(const Inference& inference) {
  demand_one_element(inference, 1);
  demand_one_element(inference, 2);
  demand_type(inference, 2, DType::boolean);
}

void dropout_law(Inference& inference) {
  check_options(inference);
  inference.outputs[0] = inference.input(0);
  if (inference.outputs.size() > 1)
    inference.outputs[1] = {DType::boolean, inference.input(0).shape, inference.input(0).ranked};
}

void dropout_grad_law(Inference& inference) {
  check_options(inference);
  inference.outputs[0] = inference.input(0);
}

std::vector<Value> dropout_gradient(const GradientRequest& r) {
  if (!r.dy[0]) return {};
  std::vector<Value> operands{r.dy[0]};
  for (std::size_t i = 1; i < r.node.inputs().size(); ++i) operands.push_back(r.x(i));
  return {r.graph.add_value({.type = "DropoutGrad",
                             .domain = kOwnDomain,
                             .inputs = operands,
                             .attributes = {random_stream_attribute(random_stream_of(r.node))}},
                            gradient_site(r, 0)),
          none, none};
}

}  // namespace

Value dropout(Graph& graph, Value x, float ratio, bool training, const Site& site) {
  const std::string name = site.name.empty() ? "dropout" : site.name;
  Value share = graph.constant(name + "_ratio", Literal::scalar(ratio));
  Value mode = graph.constant(name + "_training", Literal::scalar(training));
  return graph.add_value({.type = "Dropout", .inputs = {x, share, mode}}, site);
}

std::vector<Op> dropout_ops() {
  return {{.type = "Dropout",
           .domain = "",
           .law = dropout_law,
           .differentiable = Differentiable::yes,
           .gradient = dropout_gradient,
           .may_alias = {{0, 0}},
           .random = true,
           .draws = true,
           .narrow = {Narrow::follows, {1}}},
          {.type = "DropoutGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"dy, scaled as in the forward pass, where x was kept; else 0.",
                                  {{"dy"},
                                   {"ratio", "R", Arity::optional},
                                   {"training_mode", "B", Arity::optional}},
                                  {{"dx"}}},
           .law = dropout_grad_law,
           .may_alias = {{0, 0}},
           .random = true,
           .narrow = {Narrow::follows, {1}}}};
}

}  // namespace lockstep
