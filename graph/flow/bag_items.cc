// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/bag_items.h"

#include <limits>

namespace lockstep {

Value BagNodes::add(const char* type, const std::vector<Value>& inputs,
                    const Attributes& attributes) {
  const std::string name = importer_.fresh_name(prefix_ + type);
  return graph_.add_value(
      {.type = type, .inputs = inputs, .attributes = attributes, .output_names = {name}},
      Site(name));
}

Value BagNodes::constant(Literal literal) {
  return graph_.constant(importer_.fresh_name(prefix_ + "constant"), std::move(literal));
}

Value BagNodes::scalar_like(Value x, double value) {
  const DType type = graph_.dtype(x);
  if (is_floating(type)) return constant(Literal::rounded_scalar(type, value));
  return cast(constant(Literal::scalar(static_cast<int64_t>(value))), type);
}

Value BagNodes::cast(Value x, DType type) {
  if (graph_.dtype(x) == type) return x;
  return add("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

Value BagNodes::range(Value count) {
  const Value last = add("Reshape", {cast(count, DType::int64), vector({})});
  return add("Range",
             {constant(Literal::scalar(int64_t{0})), last, constant(Literal::scalar(int64_t{1}))});
}

Value BagNodes::rows_in(Value x) {
  return add("Gather", {add("Shape", {x}), constant(Literal::scalar(int64_t{0}))});
}

Value BagNodes::column(Value x) { return add("Unsqueeze", {x, vector({1})}); }

Value BagNodes::broadcast(Value x, Value to) {
  return add("Expand", {add("Reshape", {x, vector({-1})}), add("Shape", {to})});
}

Value BagNodes::mask(const BagItem& rows) {
  const Value positions = range(rows_in(rows.value));
  const Value starts = column(cast(rows.starts, DType::int64));
  const Value ends = column(cast(rows.ends, DType::int64));
  const Value inside =
      add("And", {add("LessOrEqual", {starts, positions}), add("Less", {positions, ends})});
  return rows.keep ? add("And", {inside, rows.keep}) : inside;
}

Value BagNodes::count(const BagItem& rows) {
  return add("ReduceSum", {cast(mask(rows), DType::int64), vector({1})},
             {{"keepdims", int64_t{0}}});
}

BagItem BagNodes::sum(const BagItem& rows, bool kept_axis) {
  require_bags(graph_.type(rows.value).ranked && graph_.shape(rows.value).size() == 2);
  const DType type = graph_.dtype(rows.value);
  require_bags(is_floating(type));
  return {.kind = BagItem::Kind::row,
          .value = add("MatMul", {cast(mask(rows), type), rows.value}),
          .kept_axis = kept_axis};
}

// The mean of an empty bag is 0, as in PyTorch.
BagItem BagNodes::mean(const BagItem& rows, bool kept_axis) {
  BagItem total = sum(rows, kept_axis);
  const Value number =
      add("Max", {cast(count(rows), graph_.dtype(rows.value)), scalar_like(rows.value, 1)});
  total.value = add("Div", {total.value, column(number)});
  return total;
}

// The largest of an empty bag is 0, as in PyTorch.
BagItem BagNodes::largest(const BagItem& rows, bool kept_axis) {
  require_bags(graph_.type(rows.value).ranked && graph_.shape(rows.value).size() == 2);
  require_bags(is_floating(graph_.dtype(rows.value)));
  const Value least = scalar_like(rows.value, -std::numeric_limits<double>::infinity());
  const Value of_bags = add("Unsqueeze", {mask(rows), vector({2})});
  const Value each = add("Where", {of_bags, add("Unsqueeze", {rows.value, vector({0})}), least});
  const Value most =
      add("ReduceMax", {each}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
  const Value some = column(add("Greater", {count(rows), constant(Literal::scalar(int64_t{0}))}));
  return {.kind = BagItem::Kind::row,
          .value = add("Where", {some, most, scalar_like(rows.value, 0)}),
          .kept_axis = kept_axis};
}

}  // namespace lockstep
