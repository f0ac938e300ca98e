#include "builders/detection/losses.h"

#include "builders/detection/coding.h"
#include "operators/elementwise/elementwise.h"
#include "operators/kit/room.h"
#include "operators/reduce/reduce.h"

namespace lockstep {
namespace {

Site piece(const Site& site, const char* ending) { return Site(site.name + ending, site.where); }

}  // namespace

Value smooth_l1(Graph& graph, Value predicted, Value target, double beta, const Site& site) {
  const auto named = [&](const char* ending) { return piece(site, ending); };
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
      graph.add_value({.type = "Softplus", .inputs = {logits}}, piece(site, "_softplus"));
  return sub(graph, all, mul(graph, logits, targets, piece(site, "_hit")), site);
}

Value masked_sum(Graph& graph, Value x, Value mask, const Site& site) {
  return reduce_sum(graph, mul(graph, x, mask, piece(site, "_masked")), {}, false, site);
}

Value per_count(Graph& graph, Value x, Value count, const Site& site) {
  const Value divisor = graph.add_value({.type = "Max", .inputs = {count, shared_number(graph, 1)}},
                                        piece(site, "_divisor"));
  return div(graph, x, divisor, site);
}

Value is_label(Graph& graph, Value labels, int64_t value, const Site& site) {
  const Value hit = equal(graph, labels, shared_integer(graph, value), piece(site, "_is"));
  return cast(graph, hit, DType::float32, site);
}

Value label_accuracy(Graph& graph, Value scores, Value labels, const Site& site) {
  const auto named = [&](const char* ending) { return piece(site, ending); };
  const Value best = arg_max(graph, scores, 1, false, named("_best"));
  const Value hits =
      cast(graph, equal(graph, best, labels, named("_hit")), DType::float32, named("_hits"));
  const Value counted =
      reduce_sum(graph, present(graph, labels, named("_counts")), {}, false, named("_rows"));
  return per_count(graph, reduce_sum(graph, hits, {}, false, named("_right")), counted, site);
}

}  // namespace lockstep
