// SPDX-License-Identifier: Apache-2.0
// y = f(x; a, b). All functions share one gradient operator of Lockstep,
//   FunctionGrad (dy, x) -> dy * f'(x; a, b)
// Its attribute `function` is the function's name; a and b are the function's parameters.
#include "operators/function/function.h"

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

std::vector<Value> function_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  Attributes attributes{{"function", r.node.type()}};
  const char* const names[] = {"a", "b"};
  int position = 0;
  for (const FunctionParameter& parameter : function_entry(r.node.type()).parameters)
    attributes.push_back({names[position++], reader.number(parameter.name, parameter.fallback)});
  return {r.graph.add_value({.type = "FunctionGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0)},
                             .attributes = attributes},
                            gradient_site(r, 0))};
}

void function_grad_law(Inference& inference) {
  all_alike(inference);
  const std::string name = inference.attributes.text("function", "");
  check(function_entry(name).differentiable, "no function '", name, "' has a gradient");
}

}  // namespace

const std::vector<FunctionEntry>& function_entries() {
  static const std::vector<FunctionEntry> entries{
      {"LeakyRelu", {{"alpha", 0.01F}}},
      {"Elu", {{"alpha", 1}}},
      {"Celu", {{"alpha", 1}}},
      {"Selu", {{"alpha", 1.67326319217681884765625F}, {"gamma", 1.05070102214813232421875F}}},
      {"HardSigmoid", {{"alpha", 0.2F}, {"beta", 0.5F}}},
      {"HardSwish", {}},
      {"Softplus", {}},
      {"Softsign", {}},
      {"ThresholdedRelu", {{"alpha", 1}}},
      {"Shrink", {{"lambd", 0.5F}, {"bias", 0}}},
      {"Erf", {}},
      {"Sin", {}},
      {"Cos", {}},
      {"Tan", {}},
      {"Asin", {}},
      {"Acos", {}},
      {"Atan", {}},
      {"Sinh", {}},
      {"Cosh", {}},
      {"Asinh", {}},
      {"Acosh", {}},
      {"Atanh", {}},
      {"Ceil", {}, false},
      {"Floor", {}, false},
      {"Round", {}, false}};
  return entries;
}

FunctionParameters parameters_of(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  FunctionParameters parameters;
  double* next = &parameters.a;
  for (const FunctionParameter& parameter : function_entry(request.node.type()).parameters) {
    *next = reader.number(parameter.name, parameter.fallback);
    next = &parameters.b;
  }
  return parameters;
}

FunctionParameters parameters_of_gradient(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  return {reader.number("a", 0), reader.number("b", 0)};
}

std::string function_of_gradient(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  return reader.text("function", "");
}

const FunctionEntry& function_entry(const std::string& type) {
  for (const FunctionEntry& entry : function_entries())
    if (entry.type == type) return entry;
  fail("there is no function '", type, "'");
}

std::vector<Op> function_ops() {
  std::vector<Op> ops;
  for (const FunctionEntry& entry : function_entries())
    ops.push_back(
        {.type = entry.type,
         .domain = "",
         .law = same_as_first,
         .differentiable = entry.differentiable ? Differentiable::yes : Differentiable::zero,
         .gradient = entry.differentiable ? function_gradient : nullptr,
         .may_alias = {{0, 0}}});
  ops.push_back({.type = "FunctionGrad",
                 .domain = kOwnDomain,
                 .no_body = kOnlyTrains,
                 .signature = Signature{"dx = dy * f'(x) for a function of one element.",
                                        {{"dy"}, {"x"}},
                                        {{"dx"}},
                                        {{"function", AttributeKind::text, true},
                                         {"a", AttributeKind::number},
                                         {"b", AttributeKind::number}}},
                 .law = function_grad_law,
                 .flops = per_result<2>,
                 .may_alias = {{0, 0}, {0, 1}}});
  return ops;
}

}  // namespace lockstep
