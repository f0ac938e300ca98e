// SPDX-License-Identifier: Apache-2.0
// RoI pooling of arbitrary boxes, of bad indices, and on several threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/session_options.h"
#include "tests/operators/roi_cases.h"
#include "tests/support/case_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/own_operators.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

std::vector<Literal> results(const OpCase& c, int threads = 1) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (const Value output : built.outputs) fetches.push_back(built.graph.name(output));
  CompileOptions options = guarded();
  options.threads = threads;
  return CaseRunner(built.graph, c, built.feeds, fetches, options).run(fed_values(c));
}

TEST(RoiPoolingErrors, IndicesOutsideAreNamed) {
  OpCase c = align_case("bad", {2, 1, 4, 4}, {{0, 0, 4, 4}, {0, 0, 4, 4}}, {0, 2}, {});
  expect_error([&] { results(c); }, "RoiAlign: image 2 of RoI 1 is outside 0..1");
  c = align_case("bad", {2, 1, 4, 4}, {{0, 0, 4, 4}}, {-1}, {.max = true});
  expect_error([&] { results(c); }, "RoiAlign: image -1 of RoI 0 is outside 0..1");
  c = pool_case("bad", {2, 1, 4, 4}, {{2, 0, 0, 4, 4}});
  expect_error([&] { results(c); }, "MaxRoiPool: image 2 of RoI 0 is outside 0..1");
  c = pool_case("bad", {2, 1, 4, 4}, {{std::nanf(""), 0, 0, 4, 4}});
  expect_error([&] { results(c); }, "MaxRoiPool: image nan of RoI 0 is outside 0..1");
  c = multilevel_case("bad", {{1, 1, 4, 4}, {1, 1, 2, 2}}, {{0, 0, 4, 4}}, {0}, {2});
  expect_error([&] { results(c); }, "MultilevelRoiAlign: level 2 of RoI 0 is outside -1..1");
  const OpCase position = position_case("bad", {2, 4, 4, 4}, {{0, 0, 4, 4}, {0, 0, 4, 4}}, {1, 2});
  expect_error([&] { results(position); }, "PSRoIPool", "image 2 of RoI 1 is outside 0..1");
  c.inputs[2] = indices_of({1});
  c.inputs[1] = indices_of({1});
  expect_error([&] { results(c); }, "MultilevelRoiAlign: image 1 of RoI 0 is outside 0..0");
}

TEST(RoiPoolingErrors, OperandsThatDoNotFitAreNamed) {
  const OpCase good = align_case("bad", {1, 1, 4, 4}, {{0, 0, 4, 4}}, {0}, {});
  const auto refused = [](OpCase c, const auto& spoil, const std::string& why) {
    spoil(c);
    expect_error([&] { results(c); }, "node (" + c.type, why);
  };
  refused(
      good,
      [](OpCase& c) {
        c.inputs[1] = random({1, 5});
      },
      "its input 1, is float32[1,5]");
  refused(
      good,
      [](OpCase& c) {
        c.inputs[2] = indices_of({0, 0});
      },
      "2");
  refused(
      good, [](OpCase& c) { c.attributes[0].second = int64_t{0}; }, "the output is 0 x 3");
  refused(
      good, [](OpCase& c) { c.attributes[2].second = int64_t{-1}; }, "sampling_ratio is -1");
  refused(
      good, [](OpCase& c) { c.attributes[3].second = "pixel"; }, "'pixel'");
  refused(
      good, [](OpCase& c) { c.attributes[4].second = "median"; }, "mode is 'median'");
  refused(
      good, [](OpCase& c) { c.attributes[5].second = 0.0F; }, "spatial_scale is 0");
  refused(
      pool_case("bad", {1, 1, 4, 4}, {{0, 0, 0, 3, 3}}),
      [](OpCase& c) {
        c.inputs[1] = random({1, 4});
      },
      "its input 1, is float32[1,4]");
}

