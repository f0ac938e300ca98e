// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "lockstep/random.h"
#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kEndless = std::numeric_limits<float>::infinity();

// -- a naive reference

double side_of_box(double from, double to) { return to > from ? to - from : 0; }

// The IoU of two boxes of a list.
double naive_iou(const Doubles& boxes, int64_t a, int64_t b) {
  const double *p = &boxes.values[4 * a], *q = &boxes.values[4 * b];
  const double area_p = side_of_box(p[0], p[2]) * side_of_box(p[1], p[3]);
  const double area_q = side_of_box(q[0], q[2]) * side_of_box(q[1], q[3]);
  if (area_p == 0 || area_q == 0) return 0;
  const double common = side_of_box(std::max(p[0], q[0]), std::min(p[2], q[2])) *
                        side_of_box(std::max(p[1], q[1]), std::min(p[3], q[3]));
  return common / (area_p + area_q - common);
}

// Returns the remaining `candidates`, best first.
std::vector<int64_t> naively_kept(const Doubles& boxes, const Doubles& scores,
                                  std::vector<int64_t> candidates, double threshold) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  for (int64_t candidate : candidates)
    if (std::none_of(kept.begin(), kept.end(), [&](int64_t better) {
          return naive_iou(boxes, better, candidate) > threshold;
        }))
      kept.push_back(candidate);
  return kept;
}

Reference naive_suppression(double threshold, int64_t capacity) {
  return [=](const std::vector<Doubles>& in) {
    const int64_t batch = in[1].dims[0], places = in[1].dims[1];
    Doubles indices{{batch, capacity}, std::vector<double>(batch * capacity, -1)};
    Doubles count{{batch}, {}};
    for (int64_t b = 0; b < batch; ++b) {
      std::vector<int64_t> candidates;
      for (int64_t i = b * places; i < (b + 1) * places; ++i)
        if (in[1][i] > -kEndless) candidates.push_back(i);
      auto kept = naively_kept(in[0], in[1], candidates, threshold);
      kept.resize(std::min(kept.size(), static_cast<std::size_t>(capacity)));
      for (std::size_t i = 0; i < kept.size(); ++i)
        indices[b * capacity + static_cast<int64_t>(i)] = static_cast<double>(kept[i] - b * places);
      count.values.push_back(static_cast<double>(kept.size()));
    }
    return std::vector<Doubles>{indices, count};
  };
}

// Suppresses boxes class by class, then keeps the best of all classes.
Reference naive_results(int64_t classes, double threshold, double overlap, int64_t capacity) {
  return [=](const std::vector<Doubles>& in) {
    const int64_t images = in[1].dims[0], places = in[1].dims[1];
    std::vector<Doubles> results{
        {{images, capacity, 4}, std::vector<double>(images * capacity * 4)},
        {{images, capacity}, std::vector<double>(images * capacity)},
        {{images, capacity}, std::vector<double>(images * capacity)},
        {{images}, {}}};
    for (int64_t image = 0; image < images; ++image) {
      auto class_of = [&](int64_t i) {
        return in.size() > 2 && !in[2].dims.empty() ? static_cast<int64_t>(in[2][i])
                                                    : (i - image * places) % classes;
      };
      std::vector<int64_t> best;
      for (int64_t c = 1; c < classes; ++c) {
        std::vector<int64_t> candidates;
        for (int64_t i = image * places; i < (image + 1) * places; ++i)
          if (class_of(i) == c && in[1][i] > threshold) candidates.push_back(i);
        for (int64_t i : naively_kept(in[0], in[1], candidates, overlap)) best.push_back(i);
      }
      std::stable_sort(best.begin(), best.end(),
                       [&](int64_t a, int64_t b) { return in[1][a] > in[1][b]; });
      best.resize(std::min(best.size(), static_cast<std::size_t>(capacity)));
      for (std::size_t k = 0; k < best.size(); ++k) {
        const int64_t at = image * capacity + static_cast<int64_t>(k);
        for (int64_t j = 0; j < 4; ++j) results[0][4 * at + j] = in[0][4 * best[k] + j];
        results[1][at] = in[1][best[k]];
        results[2][at] = static_cast<double>(class_of(best[k]));
      }
      results[3].values.push_back(static_cast<double>(best.size()));
    }
    return results;
  };
}

// -- cases

Literal floats_of(const std::vector<float>& values, const Dims& dims) {
  return Literal::of<float>(values, dims);
}

// Boxes with frequent overlaps.
Literal some_boxes(int64_t images, int64_t count, uint64_t seed) {
  PhiloxSequence random(seed, 11);
  std::vector<float> values;
  for (int64_t i = 0; i < images * count; ++i) {
    const double x = random.uniform(-20, 100), y = random.uniform(-20, 60);
    for (double v : {x, y, x + random.uniform(5, 60), y + random.uniform(5, 60)})
      values.push_back(static_cast<float>(v));
  }
  return floats_of(values, {images, count, 4});
}

