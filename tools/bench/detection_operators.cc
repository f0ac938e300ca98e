// SPDX-License-Identifier: Apache-2.0
// Times the kernels of detectors' operators at 800 x 1344 on one thread, without copies of feeds.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "graph/gradient.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "operators/boxes/boxes.h"
#include "operators/roi/roi.h"
#include "operators/targets/targets.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tools/bench/bench.h"
#include "tools/bench/options.h"

namespace lockstep {
namespace {

constexpr int64_t kHeight = 800, kWidth = 1344;

// A graph of one operator, with its operands.
class DetectionProbe {
 public:
  Graph graph{all_ops(), "probe"};

  Value feed(const std::string& name, Literal value) {
    feeds_.push_back(name);
    values_.push_back(std::move(value));
    return graph.input(name, values_.back().type());
  }

  double median_milliseconds(const std::vector<Value>& results) const {
    constexpr int kRuns = 9;
    std::vector<Dims> dims;
    std::vector<Tensor> tensors;
    for (const Literal& value : values_) {
      dims.push_back(value.dims());
      tensors.push_back(view_of(value));
    }
    std::vector<std::string> fetches;
    for (const Value result : results) fetches.push_back(graph.name(result));
    States none_kept({}, {});
    Workers workers(1, 1);
    const auto executor = make_executor(compile({.graph = graph,
                                                 .feeds = feeds_,
                                                 .feed_dims = dims,
                                                 .fetches = fetches,
                                                 .devices = cpu_devices(1),
                                                 .kernels = all_kernels()}),
                                        none_kept, workers);
    std::vector<double> milliseconds;
    for (int i = 0; i <= kRuns; ++i) {  // the first run touches memory
      StepTimes times(executor->plan().steps.size(), 0);
      executor->run(tensors, {.context = {1, 0}, .times = &times});
      double total = 0;
      for (const double seconds : times) total += 1e3 * seconds;
      if (i > 0) milliseconds.push_back(total);
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    return milliseconds[kRuns / 2];
  }

 private:
  std::vector<std::string> feeds_;
  std::vector<Literal> values_;
};

Literal uniform_literal(const Dims& dims, uint64_t stream) {
  PhiloxSequence random(1, stream);
  std::vector<float> values(element_count(dims));
  for (float& value : values) value = static_cast<float>(random.uniform());
  return Literal::of<float>(values, dims);
}

// `count` boxes of 16 to 512 pixels spread over the input. benchmarks/compare_torchvision.py makes
// equal boxes: a formula spreads the numbers evenly.
std::vector<float> spread_boxes(int64_t count) {
  std::vector<float> boxes;
  for (int64_t i = 0; i < count; ++i) {
    const auto spread = [&](int axis) {
      double whole = 0;
      return std::modf(static_cast<double>(i + 1) / std::pow(1.1673039782614187, axis), &whole);
    };
    const double side = 16 * std::exp2(5 * spread(1)), aspect = std::exp2(spread(2) - 0.5);
    const double x = kWidth * spread(3), y = kHeight * spread(4);
    for (const double end : {x - side * aspect / 2, y - side / aspect / 2, x + side * aspect / 2,
                             y + side / aspect / 2})
      boxes.push_back(static_cast<float>(
          std::clamp(end, 0.0, static_cast<double>(boxes.size() % 2 == 0 ? kWidth : kHeight))));
  }
  return boxes;
}

// -- The rows

double best_scores() {
  DetectionProbe probe;
  const Value scores = probe.feed("scores", uniform_literal({1, 201600}, 1));
  const Value count = probe.graph.constant("count", Literal::vector({2000}));
  const Node best =
      probe.graph.add({.type = "TopK", .inputs = {scores, count}, .outputs = 2}, "best");
  return probe.median_milliseconds({best.outputs()[0], best.outputs()[1]});
}

// Three anchors a cell of levels with strides 4 to 64, and 50 objects.
double anchor_targets() {
  constexpr int64_t kObjects = 50;
  DetectionProbe probe;
  AnchorTargetsAttrs attrs;
  for (int64_t stride = 4; stride <= 64; stride *= 2) {
    AnchorLevel level;
    level.stride = stride;
    level.height = (kHeight + stride - 1) / stride;
    level.width = (kWidth + stride - 1) / stride;
    for (const double aspect : {0.5, 1.0, 2.0}) {
      const auto x = static_cast<float>(4 * static_cast<double>(stride) / std::sqrt(aspect));
      const auto y = static_cast<float>(4 * static_cast<double>(stride) * std::sqrt(aspect));
      level.anchors.insert(level.anchors.end(), {-x, -y, x, y});
    }
    attrs.levels.push_back(level);
  }
  const std::vector<float> info{kHeight, kWidth, 1};
  const TrueBoxes truth{
      probe.feed("gt_boxes", Literal::of<float>(spread_boxes(kObjects), {1, kObjects, 4})),
      probe.feed("gt_classes",
                 Literal::of<int64_t>(std::vector<int64_t>(kObjects, 1), {1, kObjects})),
      probe.feed("gt_crowd",
                 Literal::of<int64_t>(std::vector<int64_t>(kObjects, 0), {1, kObjects}))};
  const Value im_info = probe.feed("im_info", Literal::of<float>(info, {1, 3}));
  const Value number = probe.feed("image_number", Literal::vector({1}));
  std::vector<Value> results;
  for (const SampledAnchors& level :
       sampled_anchor_targets(probe.graph, truth, im_info, number, attrs, "targets"))
    results.insert(results.end(), {level.places, level.labels, level.targets});
  return probe.median_milliseconds(results);
}

// Boxes like the proposals of an RPN: several around each box of spread_boxes().
std::vector<float> proposed_boxes(int64_t count) {
  const std::vector<float> places = spread_boxes(count / 8);
  PhiloxSequence random(1, 3);
  std::vector<float> boxes;
  for (int64_t i = 0; i < count; ++i) {
    const float* place = places.data() + 4 * random.below(count / 8);
    const double shift = 0.2 * static_cast<double>(place[2] - place[0]);
    for (int64_t k = 0; k < 4; ++k)
      boxes.push_back(place[k] + static_cast<float>(shift * random.uniform(-1, 1)));
  }
  return boxes;
}

double suppression(int64_t count, int64_t capacity) {
  DetectionProbe probe;
  const Value boxes = probe.feed("boxes", Literal::of<float>(proposed_boxes(count), {1, count, 4}));
  const Value scores = probe.feed("scores", uniform_literal({1, count}, 2));
  const SuppressedBoxes kept =
      box_suppression(probe.graph, boxes, scores, {.capacity = capacity}, "kept");
  return probe.median_milliseconds({kept.indices, kept.count});
}
double suppression_of_a_level() { return suppression(2000, 1000); }
double suppression_of_an_image() { return suppression(12000, 2000); }

// 1,000 RoIs with a box and a score for each of 81 classes; a few classes are likely.
double detection_results_of_rois() {
  constexpr int64_t kRois = 1000, kClasses = 81;
  DetectionProbe probe;
  PhiloxSequence random(1, 4);
  const std::vector<float> places = proposed_boxes(kRois);
  std::vector<float> boxes, scores;
  for (int64_t i = 0; i < kRois; ++i)
    for (int64_t c = 0; c < kClasses; ++c) {
      for (int64_t k = 0; k < 4; ++k)
        boxes.push_back(places[4 * i + k] + static_cast<float>(random.uniform(-4, 4)));
      scores.push_back(static_cast<float>(std::pow(random.uniform(), 40)));
    }
  const Value box = probe.feed("boxes", Literal::of<float>(boxes, {1, kRois * kClasses, 4}));
  const Value score = probe.feed("scores", Literal::of<float>(scores, {1, kRois * kClasses}));
  const Detections found =
      detection_results(probe.graph, box, score, none, {.classes = kClasses}, "found");
  return probe.median_milliseconds({found.boxes, found.scores, found.classes, found.count});
}

// 512 RoIs, each the box of an object whose outline is an ellipse of 40 corners.
double mask_targets_of_rois() {
  constexpr int64_t kRois = 512, kCorners = 40;
  DetectionProbe probe;
  std::vector<float> outlines, boxes = spread_boxes(kRois);
  std::vector<int64_t> matches(kRois), vertex_of;
  std::iota(matches.begin(), matches.end(), 0);
  for (int64_t i = 0; i < kRois * kCorners; ++i) {
    const float* box = &boxes[4 * (i / kCorners)];
    const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(i % kCorners) / kCorners;
    outlines.push_back((box[0] + box[2] + (box[2] - box[0]) * std::cos(angle)) / 2);
    outlines.push_back((box[1] + box[3] + (box[3] - box[1]) * std::sin(angle)) / 2);
    vertex_of.insert(vertex_of.end(), {i / kCorners, 0});
  }
  const Dims drawn{1, kRois * kCorners, 2};
  const Value rois = probe.feed("rois", Literal::of<float>(boxes, {1, kRois, 4}));
  const Value rows = probe.feed("matches", Literal::of<int64_t>(matches, {1, kRois}));
  const TrueShapes shapes{probe.feed("vertices", Literal::of<float>(outlines, drawn)),
                          probe.feed("vertex_of", Literal::of<int64_t>(vertex_of, drawn)), none};
  return probe.median_milliseconds({mask_targets(probe.graph, rois, rows, shapes, {}, "masks")});
}

// 1,024 RoIs of 256 channels from levels with strides 4 to 32.
struct PooledLevels {
  DetectionProbe probe;
  std::vector<Value> features;
  Value y;

