// SPDX-License-Identifier: Apache-2.0
// Compares AnchorTargets and ProposalTargets with their definitions
// (tests/support/naive_targets.h).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/random.h"
#include "operators/targets/attributes.h"
#include "tests/support/naive_targets.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Two images. The first has objects, ties, a crowd region, an empty row and invalid boxes; the
// second has no object.
TargetOperands mixed_truth() {
  return {of_floats({2,  2,    14, 14, 10, 6,  30, 26,        3, 20, 9,     27,         //
                     5,  5,    20, 20, 0,  0,  40, 40,        8, 8,  8,     30,         //
                     -9, -9,   6,  5,  20, 20, 21, 21,        0, 0,  8,     kNan,       //
                     2,  2,    14, 14, 0,  0,  -5, -5,        4, 4,  9,     kInfinite,  //
                     1,  kNan, 3,  3,  5,  5,  5,  5,         9, 9,  2,     20,         //
                     0,  0,    9,  9,  0,  0,  0,  kInfinite, 0, 0,  3e38F, 3e38F},
                    {2, 9, 4}),
          labels({1, 3, 2, 4, 0, 1, 5, 2, 7, 1, 1, 2, 3, 1, 1, -4, 1, 1}, {2, 9}),
          labels({0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 9}),
          of_floats({28, 33, 1, 28, 35, 0.5F}, {2, 3}), labels({5, 123456}, {2})};
}

TargetOperands without_objects(int64_t images, int64_t places) {
  const auto boxes = static_cast<std::size_t>(images * places);
  return {of_floats(std::vector<float>(4 * boxes, 1), {images, places, 4}),
          labels(std::vector<int64_t>(boxes, 0), {images, places}),
          labels(std::vector<int64_t>(boxes, 0), {images, places}),
          of_floats(std::vector<float>(static_cast<std::size_t>(3 * images), 32), {images, 3}),
          labels(std::vector<int64_t>(static_cast<std::size_t>(images), 9), {images})};
}

AnchorTargetsAttrs two_levels() {
  AnchorTargetsAttrs attrs;
  attrs.levels = {{{-2, -2, 6, 6, -4, -1, 8, 5}, 4, 7, 9},
                  {{-4, -4, 12, 12, -9, -2, 17, 10}, 8, 3, 5}};
  attrs.positive_overlap = 0.5F;
  attrs.negative_overlap = 0.25F;
  attrs.sample = 16;
  attrs.foreground = 4;
  return attrs;
}

template <class Change>
AnchorTargetsAttrs two_levels_but(Change&& change) {
  AnchorTargetsAttrs attrs = two_levels();
  change(attrs);
  return attrs;
}

std::vector<OpCase> anchor_cases() {
  const TargetOperands truth = mixed_truth();
  std::vector<OpCase> cases;
  for (const float straddle : {0.0F, 3.0F, -1.0F})
    for (const int64_t sample : {16, 5, 1, 2000, 0}) {
      AnchorTargetsAttrs attrs = two_levels();
      attrs.straddle = straddle;
      attrs.sample = sample;
      attrs.foreground = sample == 5 ? sample : sample / 2;
      cases.push_back(anchor_targets_case(
          join("straddle_", straddle == -1 ? "any" : join(straddle), "_sample_", sample), truth,
          attrs));
    }
  for (const int64_t sample : {16, 0}) {
    const auto with = [&](auto change) {
      return two_levels_but([&](AnchorTargetsAttrs& attrs) {
        attrs.sample = sample;
        attrs.foreground = sample / 4;
        change(attrs);
      });
    };
    const auto add = [&](const std::string& name, const TargetOperands& operands, auto change) {
      cases.push_back(anchor_targets_case(join(name, "_", sample), operands, with(change)));
    };
    const auto nothing = [](AnchorTargetsAttrs&) {};
    add("no_object", without_objects(2, 3), nothing);
    add("no_place", without_objects(2, 0), nothing);
    add("no_image", without_objects(0, 3), nothing);
    add("no_cell", truth, [](AnchorTargetsAttrs& attrs) { attrs.levels[1].height = 0; });
    add("one_cell", truth, [](AnchorTargetsAttrs& attrs) {
      attrs.levels = {{{0, 0, 20, 20}, 16, 1, 1}};
    });
    add("every_overlap_an_object", truth, [](AnchorTargetsAttrs& attrs) {
      attrs.positive_overlap = 1e-6F;
      attrs.negative_overlap = 0;
    });
    add("one_threshold", truth,
        [](AnchorTargetsAttrs& attrs) { attrs.negative_overlap = attrs.positive_overlap; });
    TargetOperands nowhere = truth;
    nowhere.im_info = of_floats({kNan, 20, 1, -3, kInfinite, 1}, {2, 3});
    add("image_without_size", nowhere, nothing);
  }
  for (const int64_t sample : {16, 0}) {
    OpCase open = anchor_targets_case(
        join("open_batch_", sample), truth,
        two_levels_but([&](AnchorTargetsAttrs& attrs) { attrs.sample = sample; }));
    open.symbolic_batch = true;
    cases.push_back(open);
  }
  return cases;
}