// Scores in 0..1, with `levels` distinct values if given.
Literal some_scores(int64_t images, int64_t count, uint64_t seed, int64_t levels = 0) {
  PhiloxSequence random(seed, 12);
  std::vector<float> values;
  for (int64_t i = 0; i < images * count; ++i)
    values.push_back(levels > 0
                         ? static_cast<float>(random.below(levels)) / static_cast<float>(levels)
                         : static_cast<float>(random.uniform(0, 1)));
  return floats_of(values, {images, count});
}

OpCase suppression_case(const std::string& name, Literal boxes, Literal scores, float threshold,
                        int64_t capacity) {
  return {.name = name,
          .type = "BoxSuppression",
          .domain = kOwnDomain,
          .attributes = {{"threshold", threshold}, {"capacity", capacity}},
          .inputs = {given(std::move(boxes)), given(std::move(scores))},
          .outputs = 2,
          .reference = naive_suppression(threshold, capacity),
          .gradient = false,
          .symbolic_batch = true};
}

OpCase results_case(const std::string& name, Literal boxes, Literal scores, CaseInput classes,
                    int64_t class_count, float threshold, float overlap, int64_t capacity) {
  return {.name = name,
          .type = "DetectionResults",
          .domain = kOwnDomain,
          .attributes = {{"classes", class_count},
                         {"score_threshold", threshold},
                         {"overlap", overlap},
                         {"capacity", capacity}},
          .inputs = {given(std::move(boxes)), given(std::move(scores)), std::move(classes)},
          .outputs = 4,
          .reference = naive_results(class_count, threshold, overlap, capacity),
          .gradient = false,
          .symbolic_batch = true};
}

std::vector<OpCase> suppression_cases() {
  std::vector<OpCase> all;
  for (float threshold : {0.0F, 0.3F, 0.5F, 0.7F, 1.0F})
    all.push_back(suppression_case(join("overlap_", threshold), some_boxes(2, 41, 1),
                                   some_scores(2, 41, 1), threshold, 41));
  for (int64_t capacity : {0, 1, 7, 60})
    all.push_back(suppression_case(join("capacity_", capacity), some_boxes(3, 50, 2),
                                   some_scores(3, 50, 2), 0.3F, capacity));
  all.push_back(
      suppression_case("equal_scores", some_boxes(2, 50, 3), some_scores(2, 50, 3, 4), 0.4F, 50));
  all.push_back(suppression_case("no_boxes", some_boxes(2, 0, 4), some_scores(2, 0, 4), 0.5F, 3));
  all.push_back(suppression_case("no_batch", some_boxes(0, 5, 4), some_scores(0, 5, 4), 0.5F, 3));
  all.push_back(suppression_case("one", some_boxes(1, 1, 5), some_scores(1, 1, 5), 0.5F, 1));
  // The third box has an IoU of exactly 0.5 with the first box; the second box has slightly more.
  all.push_back(suppression_case("iou_is_the_threshold",
                                 floats_of({0, 0, 4, 4, 0, 0, 4, 2.25F, 0, 0, 4, 2}, {1, 3, 4}),
                                 floats_of({0.9F, 0.8F, 0.7F}, {1, 3}), 0.5F, 3));
  all.push_back(
      suppression_case("empty_places", some_boxes(1, 5, 6),
                       floats_of({-kEndless, 0.2F, kNoNumber, kEndless, -kEndless}, {1, 5}), 1, 5));
  all.push_back(suppression_case("zeros_are_equal", some_boxes(1, 4, 6),
                                 floats_of({-0.0F, 0.0F, -0.0F, 0.0F}, {1, 4}), 1, 4));
  all.push_back(suppression_case(
      "no_area", floats_of({0, 0, 4, 4, 4, 4, 0, 0, 1, 1, 1, 3, 1, 1, 3, 1, 5, 5, 2, 9}, {1, 5, 4}),
      floats_of({0.5F, 0.9F, 0.4F, 0.3F, 0.8F}, {1, 5}), 0, 5));
  all.push_back(suppression_case(
      "no_number",
      floats_of({0, 0, 4, 4, kNoNumber, 0, 4, 4, 0, 0, kNoNumber, 4, 0, 0, 4, 4}, {1, 4, 4}),
      floats_of({0.5F, 0.9F, 0.4F, 0.3F}, {1, 4}), 0, 4));
  return all;
}

