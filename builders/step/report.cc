#include "builders/step/report.h"

#include "operators/elementwise/elementwise.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

Value sum_of(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  if (parts.size() == 1) return parts[0];
  return graph.add_value({.type = "Sum", .inputs = parts}, Site(name));
}

}  // namespace

Report report_of(OneReplica& one, float share) {
  Graph& graph = one.graph;
  Report report;
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
      values.push_back(graph.dtype(value) == DType::float32  // a mean of whole numbers is none
                           ? value
                           : cast(graph, value, DType::float32, Site(join(name, "_", part))));
    }
    Value total = sum_of(graph, values, name + "_total");
    if (values.size() > 1)
      total = scale(graph, total, 1.0F / static_cast<float>(values.size()), Site(name + "_mean"));
    report.metrics.push_back(total);
  }
  return report;
}

}  // namespace lockstep
