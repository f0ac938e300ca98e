// SPDX-License-Identifier: Apache-2.0
// Update operators. An operator is made from a rule (momentum.h, adam.h), which updates one element
// of a parameter and of its slots. The same rule makes an operator that updates many parameters at
// once, and the kernels of both operators on every device. rules.h lists the rules,
// update_operands.h the operands and results.
//
// `step` is subtracted from the parameter. If `unless` (int64, one element) is not negative, the
// parameter stays and the rule decides about its slots. `number` is another number that the rule
// may need.
//
// In an update of many parameters, the gradient of each is factor * gradient + decay * param, and
// the gradient operand may have 16 bits. A rule that decouples the decay (kDecouplesDecay) gets
// factor * gradient, and the step is larger by rate * decay * param; its operator for one parameter
// has the attribute `decay`. The attribute `copies` lists parameters by index. For each entry the
// update also writes the parameter with type `copies_to` (like Cast's `to`), in a separate layout.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/op.h"

namespace lockstep {

struct UpdateSignature {
  std::string doc;
  std::vector<std::string> slots;
  Formal number{"no_number", "T", Arity::optional};
  std::vector<FormalAttribute> attributes;
};

struct UpdateOperands {
  Value gradient;
  std::vector<Value> slots;
  Value rate, param;
  Value number{}, unless{};
  float decay = 0;  // for rules that decouple it
};
struct Updated {
  Value step;
  std::vector<Value> slots;
  Value param;
};
// Results are named after the old values: w_step, w_momentum_new, w_new.
Updated add_update(Graph& graph, const char* type, Attributes attributes,
                   const UpdateOperands& operands, const Site& site);
template <class Rule>
Updated add_update(Graph& graph, const Rule& rule, const UpdateOperands& operands,
                   const Site& site = {}) {
  return add_update(graph, Rule::kType, rule.attributes(), operands, site);
}

// The type of the operator that updates many parameters by the rule of `type`.
inline std::string type_of_many(const std::string& type) { return type + "s"; }

void check_update(Inference& inference, std::size_t slots);
void check_updates(Inference& inference, std::size_t slots);
// The arithmetic of both operators, for a rule that takes `each` operations for an element with the
// subtraction. A decay takes two more, another factor than 1 takes one more.
Flops update_flops(const Node& node, int each);
Flops updates_flops(const Node& node, std::size_t slots, int each);
// The facts of an operator that differ by rule.
struct UpdateFacts {
  ShapeLaw law;
  FlopRule flops;
};
// The records of both operators.
std::vector<Op> update_ops(const std::string& type, const UpdateSignature& signature,
                           bool decouples_decay, const UpdateFacts& one, const UpdateFacts& many);
template <class Rule>
std::vector<Op> update_ops() {
  return update_ops(
      Rule::kType, Rule::signature(), Rule::kDecouplesDecay,
      {[](Inference& inference) { check_update(inference, Rule::kSlots); },
       [](const Node& node) { return update_flops(node, Rule::kFlops); }},
      {[](Inference& inference) { check_updates(inference, Rule::kSlots); },
       [](const Node& node) { return updates_flops(node, Rule::kSlots, Rule::kFlops); }});
}

}  // namespace lockstep