std::vector<OpCase> result_cases() {
  std::vector<OpCase> all;
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < 2 * 60; ++i) classes.push_back(i * i % 5);
  for (int64_t capacity : {0, 1, 9, 100})
    for (bool named : {false, true})
      all.push_back(results_case(join(named ? "classes_" : "modulo_", capacity),
                                 some_boxes(2, 60, 7), some_scores(2, 60, 7),
                                 named ? labels(classes, {2, 60}) : left_out(), 5, 0.1F, 0.3F,
                                 capacity));
  all.push_back(results_case("equal_scores", some_boxes(2, 60, 8), some_scores(2, 60, 8, 3),
                             left_out(), 7, 0.1F, 0.3F, 20));
  all.push_back(results_case("equal_scores_of_classes", some_boxes(2, 60, 8),
                             some_scores(2, 60, 8, 3), labels(classes, {2, 60}), 5, 0.1F, 0.3F,
                             20));
  all.push_back(results_case("background_only", some_boxes(1, 6, 9), some_scores(1, 6, 9),
                             labels({0, 0, 0, 0, 0, 0}, {1, 6}), 3, 0, 0.5F, 4));
  all.push_back(results_case("one_class", some_boxes(1, 6, 9), some_scores(1, 6, 9), left_out(), 1,
                             0, 0.5F, 4));
  all.push_back(results_case("score_is_the_threshold", some_boxes(1, 3, 9),
                             floats_of({0.25F, 0.5F, 0.75F}, {1, 3}), labels({1, 1, 2}, {1, 3}), 3,
                             0.5F, 1, 4));
  all.push_back(results_case("no_candidates", some_boxes(2, 0, 9), some_scores(2, 0, 9), left_out(),
                             3, 0, 0.5F, 4));
  all.push_back(results_case("no_images", some_boxes(0, 4, 9), some_scores(0, 4, 9), left_out(), 3,
                             0, 0.5F, 4));
  all.push_back(results_case("no_number", some_boxes(1, 4, 9),
                             floats_of({kNoNumber, 0.5F, -kEndless, 0.6F}, {1, 4}),
                             labels({1, 1, 1, 2}, {1, 4}), 3, -1, 1, 4));
  return all;
}

// Without a vote, a hard refinement finds the results of DetectionResults.
std::vector<OpCase> refined_cases() {
  std::vector<OpCase> all;
  for (OpCase& c : result_cases()) {
    c.name = "refined_" + c.name;
    c.type = "RefinedDetections";
    all.push_back(std::move(c));
  }
  return all;
}

OpCase refined_case(const std::string& method, const std::string& vote) {
  OpCase c = results_case("refined_" + method + "_" + vote, some_boxes(5, 200, 1),
                          some_scores(5, 200, 1, 50), left_out(), 9, 0.1F, 0.5F, 100);
  c.type = "RefinedDetections";
  c.attributes.emplace_back("method", method);
  c.attributes.emplace_back("vote", vote);
  c.reference = nullptr;
  return c;
}

class Suppressions : public ::testing::TestWithParam<OpCase> {};
TEST_P(Suppressions, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Boxes, Suppressions, ::testing::ValuesIn(suppression_cases()));
INSTANTIATE_TEST_SUITE_P(Results, Suppressions, ::testing::ValuesIn(result_cases()));
INSTANTIATE_TEST_SUITE_P(Refined, Suppressions, ::testing::ValuesIn(refined_cases()));

TEST(Boxes, ThreadsDoNotChangeWhatIsPicked) {
  expect_same_bits_on_any_threads(
      suppression_case("many", some_boxes(5, 400, 1), some_scores(5, 400, 1), 0.5F, 100));
  expect_same_bits_on_any_threads(results_case(
      "many", some_boxes(5, 400, 1), some_scores(5, 400, 1, 50), left_out(), 9, 0.1F, 0.5F, 100));
}

TEST(Boxes, ThreadsDoNotChangeWhatIsRefined) {
  for (const char* method : {"linear", "gaussian"})
    expect_same_bits_on_any_threads(refined_case(method, "IOU_AVG"));
}

TEST(Boxes, ManyAreKeptInLists) {
  check_case(suppression_case("many", some_boxes(2, 700, 1), some_scores(2, 700, 1), 0.8F, 600));
}

TEST(BoxesErrors, OperandsThatDoNotFitAreNamed) {
  const auto refused = [](OpCase c, const std::string& why) {
    expect_error([&] { check_case(c); }, c.type, why);
  };
  const Literal boxes = some_boxes(1, 4, 1), scores = some_scores(1, 4, 1);
  refused(suppression_case("bad", boxes, scores, 1.5F, 3),
          "the IoU threshold is 1.5, should be in 0..1");
  refused(suppression_case("bad", boxes, scores, 0.5F, -1), "capacity is -1");
  refused(results_case("bad", boxes, scores, labels({0, 1, 2, 3}, {1, 4}), 3, 0, 0.5F, 4),
          "class 3 is outside 0..2");
  refused(results_case("bad", boxes, scores, labels({0, 1, -1, 2}, {1, 4}), 3, 0, 0.5F, 4),
          "class -1 is outside 0..2");
}

}  // namespace
}  // namespace lockstep::testing
