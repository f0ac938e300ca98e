#include "operators/optimizer/update.h"

namespace lockstep {
namespace {

std::size_t elements_of(const TensorType& type) {
  return static_cast<std::size_t>(element_count(to_dims(type.shape)));
}

void check_rate(const Inference& inference, std::size_t place) {
  check(elements_of(inference.input(place)) == 1, "the rate is ", inference.input(place),
        ", should have one element");
}

// They may be left out.
void check_numbers(const Inference& inference, std::initializer_list<std::size_t> places) {
  for (std::size_t i : places)
    check(inference.inputs.size() <= i || !inference.inputs[i] ||
              elements_of(inference.input(i)) == 1,
          "operand ", i, " should have one element");
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
  check_rate(inference, 1 + slots);
  check_numbers(inference, {3 + slots, 4 + slots});
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
  check_rate(inference, made + n);
  check_numbers(inference, {made + n + 1, made + n + 2});
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