  PooledLevels() {
    constexpr int64_t kRois = 1024, kChannels = 256;
    const std::vector<float> boxes = spread_boxes(kRois);
    std::vector<int64_t> levels;
    for (int64_t i = 0; i < kRois; ++i) {
      const double area = static_cast<double>(boxes[4 * i + 2] - boxes[4 * i]) *
                          static_cast<double>(boxes[4 * i + 3] - boxes[4 * i + 1]);
      const double level = std::floor(4 + std::log2(std::sqrt(area) / 224 + 1e-6));
      levels.push_back(static_cast<int64_t>(std::clamp(level, 2.0, 5.0)) - 2);
    }
    std::vector<float> scales;
    for (int64_t l = 0; l < 4; ++l) {
      const int64_t stride = 4 << l;
      scales.push_back(1 / static_cast<float>(stride));
      features.push_back(probe.feed(
          join("p", l + 2), uniform_literal({1, kChannels, kHeight / stride, kWidth / stride}, l)));
    }
    const Value rois = probe.feed("rois", Literal::of<float>(boxes, {kRois, 4}));
    const Value images = probe.feed("images", Literal::vector(std::vector<int64_t>(kRois, 0)));
    const Value place = probe.feed("levels", Literal::vector(levels));
    y = multilevel_roi_align(probe.graph, features, rois, images, place, scales,
                             {.sampling_ratio = 2}, "pooled");
  }
};

double pooled_forward() {
  const PooledLevels pooled;
  return pooled.probe.median_milliseconds({pooled.y});
}

double pooled_backward() {
  PooledLevels pooled;
  const Dims dims = to_dims(pooled.probe.graph.shape(pooled.y));
  const Value dy = pooled.probe.feed("dy", uniform_literal(dims, 9));
  return pooled.probe.median_milliseconds(
      add_gradients(pooled.probe.graph, {{pooled.y, dy}}, pooled.features).values);
}

struct DetectionRow {
  const char* name;
  double most;  // bound in milliseconds; 0: compare_torchvision.py measures the bound
  double (*milliseconds)();
};

const std::vector<DetectionRow> kDetectionRows{
    {"TopK, 2000 of 201600", 5, best_scores},
    {"AnchorTargets of 50 objects", 40, anchor_targets},
    {"MaskTargets of 512 RoIs, 28 x 28", 10, mask_targets_of_rois},
    {"BoxSuppression, 2000 to 1000", 10, suppression_of_a_level},
    {"BoxSuppression, 12000 to 2000", 60, suppression_of_an_image},
    {"DetectionResults of 1000 RoIs x 81 classes", 0, detection_results_of_rois},
    {"MultilevelRoiAlign of 1024 RoIs x 256 x 7 x 7", 0, pooled_forward},
    {"its gradient", 0, pooled_backward}};

int bench_detection_operators(bool as_json) {
  nlohmann::json rows = nlohmann::json::array();
  if (!as_json) std::cout << "      ms   below  at 800 x 1344, one thread\n";
  for (const DetectionRow& row : kDetectionRows) {
    const double taken = row.milliseconds();
    rows.push_back({{"name", row.name}, {"milliseconds", taken}, {"below", row.most}});
    if (as_json) continue;
    std::cout << std::fixed << std::setprecision(2) << std::setw(8) << taken << std::setw(8)
              << (row.most > 0 ? std::to_string(static_cast<int>(row.most)) : "") << "  "
              << row.name << std::endl;
  }
  if (as_json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_bench_detection_operators(CLI::App& bench, Command& chosen) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = bench.add_subcommand(
      "detection-operators", "a detector's operators on an input of 800 x 1344, one thread");
  add_json(*command, *as_json);
  command->footer("Example:  lockstep bench detection-operators");
  command->callback([=, &chosen] { chosen = [=] { return bench_detection_operators(*as_json); }; });
}

}  // namespace lockstep
