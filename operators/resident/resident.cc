// SPDX-License-Identifier: Apache-2.0
#include "operators/resident/resident.h"

#include "operators/kit/body.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

void resident_slice_law(Inference& inference) {
  demand_at_least_dims(inference, 0, 1);
  demand_type(inference, 1, DType::int64);
  demand_one_element(inference, 1);
  demand_dims(inference, 2, 2);
  const TensorType &held = inference.input(0), &minibatch = inference.input(2);
  inference.outputs[0] = {held.dtype, {}};
  inference.outputs[0].ranked = held.ranked && minibatch.ranked;
  if (!inference.outputs[0].ranked) return;
  demand_shape(inference, 2, {minibatch.shape[0], 0});
  const Dim &rows = minibatch.shape[0], &most = held.shape[0];
  check(!rows.known() || !most.known() || rows.size() <= most.size(), what_is(inference, 2),
        ", more rows than the ", most.size(), " of ", inference.name_of(0));
  inference.outputs[0].shape = held.shape;
  inference.outputs[0].shape[0] = rows;
}

// Gather of the indices index..index+b-1.
std::vector<Value> resident_slice_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  const int64_t rows = known_size(graph, r.x(2), 0);
  const Value offsets =
      standard(graph, "Range",
               {shared_integer(graph, 0), shared_integer(graph, rows), shared_integer(graph, 1)});
  const Value places = standard(graph, "Add", {r.x(1), offsets});
  return {standard(graph, "Gather", {r.x(0), places}, {{"axis", int64_t{0}}})};
}

}  // namespace

Value slice_resident(Graph& graph, Value held, Value index, Value minibatch, const Site& site) {
  return graph.add_value(
      {.type = "ResidentSlice", .domain = kOwnDomain, .inputs = {held, index, minibatch}}, site);
}

std::string outside_resident(int64_t index, int64_t rows, int64_t held) {
  return join("a minibatch of ", rows, " rows at row ", index, " is not within the ", held,
              " rows of the batch");
}

std::vector<Op> resident_ops() {
  return {{.type = "ResidentSlice",
           .domain = kOwnDomain,
           .body = resident_slice_body,
           .signature = Signature{"Rows index..index+b-1 of the held batch; minibatch is [b, 0].",
                                  {{"held"}, {"index", "I"}, {"minibatch", "U"}},
                                  {{"rows"}}},
           .law = resident_slice_law,
           .differentiable = Differentiable::zero,
           .flops = no_flops}};
}

}  // namespace lockstep
