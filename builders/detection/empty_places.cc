// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/empty_places.h"

#include <limits>
#include <vector>

#include "builders/detection/coding.h"
#include "builders/detection/site.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

Value numbers_of_boxes(Graph& graph, Value boxes, const std::string& name) {
  const int64_t places = graph.shape(boxes)[1].size();
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < places; ++row) rows.push_back(row);
  const Value sides = box_sides(graph, boxes, name + "_sides");
  const auto compared = [&](const char* type, double limit, const std::string& as) {
    const Value bound = shared_number(graph, limit);
    return graph.add_value({.type = type, .inputs = {sides, bound}}, as);
  };
  // Both comparisons are false for NaN.
  const Value proper = graph.add_value({.type = "And",
                                        .inputs = {compared("Greater", 0, name + "_have_sides"),
                                                   compared("Less", 1e9, name + "_are_finite")}},
                                       name + "_are_proper");
  const Value both =
      graph.add_value({.type = "ReduceMin",
                       .inputs = {cast(graph, proper, DType::float32, name + "_proper")},
                       .attributes = {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{0}}}},
                      name + "_have_area");
  const Value has_area = graph.add_value(
      {.type = "Greater", .inputs = {both, shared_number(graph, 0)}}, name + "_present");
  return graph.add_value(
      {.type = "Where",
       .inputs = {has_area, graph.constant(name + "_rows", Literal::vector(rows)),
                  shared_integer(graph, -1)}},
      name + "_source");
}

Value score_of_empty_places(Graph& graph) {
  return shared_number(graph, -std::numeric_limits<double>::infinity());
}

Value is_empty(Graph& graph, Value numbers, const Site& site) {
  return graph.add_value({.type = "Less", .inputs = {numbers, shared_integer(graph, 0)}}, site);
}

Value at_least_zero(Graph& graph, Value indices, const Site& site) {
  return graph.add_value({.type = "Max", .inputs = {indices, shared_integer(graph, 0)}}, site);
}

Value present(Graph& graph, Value indices, const Site& site) {
  const Value is =
      graph.add_value({.type = "GreaterOrEqual", .inputs = {indices, shared_integer(graph, 0)}},
                      part_of(site, "_is"));
  return cast(graph, is, DType::float32, site);
}

Value rows_at(Graph& graph, Value x, Value rows, const Site& site) {
  const Value index = reshape(graph, at_least_zero(graph, rows, part_of(site, "_rows")), {0, 0, 1},
                              part_of(site, "_index"));
  return graph.add_value(
      {.type = "GatherND", .inputs = {x, index}, .attributes = {{"batch_dims", int64_t{1}}}}, site);
}

}  // namespace lockstep
