// SPDX-License-Identifier: Apache-2.0
#include "graph/gradient.h"

#include <algorithm>

#include "graph/placement.h"

namespace lockstep {
namespace {

// True for types of values that pass a gradient on: floats, and the bytes between QuantizeLinear
// and DequantizeLinear. The gradient itself is a float tensor.
bool passes_gradient(DType type) {
  return is_floating(type) || type == DType::int8 || type == DType::uint8;
}

class ReversePass {
 public:
  ReversePass(Graph& graph, const std::vector<Loss>& losses, const std::vector<Value>& wanted,
              const std::string& suffix)
      : graph_(graph),
        forward_nodes_(graph.node_count()),
        suffix_(suffix),
        is_wanted_(graph.value_count(), false) {
    contributions_.resize(graph.value_count());
    for (Value value : wanted) is_wanted_[value.id] = true;
    mark_needed(wanted);
    seed(losses);
  }

  Gradients run(const std::vector<Value>& wanted) {
    const std::string scope = graph_.scope();
    const int replica = graph_.replica();
    graph_.set_scope("");  // gradient names derive from full names
    for (int index = forward_nodes_ - 1; index >= 0; --index) differentiate(index);
    Gradients result;
    for (Value value : wanted) {
      Value gradient = accumulated(value);
      if (gradient) gradient = named_after(value, gradient);
      result.values.push_back(gradient);
      if (!gradient) result.unreached.push_back(graph_.name(value));
    }
    graph_.set_scope(scope);
    graph_.set_replica(replica);
    return result;
  }

 private:
  // needed_[v]: v is wanted, or computed from a wanted value.
  void mark_needed(const std::vector<Value>& wanted) {
    needed_.assign(graph_.value_count(), false);
    for (Value value : wanted) {
      check(is_floating(graph_.dtype(value)), "'", graph_.name(value), "' is ", graph_.type(value),
            "; only floats have a gradient");
      needed_[value.id] = true;
    }
    for (int index = 0; index < forward_nodes_; ++index) {
      Node node = graph_.node(index);
      if (node.op()->differentiable == Differentiable::zero) continue;
      bool any = std::any_of(node.inputs().begin(), node.inputs().end(),
                             [&](Value input) { return input && needed_[input.id]; });
      if (!any) continue;
      for (Value output : node.outputs())
        if (output && passes_gradient(graph_.dtype(output))) needed_[output.id] = true;
    }
  }

  void seed(const std::vector<Loss>& losses) {
    for (const Loss& loss : losses) {
      Value seed = loss.seed;
      if (!seed) {
        check(graph_.shape(loss.value).empty(), "loss '", graph_.name(loss.value), "' has shape ",
              graph_.shape(loss.value), "; a loss without a seed must be a scalar");
        const std::string scope = graph_.scope();
        graph_.set_scope("");
        check(graph_.dtype(loss.value) == DType::float32, "loss '", graph_.name(loss.value),
              "' is ", graph_.dtype(loss.value), ", should be float32");
        seed = graph_.constant(graph_.name(loss.value) + "_grad", Literal::scalar(1.0F));
        graph_.set_scope(scope);
      }
      contributions_[loss.value.id].push_back(seed);
    }
  }

  void differentiate(int index) {
    Node node = graph_.node(index);
    if (std::none_of(node.outputs().begin(), node.outputs().end(),
                     [&](Value output) { return output && needed_[output.id]; }))
      return;
    graph_.set_replica(node.replica());
    const OriginScope origin(graph_, node.where());
    std::vector<Value> dy;
    for (Value output : node.outputs())
      dy.push_back(output && needed_[output.id] ? accumulated(output) : none);
    if (std::none_of(dy.begin(), dy.end(), [](Value v) { return bool(v); })) return;

    std::vector<bool> wanted;
    for (Value input : node.inputs())
      wanted.push_back(input && input.id < static_cast<int>(needed_.size()) && needed_[input.id]);
    check(node.op()->differentiable == Differentiable::yes, node.description(),
          " has no gradient, but is between a parameter and the loss");
    std::vector<Value> inputs(node.inputs().begin(), node.inputs().end());
    std::vector<Value> dx = node.op()->gradient({graph_, node, dy, wanted});
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (i < inputs.size() && wanted[i] && dx[i]) contribute(inputs[i], dx[i]);
  }

  void contribute(Value to, Value gradient) {
    if (!is_floating(graph_.dtype(gradient))) return;  // a cast to bytes: its slope is zero
    check(!graph_.type(gradient).ranked || !graph_.type(to).ranked ||
              graph_.shape(gradient).size() == graph_.shape(to).size(),
          "internal: the gradient of '", graph_.name(to), "' ", graph_.type(to), " came out as ",
          graph_.type(gradient));
    contributions_[to.id].push_back(gradient);
  }

  // Returns the sum of all contributions to a value's gradient. Called after all users of the value
  // are differentiated.
  Value accumulated(Value value) {
    std::vector<Value>& parts = contributions_[value.id];
    if (parts.size() <= 1) {
      if (!parts.empty()) claim(value, parts[0]);
      return parts.empty() ? none : parts[0];
    }
    const std::string base = gradient_name(value);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (may_rename(parts[i])) graph_.rename(parts[i], join(base, "_autosplit_", i));
    // A collective's result belongs to one replica, but the collective runs on all.
    ReplicaScope replica(graph_, home_of(graph_, value));
    Value sum = graph_.add_value({.type = "Sum", .inputs = parts}, base);
    named_.resize(graph_.value_count(), false);
    named_[sum.id] = true;
    parts = {sum};
    return sum;
  }

  std::string gradient_name(Value value) const {
    return graph_.name(value) + (is_wanted_[value.id] ? suffix_ : "_grad");
  }

  // True for a value made by this pass that is not yet named after a gradient.
  bool may_rename(Value gradient) {
    auto producer = graph_.producer(gradient);
    named_.resize(graph_.value_count(), false);
    return producer && producer->index() >= forward_nodes_ && !named_[gradient.id];
  }

  void claim(Value value, Value gradient) {
    if (!may_rename(gradient)) return;
    std::string name = gradient_name(value);
    if (graph_.find(name)) return;
    graph_.rename(gradient, name);
    named_[gradient.id] = true;
  }

  // Returns a value named x_grad: a copy if the gradient has another name.
  Value named_after(Value value, Value gradient) {
    std::string name = gradient_name(value);
    if (graph_.name(gradient) == name) return gradient;
    ReplicaScope replica(graph_, home_of(graph_, value));
    return graph_.add_value({.type = "Identity", .inputs = {gradient}}, name);
  }

  Graph& graph_;
  int forward_nodes_;
  const std::string suffix_;
  std::vector<bool> is_wanted_;
  std::vector<bool> needed_;
  std::vector<bool> named_;
  std::vector<std::vector<Value>> contributions_;
};

}  // namespace

Gradients add_gradients(Graph& graph, const std::vector<Loss>& losses,
                        const std::vector<Value>& wanted, const std::string& suffix) {
  check(!losses.empty(), "gradients need at least one loss");
  return ReversePass(graph, losses, wanted, suffix).run(wanted);
}

}  // namespace lockstep
