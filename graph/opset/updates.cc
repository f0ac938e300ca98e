// SPDX-License-Identifier: Apache-2.0
// A node has a learning rate, the number of the step, and groups of operands with an entry for each
// tensor: parameters, gradients, slots. Its outputs are the new parameters and the new slots.
#include "graph/opset/updates.h"

#include <map>

#include "graph/onnx.h"
#include "graph/opset/newer_node.h"

namespace lockstep {
namespace {

constexpr const char* kDomain = "ai.onnx.preview.training";

class Update {
 public:
  Update(NewerNode& node, std::size_t groups, int64_t inputs)
      : node_(node), tensors_((static_cast<std::size_t>(inputs) - 2) / groups) {
    if (inputs < 2 + static_cast<int64_t>(groups) ||
        (static_cast<std::size_t>(inputs) - 2) % groups != 0)
      fail(node.description(), ": has ", inputs, " operands, should have two, and ", groups,
           " for each tensor");
    for (int64_t i = 0; i < inputs; ++i)
      if (!node.input(static_cast<std::size_t>(i)))
        fail(node.description(), ": operand ", i, " is missing");
    step_ = node.cast(node.input(1), node.dtype());
  }

  std::size_t tensors() const { return tensors_; }
  Value rate() const { return node_.input(0); }
  Value step() const { return step_; }
  Value operand(std::size_t group, std::size_t tensor) const {
    return node_.input(2 + group * tensors_ + tensor);
  }
  void result(std::size_t group, std::size_t tensor, Value value) {
    const auto output = static_cast<int>(group * tensors_ + tensor);
    if (node_.wants(output)) node_.become("Identity", {value}, {}, output);
  }

  Value add(Value a, Value b) { return node_.add("Add", {a, b}); }
  Value sub(Value a, Value b) { return node_.add("Sub", {a, b}); }
  Value mul(Value a, Value b) { return node_.add("Mul", {a, b}); }
  Value div(Value a, Value b) { return node_.add("Div", {a, b}); }
  Value root(Value x) { return node_.add("Sqrt", {x}); }
  Value number(double value) { return node_.scalar(value); }
  Value after_first_step(Value yes, Value no) {
    return node_.add("Where", {node_.add("Greater", {step_, number(0)}), yes, no});
  }
  double attribute(const char* name, float fallback) const {
    return node_.attributes().number(name, fallback);
  }
  // The gradient of the loss plus the gradient of the regularisation.
  Value gradient(std::size_t tensor) {
    const double norm = attribute("norm_coefficient", 0);
    const Value dx = operand(1, tensor);
    return norm == 0 ? dx : add(mul(operand(0, tensor), number(norm)), dx);
  }

 private:
  NewerNode& node_;
  std::size_t tensors_;
  Value step_;
};

void write_adagrad(NewerNode&, Update& update) {
  const Value decay = update.mul(update.step(), update.number(update.attribute("decay_factor", 0)));
  const Value rate = update.div(update.rate(), update.add(decay, update.number(1)));
  for (std::size_t i = 0; i < update.tensors(); ++i) {
    const Value dx = update.gradient(i);
    const Value sum = update.add(update.operand(2, i), update.mul(dx, dx));
    const Value deviation =
        update.add(update.root(sum), update.number(update.attribute("epsilon", 1e-6F)));
    const Value change = update.div(update.mul(rate, dx), deviation);
    update.result(0, i, update.sub(update.operand(0, i), change));
    update.result(1, i, sum);
  }
}

void write_adam(NewerNode& node, Update& update) {
  const double alpha = update.attribute("alpha", 0.9F), beta = update.attribute("beta", 0.999F);
  const auto unbiased = [&](double factor) {
    const Value power = node.add("Pow", {update.number(factor), update.step()});
    return update.sub(update.number(1), power);
  };
  const Value corrected =
      update.div(update.mul(update.rate(), update.root(unbiased(beta))), unbiased(alpha));
  const Value rate = update.after_first_step(corrected, update.rate());
  const auto mixed = [&](Value old, Value made, double share) {
    return update.add(update.mul(old, update.number(share)),
                      update.mul(made, update.number(1 - share)));
  };
  for (std::size_t i = 0; i < update.tensors(); ++i) {
    const Value dx = update.gradient(i);
    const Value first = mixed(update.operand(2, i), dx, alpha);
    const Value second = mixed(update.operand(3, i), update.mul(dx, dx), beta);
    const Value deviation =
        update.add(update.root(second), update.number(update.attribute("epsilon", 1e-6F)));
    const Value moved =
        update.sub(update.operand(0, i), update.div(update.mul(rate, first), deviation));
    const double kept = 1 - update.attribute("norm_coefficient_post", 0);
    update.result(0, i, kept == 1 ? moved : update.mul(moved, update.number(kept)));
    update.result(1, i, first);
    update.result(2, i, second);
  }
}

void write_momentum(NewerNode& node, Update& update) {
  const std::string mode = node.attributes().text("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    fail(node.description(), ": mode is '", mode, "', should be standard or nesterov");
  const Value alpha = update.number(update.attribute("alpha", 0));
  const Value beta =
      update.after_first_step(update.number(update.attribute("beta", 0)), update.number(1));
  for (std::size_t i = 0; i < update.tensors(); ++i) {
    const Value dx = update.gradient(i);
    const Value momentum =
        update.add(update.mul(alpha, update.operand(2, i)), update.mul(beta, dx));
    const Value direction =
        mode == "standard" ? momentum : update.add(dx, update.mul(alpha, momentum));
    update.result(0, i, update.sub(update.operand(0, i), update.mul(update.rate(), direction)));
    update.result(1, i, momentum);
  }
}

struct UpdateRule {
  std::size_t groups;  // of operands
  void (*write)(NewerNode&, Update&);
};
const std::map<std::string, UpdateRule>& update_rules() {
  static const std::map<std::string, UpdateRule> all{{"Adagrad", {3, write_adagrad}},
                                                     {"Adam", {4, write_adam}},
                                                     {"Momentum", {3, write_momentum}}};
  return all;
}

}  // namespace

bool is_update(const std::string& domain, const std::string& type) {
  return domain == kDomain && update_rules().contains(type);
}

void adopt_update(Graph& graph, onnx::NodeProto proto) {
  const UpdateRule& rule = update_rules().at(proto.op_type());
  const int inputs = proto.input_size();
  NewerNode node(graph, std::move(proto), 1);
  if (inputs < 2 || !node.wants(0)) fail(node.description(), ": has no operand or no result");
  Update update(node, rule.groups, inputs);
  rule.write(node, update);
}

}  // namespace lockstep
