#include "builders/report.h"

#include "operators/elementwise/elementwise.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

Value sum_of(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  if (parts.size() == 1) return parts[0];
  return graph.add_value({.type = "Sum", .inputs = parts}, Site(name));
}

}  // namespace

Report report_of(Graph& graph, const std::vector<const Net*>& parts,
                 const std::vector<std::vector<Value>>& losses, float share) {
  Report report;
  for (std::size_t i = 0; i < parts[0]->losses().size(); ++i) {
    const std::string& name = parts[0]->losses()[i].name;
    std::vector<Value> values;
    for (const std::vector<Value>& of_part : losses) values.push_back(of_part[i]);
    Value total = sum_of(graph, values, name + "_total");
    if (share != 1) total = scale(graph, total, share, Site(name + "_share"));
    report.losses.push_back(total);
  }
  for (std::size_t i = 0; i < parts[0]->metrics().size(); ++i) {
    const std::string& name = parts[0]->metrics()[i].name;
    std::vector<Value> values;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Value value = parts[part]->metrics()[i].value;
      values.push_back(graph.dtype(value) == DType::float32  // a mean of whole numbers is none
                           ? value
                           : cast(graph, value, DType::float32, Site(join(name, "_", part))));
    }
    Value total = sum_of(graph, values, name + "_total");
    if (parts.size() > 1)
      total = scale(graph, total, 1.0F / static_cast<float>(parts.size()), Site(name + "_mean"));
    report.metrics.push_back(total);
  }
  return report;
}

}  // namespace lockstep