// Proposals over the same two images, with invalid boxes and repeated sources.
CaseInput mixed_proposals() {
  return of_floats({2,  2,  14, 14,   3,  2,      14, 15,    10, 6, 28, 26, 12, 8,  30, 30,  //
                    3,  20, 8,  27,   5,  6,      19, 20,    6,  6, 20, 20, 0,  0,  40, 40,  //
                    20, 0,  33, 9,    20, 1,      33, 10,    4,  4, 4,  9,  9,  9,  2,  2,   //
                    0,  0,  9,  kNan, 0,  -3e38F, 9,  3e38F, 1,  1, 7,  7,  10, 10, 30, 26,  //
                    2,  2,  14, 14,   0,  0,      30, 30,    2,  3, 13, 14, 5,  5,  6,  6,   //
                    7,  7,  9,  9,    1,  0,      30, 30,    1,  1, 9,  9,  5,  5,  6,  7,   //
                    7,  7,  9,  8,    2,  0,      30, 30,    0,  1, 9,  9,  5,  5,  7,  7,   //
                    7,  8,  9,  9,    3,  0,      30, 30,    1,  0, 9,  9,  4,  5,  6,  6},
                   {2, 16, 4});
}
CaseInput mixed_sources() {
  return labels({40, 3, 3, 3, 17, 99, 1, -1, 1000000, 2147483647, 5,  6,  7,  8,  0,  2,  //
                 1,  2, 3, 4, 5,  6,  7, 8,  9,       10,         11, 12, 13, 14, 15, -7},
                {2, 16});
}

ProposalTargetsAttrs proposals_but(const std::function<void(ProposalTargetsAttrs&)>& change) {
  ProposalTargetsAttrs attrs;
  attrs.sample = 12;
  attrs.foreground = 4;
  change(attrs);
  return attrs;
}

std::vector<OpCase> proposal_cases() {
  const TargetOperands truth = mixed_truth();
  std::vector<OpCase> cases;
  const auto add = [&](const std::string& name, const TargetOperands& operands,
                       const std::function<void(ProposalTargetsAttrs&)>& change) {
    cases.push_back(proposal_targets_case(name, mixed_proposals(), mixed_sources(), operands,
                                          proposals_but(change)));
  };
  const auto nothing = [](ProposalTargetsAttrs&) {};
  add("sampled", truth, nothing);
  add("all_fit", truth, [](ProposalTargetsAttrs& attrs) { attrs.sample = attrs.foreground = 99; });
  add("one", truth, [](ProposalTargetsAttrs& attrs) { attrs.sample = attrs.foreground = 1; });
  add("background_only", truth, [](ProposalTargetsAttrs& attrs) { attrs.foreground = 0; });
  add("low_and_high", truth, [](ProposalTargetsAttrs& attrs) {
    attrs.sample = 40;
    attrs.background_low = 0.1F;
    attrs.background_high = 0.3F;
  });
  add("no_rule_of_crowds", truth, [](ProposalTargetsAttrs& attrs) {
    attrs.sample = 40;
    attrs.crowd_overlap = 0;
  });
  add("weights", truth, [](ProposalTargetsAttrs& attrs) { attrs.weights = {1, 2, -3, 0}; });
  for (const float overlap : {0.2F, 0.5F, 0.7F})
    add(join("boxes_above_", overlap), truth, [overlap](ProposalTargetsAttrs& attrs) {
      attrs.sample = 40;
      attrs.box_overlap = overlap;
    });
  add("no_object", without_objects(2, 3), nothing);
  add("no_place", without_objects(2, 0), nothing);
  TargetOperands crowds = truth;
  crowds.crowd = labels(std::vector<int64_t>(18, 1), {2, 9});
  add("crowds_only", crowds, nothing);
  cases.push_back(proposal_targets_case("no_proposal", of_floats({}, {2, 0, 4}), labels({}, {2, 0}),
                                        truth, proposals_but(nothing)));
  cases.push_back(proposal_targets_case("no_image", of_floats({}, {0, 5, 4}), labels({}, {0, 5}),
                                        without_objects(0, 3), proposals_but(nothing)));
  OpCase open = cases.front();
  open.name = "open_batch";
  open.symbolic_batch = true;
  cases.push_back(open);
  return cases;
}