// Boxes of an untrained network: pooling terminates, reads only inside the map, and leaves other
// RoIs' bins alone.
TEST(RoiPoolingOfNonsense, IsZeroWhereNothingIsOnTheMap) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<std::vector<float>> boxes{
      {nan, nan, nan, nan},   {-inf, -inf, inf, inf},
      {inf, inf, -inf, -inf}, {0, 0, inf, inf},
      {0, nan, 4, 4},         {-3e38F, -3e38F, 3e38F, 3e38F},
      {1e30F, 0, 2e30F, 4},   {0, 0, 8, 8}};
  const std::vector<int64_t> images(boxes.size(), 0);
  for (const int64_t ratio : {0, 2})
    for (const bool half_pixel : {false, true})
      for (const bool max : {false, true}) {
        const Align a{.ratio = ratio, .half_pixel = half_pixel, .max = max};
        const OpCase c = align_case("nonsense", {1, 1, 4, 4}, boxes, images, a);
        const Doubles y = to_doubles(results(c)[0]);
        for (const double value : y.values) EXPECT_TRUE(std::isfinite(value));
        const OpCase last = align_case("sense", {1, 1, 4, 4}, {boxes.back()}, {0}, a);
        const Doubles alone = to_doubles(results(last)[0]);
        for (std::size_t i = 0; i < alone.values.size(); ++i)
          EXPECT_EQ(y.values[y.values.size() - alone.values.size() + i], alone.values[i]);
      }
  const OpCase position = position_case("nonsense", {1, 4, 4, 4}, boxes, images);
  const Doubles of_positions = to_doubles(results(position)[0]);
  for (const double value : of_positions.values) EXPECT_TRUE(std::isfinite(value));
  const OpCase sense = position_case("sense", {1, 4, 4, 4}, {boxes.back()}, {0});
  const Doubles of_last = to_doubles(results(sense)[0]);
  for (std::size_t i = 0; i < of_last.values.size(); ++i)
    EXPECT_EQ(of_positions.values[of_positions.values.size() - of_last.values.size() + i],
              of_last.values[i]);
  std::vector<std::vector<float>> pooled;
  for (const auto& box : boxes) pooled.push_back({0, box[0], box[1], box[2], box[3]});
  for (const double value :
       to_doubles(results(pool_case("nonsense", {1, 1, 4, 4}, pooled))[0]).values)
    EXPECT_TRUE(std::isfinite(value));
}

// A maximum or mean with a NaN or an infinity follows the rules of arithmetic.
TEST(RoiPoolingOfNonsense, TakesAnyFeatures) {
  OpCase c = align_case("infinite", {1, 1, 2, 2}, {{0, 0, 4, 4}}, {0}, {.height = 1, .width = 1});
  const float inf = std::numeric_limits<float>::infinity();
  c.inputs[0] = given(Literal::of<float>(std::vector<float>{inf, 1, 2, 3}, {1, 1, 2, 2}));
  EXPECT_EQ(to_doubles(results(c)[0])[0], inf);
  c = pool_case("infinite", {1, 1, 2, 2}, {{0, 0, 0, 2, 2}}, 1, 1);
  c.inputs[0] = given(Literal::of<float>(std::vector<float>{-inf, -inf, -inf, -inf}, {1, 1, 2, 2}));
  EXPECT_EQ(to_doubles(results(c)[0])[0], -inf);
}

// Many RoIs at the same positions of many channels, and their gradients.
TEST(RoiPoolingThreads, DoNotChangeABit) {
  std::vector<std::vector<float>> boxes, pooled;
  std::vector<int64_t> images, levels;
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<float>(i);
    boxes.push_back({0.3F * at, 0.2F * at, 9 + 0.4F * at, 7 + 0.5F * at});
    pooled.push_back(
        {static_cast<float>(i % 2), boxes[i][0], boxes[i][1], boxes[i][2], boxes[i][3]});
    images.push_back(i % 2);
    levels.push_back(i % 3 - 1);
  }
  const Dims large{2, 37, 9, 11}, small{2, 37, 5, 6};
  const CaseInput dy = random({40, 37, 2, 3}, 5), dy2 = random({40, 37, 2, 2}, 5);
  const CaseInput shape = fixed({2, 37, 9, 11}), small_shape = fixed({2, 37, 5, 6});
  std::vector<OpCase> cases{align_case("mean", large, boxes, images, {}),
                            align_case("max", large, boxes, images, {.max = true}),
                            multilevel_case("levels", {large, small}, boxes, images, levels),
                            pool_case("pool", large, pooled),
                            position_case("position", {2, 36 * 4, 9, 11}, boxes, images)};
  const std::size_t forward = cases.size();
  for (std::size_t i = 0; i < forward; ++i) {
    OpCase c = cases[i];
    c.type += "Grad";
    c.domain = kOwnDomain;
    if (i == 0) c.inputs = {dy, shape, c.inputs[1], c.inputs[2]};
    if (i == 1) c.inputs = {dy, shape, c.inputs[1], c.inputs[2], c.inputs[0]};
    if (i == 2) {
      c.inputs = {dy, c.inputs[0], c.inputs[1], c.inputs[2], shape, small_shape};
      c.outputs = 2;
    }
    if (i == 3) c.inputs = {dy2, c.inputs[0], c.inputs[1]};
    if (i == 4)
      c.inputs = {random({40, 36, 2, 2}, 5), fixed({2, 36 * 4, 9, 11}), c.inputs[1], c.inputs[2]};
    cases.push_back(c);
  }
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.type + " " + c.name);
    const std::vector<Literal> one = results(c, 1);
    EXPECT_TRUE(one == results(c, usable_threads(2)));
    EXPECT_TRUE(one == results(c, usable_threads(4)));
  }
}

}  // namespace
}  // namespace lockstep::testing
