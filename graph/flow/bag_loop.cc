// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/bag_loop.h"

#include "graph/flow/bag_body.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

using Kind = BagItem::Kind;
using Items = BagBody::Items;

bool reduces_rows(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    if (node.op_type().rfind("Reduce", 0) == 0) return true;
    for (const auto& attribute : node.attribute())
      if (attribute.type() == onnx::AttributeProto::GRAPH && reduces_rows(attribute.g()))
        return true;
  }
  return false;
}

// The number of iterations: the trip count, or the bound of a counter from 0.
Value trips_of(FlowImporter& importer, const onnx::NodeProto& node, const onnx::GraphProto& body,
               const FlowImporter::Scope& scope) {
  const std::string described = FlowImporter::described(node);
  if (!node.input(0).empty()) return importer.tensor(node.input(0), scope, described);
  const onnx::NodeProto* condition = condition_of(body);
  if (condition && captured_names(body).count(condition->input(1)))
    return importer.tensor(condition->input(1), scope, described);
  throw NoBagLoop{};
}

// Throws unless the loop begins: a while loop should ask for 0 < trips.
void check_begin(FlowImporter& importer, const onnx::NodeProto& node, Value trips,
                 const FlowImporter::Scope& scope) {
  if (node.input(1).empty()) return;
  const Value condition = importer.tensor(node.input(1), scope, FlowImporter::described(node));
  if (const auto known = importer.conditions().value_of(condition)) {
    require_bags(known->dtype() == DType::boolean && known->count() == 1 &&
                 known->values<bool>()[0]);
    const auto most = importer.conditions().value_of(trips);
    require_bags(!node.input(0).empty() || (most && most->count() == 1 && most->integers()[0] > 0));
    return;
  }
  const auto less = importer.graph().producer(condition);
  require_bags(node.input(0).empty() && less && less->type() == "Less" &&
               less->inputs()[1] == trips);
  const auto first = importer.conditions().value_of(less->inputs()[0]);
  require_bags(first && first->count() == 1 && first->integers()[0] == 0);
}

// True if the body goes on in every iteration but the last.
bool goes_on(FlowImporter& importer, const onnx::NodeProto& node, const BagItem& condition,
             Value trips) {
  if (condition.is(Kind::same)) {
    const auto known = importer.conditions().value_of(condition.value);
    return !node.input(0).empty() && known && known->dtype() == DType::boolean &&
           known->count() == 1 && known->values<bool>()[0];
  }
  return condition.is(Kind::single) && condition.below == trips && condition.offset == 1;
}

void add_bags(FlowImporter& importer, const onnx::NodeProto& node, const onnx::GraphProto& body,
              FlowImporter::Scope& scope) {
  const int carried = node.input_size() - 2;
  require_bags(carried >= 0 && body.input_size() == carried + 2 &&
               body.output_size() >= carried + 1 && node.output_size() <= body.output_size() - 1);
  const Value trips = trips_of(importer, node, body, scope);
  require_bags(importer.graph().type(trips).ranked);
  check_begin(importer, node, trips, scope);
  FlowImporter::Scope inside{.outer = &scope, .prefix = scope.prefix + label_of(node) + "/"};
  BagNodes nodes(importer, inside.prefix);
  const Value numbers = nodes.range(trips);
  Items items;
  items[body.input(0).name()] = {.kind = Kind::single, .value = numbers, .offset = 0};
  inside.values[body.input(1).name()] = {.tensor = nodes.constant(Literal::scalar(true))};
  std::vector<bool> collects(carried, false);
  for (int k = 0; k < carried; ++k) {
    const FlowValue value = importer.find(node.input(k + 2), scope);
    BagItem& item = items[body.input(k + 2).name()];
    collects[k] = value.sequence && !value.sequence->split && value.sequence->parts.empty();
    if (collects[k]) {
      item.kind = Kind::collected;
      continue;
    }
    require_bags(!!value.tensor);
    const auto first = importer.conditions().value_of(value.tensor);
    require_bags(first && first->dtype() == DType::int64 && first->count() == 1 &&
                 first->integers()[0] == 0);
    item = {.kind = Kind::single, .value = numbers, .offset = 0};
  }
  BagBody computed(importer, nodes, inside, false);
  computed.add(body, items);
  require_bags(goes_on(importer, node, computed.find(body.output(0).name(), items), trips));
  std::vector<FlowValue> results;
  for (int k = 0; k < body.output_size() - 1; ++k) {
    const BagItem made = computed.find(body.output(k + 1).name(), items);
    if (k < carried && !collects[k]) {
      require_bags(made.offset == 1);
      results.push_back({.tensor = trips});
    } else if (k < carried) {
      require_bags(made.is(Kind::appended) && !made.keep);
      results.push_back({.sequence = std::make_shared<const Sequence>(
                             Sequence{.joined = made.value, .kept_axis = made.kept_axis})});
    } else {
      require_bags(made.is(Kind::row));
      results.push_back({.tensor = made.kept_axis
                                       ? nodes.add("Unsqueeze", {made.value, nodes.vector({1})})
                                       : made.value});
    }
  }
  const int all_new = 0;
  for (int k = 0; k < node.output_size(); ++k)
    importer.bind(node.output(k), results[k], scope, all_new);
}

}  // namespace

bool add_bag_loop(FlowImporter& importer, const onnx::NodeProto& node, FlowImporter::Scope& scope) {
  const auto* body = graph_attribute(node, "body");
  if (!body || node.input_size() < 2 || node.output_size() == 0 || !reduces_rows(*body))
    return false;
  try {
    add_bags(importer, node, *body, scope);
    return true;
  } catch (const NoBagLoop&) {
    return false;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace lockstep