class Targets : public ::testing::TestWithParam<OpCase> {};
TEST_P(Targets, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Anchors, Targets, ::testing::ValuesIn(anchor_cases()));
INSTANTIATE_TEST_SUITE_P(Proposals, Targets, ::testing::ValuesIn(proposal_cases()));

// -- larger cases

// Random boxes in a picture with integer corners.
std::vector<float> boxes_in(int64_t count, float height, float width, uint64_t stream) {
  PhiloxSequence random(3, stream);
  std::vector<float> boxes;
  for (int64_t i = 0; i < count; ++i) {
    const double w = std::exp(random.uniform(2, 6)), h = std::exp(random.uniform(2, 6));
    const double x = random.uniform(0, std::max(1.0, width - w));
    const double y = random.uniform(0, std::max(1.0, height - h));
    for (const double corner : {x, y, x + w, y + h})
      boxes.push_back(static_cast<float>(std::round(corner)));
  }
  return boxes;
}

TargetOperands many_objects(int64_t images, int64_t places, float height, float width) {
  const int64_t all = images * places;
  std::vector<int64_t> classes, crowd, numbers;
  for (int64_t i = 0; i < all; ++i) {
    classes.push_back(i % 7);
    crowd.push_back(i % 13 == 5);
  }
  std::vector<float> info;
  for (int64_t i = 0; i < images; ++i) {
    numbers.push_back(100 + i);
    info.insert(info.end(), {height, width, 1});
  }
  return {of_floats(boxes_in(all, height, width, 1), {images, places, 4}),
          labels(classes, {images, places}), labels(crowd, {images, places}),
          of_floats(info, {images, 3}), labels(numbers, {images})};
}

AnchorTargetsAttrs pyramid() {
  AnchorTargetsAttrs attrs;
  for (const int64_t stride : {4, 8, 16, 32, 64}) {
    const auto half = static_cast<float>(stride) * 4;
    attrs.levels.push_back({{-half, -half, half, half, -half, -half / 2, half, half / 2, -half / 2,
                             -half, half / 2, half},
                            stride,
                            256 / stride,
                            320 / stride});
  }
  return attrs;
}

std::vector<OpCase> larger_cases() {
  const TargetOperands truth = many_objects(4, 20, 250, 311);
  AnchorTargetsAttrs dense = pyramid();
  dense.sample = dense.foreground = 0;
  std::vector<int64_t> sources(4 * 300);
  for (std::size_t i = 0; i < sources.size(); ++i)
    sources[i] = static_cast<int64_t>(i * 7919 % 5003);
  ProposalTargetsAttrs proposals;
  proposals.sample = 64;
  proposals.foreground = 16;
  return {anchor_targets_case("sampled", truth, pyramid()),
          anchor_targets_case("dense", truth, dense),
          proposal_targets_case("proposals", of_floats(boxes_in(1200, 250, 311, 2), {4, 300, 4}),
                                labels(sources, {4, 300}), truth, proposals)};
}

class LargerTargets : public ::testing::TestWithParam<OpCase> {};
TEST_P(LargerTargets, Case) { check_case(GetParam()); }

TEST_P(LargerTargets, AreTheSameAtAnyThreadCount) {
  const std::vector<Literal> one = results_of(GetParam(), 1);
  for (const int threads : {2, 4})
    EXPECT_TRUE(one == results_of(GetParam(), usable_threads(threads)));
}
INSTANTIATE_TEST_SUITE_P(Pictures, LargerTargets, ::testing::ValuesIn(larger_cases()));

}  // namespace
}  // namespace lockstep::testing
