// SPDX-License-Identifier: Apache-2.0
#include "builders/net/output_losses.h"

#include <algorithm>
#include <optional>

#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

std::string named(const Graph& graph, Value value) {
  return join("'", graph.name(value), "' ", graph.type(value));
}

Value one_input(Graph& graph, const char* type, Value x, const Site& site) {
  return graph.add_value({.type = type, .inputs = {x}}, site);
}

Value smaller(Graph& graph, Value a, Value b, const Site& site) {
  return graph.add_value({.type = "Min", .inputs = {a, b}}, site);
}

Value as_float(Graph& graph, Value x, const Site& site) {
  return graph.dtype(x) == DType::float32 ? x : cast(graph, x, DType::float32, site);
}

bool may_equal(const Dim& a, const Dim& b) { return !a.known() || !b.known() || a == b; }

// The axis of size 1 that the longer shape has besides the shorter one: the last, or the channel;
// nothing if the shapes do not fit.
std::optional<std::size_t> extra_axis(const Shape& longer, const Shape& shorter) {
  if (longer.size() != shorter.size() + 1) return std::nullopt;
  for (const std::size_t axis : {shorter.size(), std::size_t{1}}) {
    if (axis >= longer.size() || !longer[axis].known() || longer[axis].size() != 1) continue;
    bool fits = true;
    for (std::size_t i = 0; i < shorter.size(); ++i)
      fits = fits && may_equal(shorter[i], longer[i + (i >= axis)]);
    if (fits) return axis;
  }
  return std::nullopt;
}

// A target [N] belongs to a prediction [N, 1], and the other way round; a mask [N, H, W] to a
// prediction [N, 1, H, W]. Broadcasting [N] and [N, 1] to [N, N] would train something else without
// a word.
Value target_like(Graph& graph, Value target, Value prediction, const Site& site) {
  const Shape &from = graph.shape(target), &to = graph.shape(prediction);
  const bool grows = to.size() > from.size();
  const auto axis = grows ? extra_axis(to, from) : extra_axis(from, to);
  bool fits = axis || from.size() == to.size();
  for (std::size_t i = 0; fits && !axis && i < to.size(); ++i) fits = may_equal(from[i], to[i]);
  check(fits, "the target ", named(graph, target), " does not fit the output ",
        named(graph, prediction));
  const Value floats = as_float(graph, target, site);
  if (!axis) return floats;
  const Value axes = graph.constant(join(site.name, graph.name(target), "_axis"),
                                    Literal::vector({static_cast<int64_t>(*axis)}));
  return graph.add_value({.type = grows ? "Unsqueeze" : "Squeeze", .inputs = {floats, axes}}, site);
}

// The mask repeated over the dimensions of `like` that the mask lacks. `like` is data: a count that
// depended on the network could not be summed over micro-batches before the first of them runs.
Value mask_like(Graph& graph, Value mask, Value like, const Site& site) {
  const Shape &short_shape = graph.shape(mask), &shape = graph.shape(like);
  bool fits = short_shape.size() <= shape.size();
  for (std::size_t i = 0; fits && i < short_shape.size(); ++i)
    fits = may_equal(short_shape[i], shape[i]);
  check(fits, "the mask ", named(graph, mask), " does not fit the losses of ", named(graph, like));
  std::vector<int64_t> dims(short_shape.size(), 0);  // 0 copies a dimension
  dims.resize(shape.size(), 1);
  const Value floats = as_float(graph, mask, site);
  return expand_like(graph, reshape(graph, floats, dims, site), like, site);
}

MeanLoss counted_mean(Graph& graph, Value losses, Value counts, const Site& site) {
  const Value count = reduce_sum(graph, counts, {}, false, site);
  const Value total = reduce_sum(graph, mul(graph, losses, counts, site), {}, false, site);
  const Value one = shared_number(graph, 1);
  const Value divisor = graph.add_value({.type = "Max", .inputs = {count, one}}, site);
  return {div(graph, total, divisor, site), count};
}

// 1 where the target is not the ignored number, else 0.
Value counted_targets(Graph& graph, Value target, const OutputLossOptions& options,
                      const Site& site) {
  const Value ignored =
      equal(graph, target, shared_number(graph, static_cast<float>(options.ignore)), site);
  return as_float(graph, one_input(graph, "Not", ignored, site), site);
}

MeanLoss mean_of(Graph& graph, Value losses, Value mask, Value target,
                 const OutputLossOptions& options, const Site& site) {
  Value counts = mask ? mask_like(graph, mask, target, site) : none;
  if (options.ignores_numbers) {
    const Value counted = counted_targets(graph, target, options, site);
    counts = counts ? mul(graph, counts, counted, site) : counted;
  }
  if (!counts) return {reduce_mean(graph, losses, {}, false, site)};
  return counted_mean(graph, losses, counts, site);
}

struct Difference {
  Value error, target;
};
Difference error_of(Graph& graph, const LossOperands& operands, const Site& site) {
  const Value target = target_like(graph, operands.target, operands.prediction, site);
  return {sub(graph, operands.prediction, target, site), target};
}

MeanLoss squared(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                 const Site& site) {
  const auto [error, target] = error_of(graph, operands, site);
  return mean_of(graph, mul(graph, error, error, site), operands.mask, target, options, site);
}

MeanLoss absolute(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                  const Site& site) {
  const auto [error, target] = error_of(graph, operands, site);
  return mean_of(graph, one_input(graph, "Abs", error, site), operands.mask, target, options, site);
}

