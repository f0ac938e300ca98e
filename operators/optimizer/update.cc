// SPDX-License-Identifier: Apache-2.0
#include "operators/optimizer/update.h"

#include "graph/fresh_name.h"
#include "operators/kit/flops.h"
#include "operators/optimizer/update_operands.h"

namespace lockstep {
namespace {

void check_one(const Inference& inference, std::size_t place, const char* what, DType dtype) {
  const TensorType& type = inference.input(place);
  check(element_count(to_dims(type.shape)) == 1 && type.dtype == dtype, "the ", what, " is ", type,
        ", should be one ", dtype);
}

// Checks the operands `number` and `unless`, which are last and optional.
void check_numbers(const Inference& inference, const UpdatePlaces& places, DType dtype) {
  const auto is_given = [&](std::size_t i) {
    return i < inference.inputs.size() && inference.inputs[i];
  };
  if (is_given(places.number())) check_one(inference, places.number(), "number", dtype);
  if (is_given(places.unless()))
    check_one(inference, places.unless(), "operand `unless`", DType::int64);
}

using FormalAttributes = std::vector<FormalAttribute>;

FormalAttributes joined(FormalAttributes attributes, const FormalAttributes& more) {
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

}  // namespace

Updated add_update(Graph& graph, const char* type, Attributes attributes,
                   const UpdateOperands& operands, const Site& site) {
  std::vector<Value> inputs{operands.gradient};
  inputs.insert(inputs.end(), operands.slots.begin(), operands.slots.end());
  inputs.insert(inputs.end(), {operands.rate, operands.param, operands.number, operands.unless});
  const auto name_after = [&](Value old, const char* what) {
    return fresh_name(graph.name(old) + what,
                      [&](const std::string& name) { return bool(graph.find(name)); });
  };
  std::vector<std::string> names{name_after(operands.param, "_step")};
  for (Value slot : operands.slots) names.push_back(name_after(slot, "_new"));
  names.push_back(name_after(operands.param, "_new"));
  if (operands.decay != 0) attributes.push_back({"decay", operands.decay});
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
  const auto places = UpdatePlaces::of_one(slots);
  const TensorType& gradient = inference.input(places.gradient());
  for (std::size_t s = 0; s < slots; ++s)
    check(inference.input(places.slot(s)) == gradient, "gradient is ", gradient, ", slot ", s,
          " is ", inference.input(places.slot(s)));
  check(inference.input(places.param()) == gradient, "gradient is ", gradient, ", parameter ",
        inference.input(places.param()));
  check_one(inference, places.rate(), "rate", gradient.dtype);
  check_numbers(inference, places, gradient.dtype);
  for (TensorType& output : inference.outputs) output = gradient;
}

void check_updates(Inference& inference, std::size_t slots) {
  const std::vector<int64_t> copies = inference.attributes.integers("copies");
  const auto to = static_cast<DType>(inference.attributes.integer("copies_to", 0));
  check(copies.empty() || computes_in_float32(to), "copies parameters to float32, ", narrow_names(),
        ", not to ", to);
  check(copies.size() <= inference.outputs.size(), "has ", copies.size(), " copies among ",
        inference.outputs.size(), " results");
  const std::size_t made = inference.outputs.size() - copies.size(), n = made / (slots + 1);
  check(made == n * (slots + 1), "should have ", slots,
        " slots and a new parameter for each parameter, has ", made, " results");
  for (const char* list : {"factors", "decays"})
    check(inference.attributes.numbers(list).size() == n, list, " should be ", n, " numbers");
  const auto places = UpdatePlaces::of_many(slots, n, copies.size());
  check(inference.inputs.size() > places.rate(), "needs a rate after ", made,
        " slots and parameters, ", copies.size(), " omitted for copies, and ", n, " gradients");
  for (std::size_t i = 0; i < made; ++i) {
    const TensorType &operand = inference.input(i),
                     &gradient = inference.input(places.gradient(i % n));
    check(operand.shape == gradient.shape &&
              (operand.dtype == gradient.dtype || is_narrow(gradient.dtype)),
          "operand ", i, " is ", operand, ", its gradient ", gradient);
    inference.outputs[i] = operand;
  }
  for (std::size_t c = 0; c < copies.size(); ++c) {
    check(copies[c] >= 0 && copies[c] < static_cast<int64_t>(n), "copies parameter ", copies[c],
          " of ", n);
    check(!inference.inputs[places.new_copy(c)], "operand ", places.new_copy(c),
          " should be left out: result ", places.new_copy(c), " is a copy");
    if (c > 0)
      check(copies[c - 1] <= copies[c], "copies parameter ", copies[c], " after ", copies[c - 1]);
    inference.outputs[places.new_copy(c)] = {to, inference.input(places.param(copies[c])).shape};
  }
  if (n == 0) return;
  const DType dtype = inference.outputs[0].dtype;
  check_one(inference, places.rate(), "rate", dtype);
  check_numbers(inference, places, dtype);
}

Flops update_flops(const Node& node, int each) {
  AttributeReader attributes = node.attributes();
  const int decay = attributes.number("decay", 0) != 0 ? 2 : 0;
  return {.others = (each + decay) * elements_in(node, UpdatePlaces::of_one(0).gradient())};
}

Flops updates_flops(const Node& node, std::size_t slots, int each) {
  AttributeReader attributes = node.attributes();
  const std::vector<float> factors = attributes.numbers("factors"),
                           decays = attributes.numbers("decays");
  const auto places = UpdatePlaces::of_many(slots, factors.size());
  Flops flops;
  for (std::size_t k = 0; k < factors.size(); ++k)
    flops.others += (each + (factors[k] != 1 ? 1 : 0) + (decays.at(k) != 0 ? 2 : 0)) *
                    elements_in(node, places.param(k));
  return flops;
}

std::vector<Op> update_ops(const std::string& type, const UpdateSignature& signature,
                           bool decouples_decay, const UpdateFacts& one, const UpdateFacts& many) {
  std::vector<Formal> inputs{{"gradient"}}, outputs{{"step"}};
  const auto places = UpdatePlaces::of_one(signature.slots.size());
  const auto alias = [](std::size_t result, std::size_t operand) {
    return MayAlias{static_cast<int>(result), static_cast<int>(operand)};
  };
  std::vector<MayAlias> may_alias{alias(places.kStep, places.gradient())};
  for (std::size_t s = 0; s < places.slots; ++s) {
    const std::string& slot = signature.slots[s];
    inputs.push_back({slot});
    outputs.push_back({"new_" + slot});
    may_alias.push_back(alias(places.new_slot(s), places.slot(s)));
  }
  inputs.insert(inputs.end(),
                {{"rate"}, {"param"}, signature.number, {"unless", "I", Arity::optional}});
  outputs.push_back({"new_param"});
  FormalAttributes decay;
  if (decouples_decay) decay.push_back({"decay", AttributeKind::number});
  may_alias.push_back(alias(places.new_param(), places.param()));
  return {
      {.type = type,
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{signature.doc, inputs, outputs, joined(signature.attributes, decay)},
       .law = one.law,
       .flops = one.flops,
       .may_alias = may_alias},
      {.type = type_of_many(type),
       .domain = kOwnDomain,
       .no_body = kOnlyPlanned,
       .signature =
           Signature{type + " of many parameters; in plans only.",
                     {{"operands", "T", Arity::variadic}},
                     {{"results", "T", Arity::variadic}},
                     joined(signature.attributes, {{"factors", AttributeKind::numbers},
                                                   {"decays", AttributeKind::numbers},
                                                   {"copies", AttributeKind::integers},
                                                   {"copies_to", AttributeKind::integer}})},
       .law = many.law,
       .flops = many.flops,
       .alias_in_pairs = true}};
}

}  // namespace lockstep
