// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/losses.h"

#include "builders/detection/coding.h"
#include "builders/detection/empty_places.h"
#include "builders/detection/site.h"
#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
Value smooth_l1(Graph& graph, Value predicted, Value target, double beta, const Site& site) {
  const auto named = [&](const char* ending) { return part_of(site, ending); };
  const auto limit = static_cast<float>(beta);
  const Value d = sub(graph, predicted, target, named("_difference"));
  // With m = d cut to [-beta, beta], m (d - m / 2) / beta is both branches.
  const Value m = clip(graph, d, -limit, limit, named("_limited"));
  const Value half = mul(graph, m, shared_number(graph, 0.5), named("_halved"));
  const Value product = mul(graph, m, sub(graph, d, half, named("_rest")), named("_product"));
  return mul(graph, product, shared_number(graph, 1 / beta), site);
}

Value sigmoid_cross_entropy(Graph& graph, Value logits, Value targets, const Site& site) {
  const Value all =
      graph.add_value({.type = "Softplus", .inputs = {logits}}, part_of(site, "_softplus"));
  return sub(graph, all, mul(graph, logits, targets, part_of(site, "_hit")), site);
}

Value masked_sum(Graph& graph, Value x, Value mask, const Site& site) {
  return reduce_sum(graph, mul(graph, x, mask, part_of(site, "_masked")), {}, false, site);
}

Value per_count(Graph& graph, Value x, Value count, const Site& site) {
  const Value divisor = graph.add_value({.type = "Max", .inputs = {count, shared_number(graph, 1)}},
                                        part_of(site, "_divisor"));
  return div(graph, x, divisor, site);
}

Value is_label(Graph& graph, Value labels, int64_t value, const Site& site) {
  const Value hit = equal(graph, labels, shared_integer(graph, value), part_of(site, "_is"));
  return cast(graph, hit, DType::float32, site);
}

Value is_object(Graph& graph, Value labels, const Site& site) {
  const Value above = graph.add_value(
      {.type = "Greater", .inputs = {labels, shared_integer(graph, 0)}}, part_of(site, "_is"));
  return cast(graph, above, DType::float32, site);
}

Value label_accuracy(Graph& graph, Value scores, Value labels, const Site& site) {
  const auto named = [&](const char* ending) { return part_of(site, ending); };
  const Value best = arg_max(graph, scores, 1, false, named("_best"));
  const Value hits =
      cast(graph, equal(graph, best, labels, named("_hit")), DType::float32, named("_hits"));
  const Value counted =
      reduce_sum(graph, present(graph, labels, named("_counts")), {}, false, named("_rows"));
  return per_count(graph, reduce_sum(graph, hits, {}, false, named("_right")), counted, site);
}

void add_loss_over(Net& net, const std::string& name, Value count, bool shared,
                   const std::function<Value(const std::string& name)>& loss_named) {
  if (shared)
    net.loss(name, loss_named(name), count);
  else
    net.loss(name, loss_named(name));
}

}  // namespace lockstep