// Up to delta a half of the square, beyond a line: with q = min(|error|, delta) both are
// q * (|error| - q / 2).
MeanLoss huber(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
               const Site& site) {
  const auto [error, target] = error_of(graph, operands, site);
  const Value size = one_input(graph, "Abs", error, site);
  const Value delta = shared_number(graph, static_cast<float>(options.delta));
  const Value inner = smaller(graph, size, delta, site);
  const Value rest = sub(graph, size, scale(graph, inner, 0.5F, site), site);
  return mean_of(graph, mul(graph, inner, rest, site), operands.mask, target, options, site);
}

// The operand of the activation that makes `value`, if its type is one of `types`.
Value before(const Graph& graph, Value value, const std::vector<std::string>& types) {
  const auto maker = graph.producer(value);
  const bool found = maker && std::find(types.begin(), types.end(), maker->type()) != types.end();
  return found ? maker->inputs()[0] : value;
}

// max(x, 0) - x t + log(1 + exp(-|x|)), which never overflows.
MeanLoss binary(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                const Site& site) {
  const Value x = before(graph, operands.prediction, {"Sigmoid"});
  const Value target = target_like(graph, operands.target, x, site);
  const Value linear = sub(graph, relu(graph, x, site), mul(graph, x, target, site), site);
  const Value away = neg(graph, one_input(graph, "Abs", x, site), site);
  const Value rest = one_input(graph, "Softplus", away, site);
  return mean_of(graph, add(graph, linear, rest, site), operands.mask, target, options, site);
}

// The shape without one axis.
bool fits_without(const Shape& scores, std::size_t axis, const Shape& labels) {
  for (std::size_t i = 0, j = 0; i < scores.size(); ++i)
    if (i != axis && !may_equal(scores[i], labels[j++])) return false;
  return true;
}

// The axis of the classes: 1, as in PyTorch, or the last if only the last one fits the labels.
std::size_t class_axis(const Graph& graph, Value scores, Value labels, int64_t wanted) {
  const Shape &from = graph.shape(scores), &of_labels = graph.shape(labels);
  const auto rank = static_cast<int64_t>(from.size());
  check(rank >= 2 && of_labels.size() + 1 == from.size(), "labels ", named(graph, labels),
        " do not fit the scores ", named(graph, scores), ", which should have one dimension more");
  check(wanted >= -rank && wanted < rank, "the scores ", named(graph, scores), " have no axis ",
        wanted);
  if (wanted != 0) return static_cast<std::size_t>(wanted < 0 ? wanted + rank : wanted);
  for (const std::size_t axis : {std::size_t{1}, from.size() - 1})
    if (fits_without(from, axis, of_labels)) return axis;
  fail("labels ", named(graph, labels), " do not fit the scores ", named(graph, scores),
       ": no axis of classes leaves their shape");
}

// Scores [N, .., C] become [places, C] with labels [places].
void flatten_places(Graph& graph, Value& scores, Value& labels, std::size_t axis,
                    const Site& site) {
  const std::size_t rank = graph.shape(scores).size();
  if (axis + 1 != rank || rank == 2) {
    check(axis == 1, "the axis of the classes should be 1 or the last, is ", axis);
    return;
  }
  const Dim& classes = graph.shape(scores)[axis];
  check(classes.known(), "the scores ", named(graph, scores), " have an unknown number of classes");
  scores = reshape(graph, scores, {-1, classes.size()}, site);
  labels = reshape(graph, labels, {-1}, site);
}

MeanLoss cross_entropy(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                       const Site& site) {
  Value scores = scores_behind(graph, operands.prediction);
  Value labels = operands.target;
  check(!is_floating(graph.dtype(labels)) && graph.dtype(labels) != DType::boolean, "labels ",
        named(graph, labels), " should be integers");
  if (graph.shape(labels).size() == graph.shape(scores).size()) {
    const Dim& last = graph.shape(labels).back();
    check(last.known() && last.size() == 1, "labels ", named(graph, labels),
          " do not fit the scores ", named(graph, scores));
    std::vector<int64_t> dims(graph.shape(labels).size() - 1, 0);
    labels = reshape(graph, labels, dims, site);
  }
  flatten_places(graph, scores, labels, class_axis(graph, scores, labels, options.axis), site);
  if (graph.dtype(labels) != DType::int64) labels = cast(graph, labels, DType::int64, site);
  const CrossEntropyAttrs attrs{
      .reduction = "none", .ignores = true, .ignore_index = options.ignore};
  const Value losses = softmax_cross_entropy(graph, scores, labels, none, attrs, site);
  const Value ignored = equal(graph, labels, shared_integer(graph, options.ignore), site);
  const Value counts = as_float(graph, one_input(graph, "Not", ignored, site), site);
  if (!operands.mask) return counted_mean(graph, losses, counts, site);
  Value mask = operands.mask;
  if (graph.shape(labels).size() == 1 && graph.shape(mask).size() > 1)
    mask = reshape(graph, mask, {-1}, site);
  return counted_mean(graph, losses, mul(graph, counts, mask_like(graph, mask, labels, site), site),
                      site);
}

}  // namespace

Value logits_behind(const Graph& graph, Value value) { return before(graph, value, {"Sigmoid"}); }

Value scores_behind(const Graph& graph, Value value) {
  return before(graph, value, {"Softmax", "LogSoftmax"});
}

const std::vector<OutputLoss>& output_losses() {
  static const std::vector<OutputLoss> losses{
      {"mse", "the mean square of the errors", false, squared},
      {"l1", "the mean of the absolute errors", false, absolute},
      {"huber", "half the square of errors up to `delta`, a line beyond", false, huber},
      {"bce", "the binary cross entropy of scores and targets from 0 to 1", false, binary},
      {"cross_entropy", "the cross entropy of scores and integer labels", true, cross_entropy}};
  return losses;
}

const OutputLoss* find_output_loss(const std::string& name) {
  for (const OutputLoss& loss : output_losses())
    if (loss.name == name) return &loss;
  return nullptr;
}

}  // namespace lockstep
