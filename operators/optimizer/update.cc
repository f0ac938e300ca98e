#include "operators/optimizer/update.h"

namespace lockstep {
namespace {

void check_one(const Inference& inference, std::size_t place, const char* what, DType dtype) {
  const TensorType& type = inference.input(place);
  check(element_count(to_dims(type.shape)) == 1 && type.dtype == dtype, "the ", what, " is ", type,
        ", should be one ", dtype);
}

// They stand behind all else and may be left out.
void check_numbers(const Inference& inference, std::size_t number, DType dtype) {
  const auto is_given = [&](std::size_t i) {
    return i < inference.inputs.size() && inference.inputs[i];
  };
  if (is_given(number)) check_one(inference, number, "number", dtype);
  if (is_given(number + 1)) check_one(inference, number + 1, "operand `unless`", DType::int64);
}

std::vector<FormalAttribute> with_factors(std::vector<FormalAttribute> attributes) {
  attributes.push_back({"factors", AttributeKind::numbers});
  attributes.push_back({"decays", AttributeKind::numbers});
  return attributes;
}

}  // namespace

Updated add_update(Graph& graph, const char* type, Attributes attributes,
                   const UpdateOperands& operands, const Site& site) {
  std::vector<Value> inputs{operands.gradient};
  inputs.insert(inputs.end(), operands.slots.begin(), operands.slots.end());
  inputs.insert(inputs.end(), {operands.rate, operands.param, operands.number, operands.unless});
  std::vector<std::string> names{graph.name(operands.param) + "_step"};
  for (Value slot : operands.slots) names.push_back(graph.name(slot) + "_new");
  names.push_back(graph.name(operands.param) + "_new");
  const Node node = graph.add({.type = type,
                               .domain = kOwnDomain,
                               .inputs = std::move(inputs),
                               .attributes = std::move(attributes),
                               .outputs = static_cast<int>(names.size()),
                               .output_names = names},
                              site);
  const auto made = node.outputs();
  return {made.front(), {made.begin() + 1, made.end() - 1}, made.back()};
}

void check_update(Inference& inference, std::size_t slots) {
  const TensorType& gradient = inference.input(0);
  for (std::size_t s = 0; s < slots; ++s)
    check(inference.input(1 + s) == gradient, "gradient is ", gradient, ", slot ", s, " is ",
          inference.input(1 + s));
  check(inference.input(2 + slots) == gradient, "gradient is ", gradient, ", parameter ",
        inference.input(2 + slots));
  check_one(inference, 1 + slots, "rate", gradient.dtype);
  check_numbers(inference, 3 + slots, gradient.dtype);
  for (TensorType& output : inference.outputs) output = gradient;
}

void check_updates(Inference& inference, std::size_t slots) {
  const std::size_t made = inference.outputs.size(), n = made / (slots + 1);
  check(made == n * (slots + 1), "makes ", slots, " slots and the parameter of each, not ", made,
        " results");
  for (const char* list : {"factors", "decays"})
    check(inference.attributes.numbers(list).size() == n, list, " should be ", n, " numbers");
  check(inference.inputs.size() > made + n, "takes a rate behind ", made, " slots and parameters",
        " and ", n, " gradients");
  for (std::size_t i = 0; i < made; ++i) {
    const TensorType& gradient = inference.input(made + i % n);
    check(inference.input(i) == gradient, "operand ", i, " is ", inference.input(i),
          ", its gradient ", gradient);
    inference.outputs[i] = gradient;
  }
  if (n == 0) return;
  const DType dtype = inference.outputs[0].dtype;
  check_one(inference, made + n, "rate", dtype);
  check_numbers(inference, made + n + 1, dtype);
}

std::vector<Op> update_ops(const std::string& type, const UpdateSignature& signature, ShapeLaw one,
                           ShapeLaw many) {
  const int slots = static_cast<int>(signature.slots.size());
  std::vector<Formal> inputs{{"gradient"}}, outputs{{"step"}};
  std::vector<MayAlias> may_alias{{0, 0}};
  for (int s = 0; s < slots; ++s) {
    const std::string& slot = signature.slots[static_cast<std::size_t>(s)];
    inputs.push_back({slot});
    outputs.push_back({"new_" + slot});
    may_alias.push_back({1 + s, 1 + s});
  }
  inputs.insert(inputs.end(),
                {{"rate"}, {"param"}, signature.number, {"unless", "I", Arity::optional}});
  outputs.push_back({"new_param"});
  may_alias.push_back({1 + slots, 2 + slots});
  return {{.type = type,
           .domain = kOwnDomain,
           .signature = Signature{signature.doc, inputs, outputs, signature.attributes},
           .law = one,
           .may_alias = may_alias},
          {.type = type_of_many(type),
           .domain = kOwnDomain,
           .signature = Signature{type + " of many parameters; in plans only.",
                                  {{"operands", "T", Arity::variadic}},
                                  {{"results", "T", Arity::variadic}},
                                  with_factors(signature.attributes)},
           .law = many,
           .alias_in_pairs = true}};
}

}  // namespace lockstep
