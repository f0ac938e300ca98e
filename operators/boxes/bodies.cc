// SPDX-License-Identifier: Apache-2.0
// Both bodies apply NonMaxSuppression to each image and pad its results, whose number varies, to
// the capacity. ONNX swaps the corners of a box of negative size. Lockstep treats such a box, or a
// box with a NaN, as empty, so it becomes a box of zeros before it is compared.
#include "operators/boxes/bodies.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "lockstep/operators.h"
#include "operators/boxes/attributes.h"
#include "operators/kit/body.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

Value repeated(Graph& graph, int64_t value, int64_t count) {
  return graph.constant("fill", Literal::vector(std::vector<int64_t>(count, value)));
}

Value repeated(Graph& graph, Value value, int64_t count) {
  if (const Literal* known = graph.literal(value))
    return repeated(graph, known->values<int64_t>()[0], count);
  return standard(graph, "Expand", {value, graph.constant("places", Literal::vector({count}))});
}

// Reduces conditions for each coordinate [.., n] to [.., 1]: true if all hold.
Value all_hold(Graph& graph, Value conditions) {
  const Attributes last{{"axes", std::vector<int64_t>{-1}}};
  const Value least = standard(graph, "ReduceMin", {cast(graph, conditions, DType::float32)}, last);
  return cast(graph, least, DType::boolean);
}

Value zeros_without_area(Graph& graph, Value boxes) {
  const Value low = slice(graph, boxes, 2, 0, 2), high = slice(graph, boxes, 2, 2, 4);
  const Value has_area = all_hold(graph, standard(graph, "Greater", {high, low}));
  return where(graph, has_area, boxes, shared_number(graph, 0));
}

// The kept candidates of boxes [1, N, 4] with scores [1, classes, N], as (image, class, candidate).
// They are ordered by class, best first within a class.
Value suppressed(Graph& graph, Value boxes, Value scores, int64_t capacity, double overlap,
                 double score_threshold) {
  return standard(graph, "NonMaxSuppression",
                  {zeros_without_area(graph, boxes), scores, shared_integer(graph, capacity),
                   shared_number(graph, overlap), shared_number(graph, score_threshold)});
}

Value column(Graph& graph, Value rows, int64_t number) {
  return gather(graph, rows, shared_integer(graph, number), 1);
}

// Calls results_of(i) for each image and concatenates each result over all images.
template <class ResultsOf>
std::vector<Value> of_every_image(Graph& graph, int64_t images, const ResultsOf& results_of) {
  std::vector<std::vector<Value>> rows;
  for (int64_t i = 0; i < images; ++i) {
    const std::vector<Value> results = results_of(i);
    rows.resize(results.size());
    for (std::size_t k = 0; k < results.size(); ++k) rows[k].push_back(results[k]);
  }
  std::vector<Value> joined;
  for (const std::vector<Value>& row : rows)
    joined.push_back(row.size() == 1 ? row[0] : concat(graph, row, 0));
  return joined;
}

}  // namespace

std::vector<Value> box_suppression_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  const BoxSuppressionAttrs attrs = read_box_suppression(r.node.attributes());
  const auto of_image = [&](int64_t i) -> std::vector<Value> {
    const Value boxes = slice(graph, r.x(0), 0, i, i + 1),
                scores = slice(graph, r.x(1), 0, i, i + 1);
    const Value of_one_class = reshape(graph, scores, {1, 1, -1});
    const Value kept = column(
        graph, suppressed(graph, boxes, of_one_class, attrs.capacity, attrs.threshold, -INFINITY),
        2);
    const Value filled = concat(graph, {kept, repeated(graph, -1, attrs.capacity)}, 0);
    return {reshape(graph, slice(graph, filled, 0, 0, attrs.capacity), {1, attrs.capacity}),
            standard(graph, "Shape", {kept})};
  };
  return of_every_image(graph, known_size(graph, r.x(0), 0), of_image);
}

// Scores are split by class, so that each class compares only its own candidates. The results of
// all classes, ordered by class, score and candidate, are then sorted by score; TopK keeps this
// order among equal scores.
std::vector<Value> detection_results_body(const BodyRequest& r) {
  Graph& graph = r.graph;
  const DetectionAttrs attrs = read_detection(r.node.attributes());
  const Value count = size_of_axis(graph, r.x(1), 1);
  const int64_t capacity = attrs.capacity;
  const Value zero = shared_number(graph, 0), no_score = shared_number(graph, -INFINITY);
  std::vector<int64_t> objects(attrs.classes - 1);
  std::iota(objects.begin(), objects.end(), 1);
  const Value classes =
      graph.constant("classes", Literal::of<int64_t>(objects, {1, attrs.classes - 1, 1}));
  const auto class_of = [&](int64_t i) {
    if (r.x(2)) return reshape(graph, slice(graph, r.x(2), 0, i, i + 1), {1, 1, -1});
    const Value places =
        standard(graph, "Range", {shared_integer(graph, 0), count, shared_integer(graph, 1)});
    return reshape(graph, standard(graph, "Mod", {places, shared_integer(graph, attrs.classes)}),
                   {1, 1, -1});
  };
  const auto of_image = [&](int64_t i) -> std::vector<Value> {
    const Value boxes = slice(graph, r.x(0), 0, i, i + 1);
    const Value most = shared_number(graph, std::numeric_limits<float>::max());
    const Value finite =
        all_hold(graph, standard(graph, "LessOrEqual", {standard(graph, "Abs", {boxes}), most}));
    const Value scores = reshape(graph, slice(graph, r.x(1), 0, i, i + 1), {1, 1, -1});
    const Value counted = where(graph, reshape(graph, finite, {1, 1, -1}), scores, no_score);
    const Value own = where(graph, equal(graph, class_of(i), classes), counted, no_score);
    const Value kept =
        suppressed(graph, boxes, own, capacity, attrs.overlap, attrs.score_threshold);
    // Empty slots refer to candidate `count`, a box of zeros.
    const Value found =
        concat(graph, {column(graph, kept, 2), repeated(graph, count, capacity)}, 0);
    const Value found_class = concat(graph,
                                     {add(graph, column(graph, kept, 1), shared_integer(graph, 1)),
                                      repeated(graph, 0, capacity)},
                                     0);
    const Value score_of =
        concat(graph, {reshape(graph, scores, {-1}), reshape(graph, no_score, {1})}, 0);
    const Value no_box =
        graph.constant("no_box", Literal::of<float>(std::vector<float>(4, 0), {1, 4}));
    const Value box_of = concat(graph, {reshape(graph, boxes, {-1, 4}), no_box}, 0);
    const Best best = top_k(graph, gather(graph, score_of, found, 0), capacity, 0, {"best"});
    const Value candidate = gather(graph, found, best.places, 0);
    const Value here = standard(graph, "Less", {candidate, count});
    return {reshape(graph, gather(graph, box_of, candidate, 0), {1, capacity, 4}),
            reshape(graph, where(graph, here, best.values, zero), {1, capacity}),
            reshape(graph, gather(graph, found_class, best.places, 0), {1, capacity}),
            reduce_sum(graph, cast(graph, here, DType::int64), {0}, true)};
  };
  return of_every_image(graph, known_size(graph, r.x(0), 0), of_image);
}

}  // namespace lockstep
