// SPDX-License-Identifier: Apache-2.0
// The focal losses in ONNX's operators, on logits [I, anchors, classes, cells] and labels
// [I, anchors, 1, cells].
#include <cmath>
#include <numeric>

#include "lockstep/operators.h"
#include "operators/kit/body.h"
#include "operators/kit/operator_helpers.h"
#include "operators/loss/focal.h"

namespace lockstep {
namespace {

struct FocalOperands {
  FocalAttrs attrs;
  Value logits, labels;

  FocalOperands(const BodyRequest& r, int64_t background) : attrs(read_focal(r.node.attributes())) {
    const int64_t planes = attrs.classes + background;
    const int64_t anchors = known_size(r.graph, r.x(0), 1) / planes;
    logits = reshape(r.graph, r.x(0), {0, anchors, planes, -1});
    labels = cast(r.graph, reshape(r.graph, r.x(1), {0, anchors, 1, -1}), DType::int64);
  }
  // alpha for an object, 1 - alpha otherwise.
  Value share(Graph& graph, Value is_object) const {
    return where(graph, is_object, shared_number(graph, attrs.alpha),
                 shared_number(graph, 1 - attrs.alpha));
  }
  Value to_gamma(Graph& graph, Value x) const {
    return standard(graph, "Pow", {x, shared_number(graph, attrs.gamma)});
  }
};

// The sum of the terms that are not ignored, divided by the number of objects.
std::vector<Value> of_each_object(const BodyRequest& r, const FocalOperands& of, Value terms) {
  Graph& graph = r.graph;
  const Value counts = standard(graph, "GreaterOrEqual", {of.labels, shared_integer(graph, 0)});
  const Value sum =
      reduce_sum(graph, where(graph, counts, terms, shared_number(graph, 0)), {}, false);
  const Value objects = standard(graph, "Max", {r.x(2), shared_number(graph, 1)});
  return {reshape(graph, div(graph, sum, objects), {})};
}

}  // namespace

// Sums sigmoid(s)^gamma softplus(s), with s = -x for the label's class and s = x for any other
// class.
std::vector<Value> sigmoid_focal_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  const FocalOperands of(r, 0);
  std::vector<int64_t> numbers(of.attrs.classes);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Value classes =
      graph.constant("classes", Literal::of<int64_t>(numbers, {of.attrs.classes, 1}));
  const Value own = equal(graph, of.labels, classes);
  const Value s = where(graph, own, neg(graph, of.logits), of.logits);
  const Value curve =
      mul(graph, of.to_gamma(graph, sigmoid(graph, s)), standard(graph, "Softplus", {s}));
  return of_each_object(r, of, mul(graph, of.share(graph, own), curve));
}

std::vector<Value> softmax_focal_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  const FocalOperands of(r, 1);
  const Value zero = shared_integer(graph, 0);
  const Value own = standard(graph, "Max", {of.labels, zero});
  const Value log_p = gather_elements(
      graph, standard(graph, "LogSoftmax", {of.logits}, {{"axis", int64_t{2}}}), own, 2);
  const Value miss = sub(graph, shared_number(graph, 1), standard(graph, "Exp", {log_p}));
  const Value term = mul(graph, of.to_gamma(graph, miss), neg(graph, log_p));
  const Value is_object = standard(graph, "Greater", {of.labels, zero});
  return of_each_object(r, of, mul(graph, of.share(graph, is_object), term));
}

}  // namespace lockstep
