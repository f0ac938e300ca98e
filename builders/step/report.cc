// SPDX-License-Identifier: Apache-2.0
#include "builders/step/report.h"

#include "lockstep/operators.h"

namespace lockstep {
namespace {

Value sum_of(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  if (parts.size() == 1) return parts[0];
  return graph.add_value({.type = "Sum", .inputs = parts}, Site(name));
}

Value mean_of(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  return scale(graph, sum_of(graph, parts, name + "_total"),
               1.0F / static_cast<float>(parts.size()), name + "_mean");
}

// Weights parts by their rows. The mean of a part without rows is NaN.
Value weighted_mean(OneReplica& one, const std::vector<Value>& values, const std::string& name) {
  Graph& graph = one.graph;
  const Value zero = graph.constant(name + "_of_no_rows", Literal::scalar(0.0F));
  std::vector<Value> terms, weights;
  for (std::size_t part = 0; part < values.size(); ++part) {
    const Value weight = one.parts[part].weight;
    const std::string of_part = join(name, "_", part);
    const Value has_rows =
        graph.add_value({.type = "Greater", .inputs = {weight, zero}}, of_part + "_has_rows");
    const Value mean = graph.add_value({.type = "Where", .inputs = {has_rows, values[part], zero}},
                                       of_part + "_of_rows");
    terms.push_back(mul(graph, mean, weight, of_part + "_weighted"));
    weights.push_back(weight);
  }
  return div(graph, sum_of(graph, terms, name + "_total"), sum_of(graph, weights, name + "_share"),
             name + "_mean");
}

}  // namespace

StepReport report_of(OneReplica& one, float share) {
  Graph& graph = one.graph;
  StepReport report;
  for (std::size_t i = 0; i < one.loss_names.size(); ++i) {
    const std::string& name = one.loss_names[i];
    std::vector<Value> values;
    for (const OneReplica::Part& part : one.parts) values.push_back(part.losses[i]);
    Value total = sum_of(graph, values, name + "_total");
    if (share != 1) total = scale(graph, total, share, Site(name + "_share"));
    report.losses.push_back(total);
  }
  for (std::size_t i = 0; i < one.metric_names.size(); ++i) {
    const std::string& name = one.metric_names[i];
    std::vector<Value> values;
    for (std::size_t part = 0; part < one.parts.size(); ++part) {
      const Value value = one.parts[part].metrics[i];
      values.push_back(graph.dtype(value) == DType::float32  // integers cannot hold a mean
                           ? value
                           : cast(graph, value, DType::float32, Site(join(name, "_", part))));
    }
    report.metrics.push_back(values.size() == 1    ? values[0]
                             : one.parts[0].weight ? weighted_mean(one, values, name)
                                                   : mean_of(graph, values, name));
  }
  return report;
}

}  // namespace lockstep
