// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "graph/opset/rewrites.h"

namespace lockstep {

void write_gelu(NewerNode& node) {
  const std::string approximate = node.attributes().text("approximate", "none");
  const Value x = node.input(0);
  Value inner;
  if (approximate == "tanh") {
    const Value cube = node.add("Mul", {node.add("Mul", {x, x}), x});
    const Value bent = node.add("Add", {x, node.add("Mul", {cube, node.scalar(0.044715)})});
    const double slope = std::sqrt(2 * std::numbers::inv_pi);
    inner = node.add("Tanh", {node.add("Mul", {bent, node.scalar(slope)})});
  } else if (approximate == "none") {
    inner = node.add("Erf", {node.add("Mul", {x, node.scalar(std::numbers::sqrt2 / 2)})});
  } else {
    node.refuse("approximate is '", approximate, "', should be none or tanh");
  }
  const Value half = node.add("Mul", {x, node.scalar(0.5)});
  node.become("Mul", {half, node.add("Add", {inner, node.scalar(1)})});
}

void write_mish(NewerNode& node) {
  const Value x = node.input(0);
  node.become("Mul", {x, node.add("Tanh", {node.add("Softplus", {x})})});
}

void write_swish(NewerNode& node) {
  const Value x = node.input(0);
  const float alpha = node.attributes().number("alpha", 1);
  const Value inner = alpha == 1 ? x : node.add("Mul", {x, node.scalar(alpha)});
  node.become("Mul", {x, node.add("Sigmoid", {inner})});
}

// Swish of the gate, operand 0, times operand 1.
void write_swiglu(NewerNode& node) {
  const Value gate = node.input(0);
  const float alpha = node.attributes().number("alpha", 1);
  const Value inner = alpha == 1 ? gate : node.add("Mul", {gate, node.scalar(alpha)});
  node.become("Mul", {node.add("Mul", {gate, node.add("Sigmoid", {inner})}), node.input(1)});
}

// Before opset 28, Mod of floats required fmod 1, with the dividend's sign.
void floor_modulo(NewerNode& node) {
  if (!is_floating(node.dtype()) || node.attributes().integer("fmod", 0) != 0) return;
  const Value a = node.input(0), b = node.input(1);
  const Value rest = node.add("Mod", {a, b}, {{"fmod", int64_t{1}}});
  // The remainder of C's fmod, plus one divisor if the signs differ: exact, unlike a -
  // floor(a/b)*b.
  const Value zero = node.scalar(0);
  const Value differs =
      node.add("Less", {node.add("Mul", {node.add("Sign", {rest}), node.add("Sign", {b})}), zero});
  node.become("Where", {differs, node.add("Add", {rest, b}), rest});
}

// Drops `saturate` and `round_mode`, which apply only to float8. Lockstep has no float8.
void forget_float8_options(NewerNode& node) {
  const int64_t to = node.attributes().integer("to", static_cast<int64_t>(DType::float32));
  if (name_of(static_cast<DType>(to)) == "undefined")
    node.refuse("element type ", to, " is not supported");
  node.drop_attribute("saturate");
  node.drop_attribute("round_mode");
}

void forget_stash_type(NewerNode& node) { node.drop_attribute("stash_type"); }

}  // namespace lockstep
