// SPDX-License-Identifier: Apache-2.0
// All gradients consist of standard operators: sums of updates are scattered with reduction add,
// and results are gathered at the updates' targets. Scatters add in the order of the indices, so
// the gradients have the same bits in every run.
#include "operators/gather/scatter_gradient.h"

#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

class ScatterGradient {
 public:
  // `gather` is the operator that reads the elements which the node writes.
  ScatterGradient(const GradientRequest& request, const char* gather, Attributes attributes)
      : r_(request), gather_(gather), attributes_(std::move(attributes)) {
    AttributeReader reader = request.node.attributes();
    reduction_ = reader.text("reduction", "none");
  }

  std::vector<Value> run() {
    if (reduction_ == "none") replaced();
    if (reduction_ == "add") added();
    if (reduction_ == "mul") multiplied();
    if (reduction_ == "max" || reduction_ == "min") chosen();
    check(dx_[0] || dx_[2] || (!wanted(0) && !wanted(2)), r_.node.description(), ": reduction '",
          reduction_, "' has no gradient");
    return dx_;
  }

 private:
  bool wanted(std::size_t i) const { return r_.wanted[i]; }
  Site site(std::size_t i) const { return gradient_site(r_, i); }

  Value scatter(Value data, Value updates, const char* reduction, std::size_t i) {
    Attributes attributes = attributes_;
    if (reduction) attributes.push_back({"reduction", std::string(reduction)});
    return r_.graph.add_value(
        {.type = r_.node.type(), .inputs = {data, r_.x(1), updates}, .attributes = attributes},
        site(i));
  }
  Value gathered(Value data, std::size_t i) {
    return r_.graph.add_value(
        {.type = gather_, .inputs = {data, r_.x(1)}, .attributes = attributes_}, site(i));
  }
  Value filled(Value like, double value, std::size_t i) {
    return expand_like(r_.graph, scalar_like(r_.graph, like, value, value == 0 ? "zero" : "one"),
                       like, site(i));
  }
  Value where(Value condition, Value yes, Value no, std::size_t i) {
    return r_.graph.add_value({.type = "Where", .inputs = {condition, yes, no}}, site(i));
  }
  // 1 where a equals b, else 0.
  Value equals(Value a, Value b, std::size_t i) {
    return cast(r_.graph, equal(r_.graph, a, b, site(i)), r_.graph.dtype(a), site(i));
  }

  // Overwritten elements get no gradient. (If two updates have one target, neither ONNX nor
  // Lockstep defines which update stays.)
  void replaced() {
    if (wanted(0)) dx_[0] = scatter(r_.dy[0], filled(r_.x(2), 0, 0), nullptr, 0);
    if (wanted(2)) dx_[2] = gathered(r_.dy[0], 2);
  }

  void added() {
    if (wanted(0)) dx_[0] = r_.dy[0];
    if (wanted(2)) dx_[2] = gathered(r_.dy[0], 2);
  }

  // The gradient of a factor is dy times the product of the other factors. An update divides the
  // product by itself, unless it is the only update of its target that is 0: then the product is
  // computed again without the update.
  void multiplied() {
    Graph& graph = r_.graph;
    const Value data = r_.x(0), updates = r_.x(2);
    if (wanted(0)) {
      const Value others = scatter(filled(data, 1, 0), updates, "mul", 0);
      dx_[0] = mul(graph, r_.dy[0], others, site(0));
    }
    if (!wanted(2)) return;
    const Value zero = scalar_like(graph, updates, 0, "zero");
    const Value one = scalar_like(graph, updates, 1, "one");
    const Value is_zero = equals(updates, zero, 2);
    const Value zeros = gathered(scatter(filled(data, 0, 2), is_zero, "add", 2), 2);
    // is_zero is 0 or 1, so only a 0 that is alone gives 1.
    const Value alone = equal(graph, mul(graph, is_zero, zeros, site(2)), one, site(2));
    const Value others = scatter(data, where(alone, one, updates, 2), "mul", 2);
    const Value of_zero = gathered(mul(graph, r_.dy[0], others, site(2)), 2);
    const Value divisor = where(equal(graph, updates, zero, site(2)), one, updates, 2);
    const Value product = gathered(mul(graph, r_.dy[0], r_.y(0), site(2)), 2);
    dx_[2] = where(alone, of_zero, div(graph, product, divisor, site(2)), 2);
  }

  // Divides dy evenly among the data's element and the updates that equal the result, as PyTorch
  // does.
  void chosen() {
    Graph& graph = r_.graph;
    const Value of_data = equals(r_.x(0), r_.y(0), 0);
    const Value of_updates = equals(r_.x(2), gathered(r_.y(0), 2), 2);
    const Value count = scatter(of_data, of_updates, "add", 0);
    const Value share = div(graph, r_.dy[0], count, site(0));
    if (wanted(0)) dx_[0] = mul(graph, of_data, share, site(0));
    if (wanted(2)) dx_[2] = mul(graph, of_updates, gathered(share, 2), site(2));
  }

  const GradientRequest& r_;
  const char* gather_;
  const Attributes attributes_;
  std::string reduction_;
  std::vector<Value> dx_ = std::vector<Value>(3);
};

}  // namespace

std::vector<Value> scatter_elements_gradient(const GradientRequest& request) {
  AttributeReader reader = request.node.attributes();
  return ScatterGradient(request, "GatherElements", {{"axis", reader.integer("axis", 0)}}).run();
}

std::vector<Value> scatter_nd_gradient(const GradientRequest& request) {
  return ScatterGradient(request, "GatherND", {}).run();
}

}  // namespace lockstep
