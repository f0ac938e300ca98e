// SPDX-License-Identifier: Apache-2.0
// Compares MaskTargets and KeypointTargets with their definitions (tests/support/naive_shapes.h).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/random.h"
#include "tests/support/naive_shapes.h"
#include "tests/support/naive_targets.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr float kBadPoint = std::numeric_limits<float>::quiet_NaN();
constexpr float kBeyondAll = std::numeric_limits<float>::infinity();

std::vector<float> rectangle(float x1, float y1, float x2, float y2) {
  return {x1, y1, x2, y1, x2, y2, x1, y2};
}

// Two images with six RoIs each. Objects 0 and 2 of the first have holes and islands.
MaskOperands mixed_rings() {
  MaskOperands operands{
      of_floats({2,  3, 30, 40, 0, 0,   50,  50,  10.5F, 11.25F, 20.75F, 19.5F,  //
                 20, 5, 60, 9,  7, 7.5, 7.5, 8.5, 0,     0,      0,      0,      //
                 1,  1, 9,  9,  1, 1,   9,   9,   -5,    -5,     40,     40,     //
                 3,  3, 4,  4,  0, 0,   200, 100, 8,     2,      12,     30},
                {2, 6, 4}),
      labels({0, 0, 2, 1, 2, -1, 3, 0, 5, 1, 0, 7}, {2, 6}),
      {},
      {}};
  set_rings(operands,
            {{{0, 0, rectangle(1, 2, 33, 41)},
              {0, 1, rectangle(8.2F, 9.7F, 25, 30)},
              {0, 2, rectangle(12, 13, 20, 21)},
              {1, 0, {20, 0, 70, 5, 40, 12.5F, 25, 8}},
              {2, 0, {10, 10, 21, 20, 21, 10, 10, 20}},  // crosses itself
              {2, 3, {14, 13, 15, 14, 14, 15}}},
             {{0, 0, {-3, -4, 50, 10, 30, 66}},
              {1, 0, {4, 4}},         // a point
              {1, 2, {1, 1, 9, 30}},  // a line
              {5, 1, rectangle(0, 0, 9, 9)}}},
            40);
  return operands;
}

template <class Change>
MaskOperands mixed_but(Change&& change) {
  MaskOperands operands = mixed_rings();
  change(operands);
  return operands;
}

std::vector<OpCase> mask_cases() {
  std::vector<OpCase> cases;
  for (const int64_t side : {1, 2, 7, 14, 28, 56})
    cases.push_back(mask_targets_case(join("resolution_", side), mixed_rings(), {side}));
  const auto add = [&](const std::string& name, const MaskOperands& operands) {
    cases.push_back(mask_targets_case(name, operands, {14}));
  };
  add("open_batch", mixed_rings());
  cases.back().symbolic_batch = true;
  add("invalid_rois", mixed_but([](MaskOperands& operands) {
        operands.rois = of_floats({kBadPoint, 3,  30, 40, 0, kBadPoint, 50,         50,     //
                                   10,        11, 9,  19, 0, 0,         3e38F,      3e38F,  //
                                   20,        5,  60, 5,  0, 0,         0,          0,      //
                                   1,         1,  9,  9,  0, 0,         1,          1,      //
                                   5,         5,  5,  40, 9, 9,         4,          4,      //
                                   -9,        -9, 0,  99, 0, 0,         kBeyondAll, 30},
                                  {2, 6, 4});
      }));
  add("every_match", mixed_but([](MaskOperands& operands) {
        operands.matches = labels({2, INT64_MAX, 1, INT64_MIN, 0, -2, 5, 4, 1, 5, 0, 1}, {2, 6});
      }));
  // Vertices that are not finite, or much too far away, spoil their object alone.
  add("invalid_vertices", mixed_but([](MaskOperands& operands) {
        set_rings(operands,
                  {{{0, 0, {1, 2, 30, 2, 30, kBadPoint}},
                    {1, 0, {1, 2, kBeyondAll, 2, 30, 30}},
                    {2, 0, rectangle(10, 10, 20, 20)}},
                   {{0, 0, {1, 2, 30, 2, 30, 40}},
                    {0, 1, {-3e38F, 0, 3e38F, 0, 0, 3e38F}},
                    {3, 0, rectangle(2, 2, 6, 7)},
                    {1, 0, {1e30F, 1, 2, 2, 3, 3}}}},
                  13);
      }));
  add("places_between_rings", mixed_but([](MaskOperands& operands) {
        std::vector<int64_t> vertex_of(2 * 10 * 2, -1);
        for (const int v : {1, 2, 3, 6, 7, 8, 9}) vertex_of[2 * v] = vertex_of[2 * v + 1] = 0;
        operands.vertices = of_floats({0, 0, 1, 1,  30, 3, 9, 39, 0, 0, 0, 0, 20, 4, 44, 9,  //
                                       4, 4, 9, 33, 0,  0, 1, 1,  0, 0, 0, 0, 0,  0, 0,  0,  //
                                       0, 0, 0, 0,  0,  0, 0, 0},
                                      {2, 10, 2});
        operands.vertex_of = labels(vertex_of, {2, 10, 2});
      }));
  add("no_vertex", mixed_but([](MaskOperands& operands) {
        operands.vertices = of_floats({}, {2, 0, 2});
        operands.vertex_of = labels({}, {2, 0, 2});
      }));
  add("no_roi", mixed_but([](MaskOperands& operands) {
        operands.rois = of_floats({}, {2, 0, 4});
        operands.matches = labels({}, {2, 0});
      }));
  add("no_image", {of_floats({}, {0, 6, 4}), labels({}, {0, 6}), of_floats({}, {0, 40, 2}),
                   labels({}, {0, 40, 2})});
  return cases;
}

CaseInput mixed_points() {
  return of_floats({20, 30, 2, 60,        72, 2, 70, 20,         1, 59.99F, 12, 0,   //
                    59, 71, 1, 10,        12, 2, 9,  40,         2, 30,     72, 2,   //
                    7,  7,  2, 8,         8,  1, 0,  0,          2, 1,      1,  -1,  //
                    1,  2,  3, kBadPoint, 2,  2, 3,  kBeyondAll, 2, 4,      4,  kBadPoint},
                   {2, 2, 4, 3});
}

std::vector<OpCase> point_cases() {
  const CaseInput rois = of_floats(
      {10, 12, 60,  72, 10, 12, 60.5F, 72.5F, 7, 7, 8,    8,  //
       0,  0,  100, 99, 1,  2,  2,     3,     7, 7, 8.5F, 9, 0, 0, 0.125F, 9, kBadPoint, 2, 59, 71},
      {2, 4, 4});
  const CaseInput matches = labels({0, 1, 1, -1, 1, 0, -5, 1}, {2, 4});
  std::vector<OpCase> cases;
  for (const int64_t size : {1, 7, 56, 4096})
    cases.push_back(
        keypoint_targets_case(join("size_", size), rois, matches, mixed_points(), {size}));
  cases.push_back(cases.back());
  cases.back().name = "open_batch";
  cases.back().symbolic_batch = true;
  cases.push_back(keypoint_targets_case("no_object", rois,
                                        labels(std::vector<int64_t>(8, -1), {2, 4}),
                                        of_floats({}, {2, 0, 4, 3}), {56}));
  cases.push_back(
      keypoint_targets_case("no_point", rois, matches, of_floats({}, {2, 2, 0, 3}), {56}));
  cases.push_back(keypoint_targets_case("no_roi", of_floats({}, {2, 0, 4}), labels({}, {2, 0}),
                                        mixed_points(), {56}));
  return cases;
}

class ShapeTargets : public ::testing::TestWithParam<OpCase> {};
TEST_P(ShapeTargets, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Masks, ShapeTargets, ::testing::ValuesIn(mask_cases()));
INSTANTIATE_TEST_SUITE_P(Points, ShapeTargets, ::testing::ValuesIn(point_cases()));

// -- larger cases

struct RandomShapes {
  MaskOperands masks;
  CaseInput points;
};

// Stars of random radii around a centre, with a hole in every second; RoIs near their boxes.
RandomShapes random_shapes(int64_t images, int64_t objects, int64_t rois, int64_t kinds) {
  PhiloxSequence random(11, 5);
  const auto between = [&](double low, double high) {
    return static_cast<float>(random.uniform(low, high));
  };
  std::vector<std::vector<NaiveRing>> rings;
  std::vector<float> boxes, points;
  std::vector<int64_t> matches;
  for (int64_t image = 0; image < images; ++image) {
    std::vector<float> centres;
    rings.emplace_back();
    for (int64_t object = 0; object < objects; ++object) {
      const float x = between(0, 300), y = between(0, 250), radius = between(2, 80);
      centres.insert(centres.end(), {x, y, radius});
      for (int64_t ring = 0; ring <= object % 2; ++ring) {
        const auto corners = static_cast<int64_t>(between(3, 25));
        NaiveRing star{object, ring, {}};
        for (int64_t i = 0; i < corners; ++i) {
          const float angle = 6.2832F * static_cast<float>(i) / static_cast<float>(corners);
          const float reach = between(0.3, 1) * radius / static_cast<float>(1 + ring);
          star.xy.push_back(x + reach * std::cos(angle));
          star.xy.push_back(y + reach * std::sin(angle));
        }
        rings.back().push_back(star);
      }
      for (int64_t k = 0; k < kinds; ++k)
        points.insert(points.end(), {x + between(-1, 1) * radius, y + between(-1, 1) * radius,
                                     std::floor(between(0, 3))});
    }
    for (int64_t roi = 0; roi < rois; ++roi) {
      const auto object = static_cast<int64_t>(between(0, static_cast<double>(objects)));
      matches.push_back(roi % 7 == 6 ? -1 : object);
      const float* centre = &centres[static_cast<std::size_t>(3 * object)];
      for (const double sign : {-1.0, 1.0})
        for (const int axis : {0, 1})
          boxes.push_back(centre[axis] + static_cast<float>(sign) * between(0.6, 1.2) * centre[2]);
    }
  }
  RandomShapes shapes{
      {of_floats(boxes, {images, rois, 4}), labels(matches, {images, rois}), {}, {}},
      of_floats(points, {images, objects, kinds, 3})};
  set_rings(shapes.masks, rings, 48 * objects);
  return shapes;
}

std::vector<OpCase> many_shapes() {
  const RandomShapes shapes = random_shapes(4, 9, 60, 5);
  return {mask_targets_case("masks_14", shapes.masks, {14}),
          mask_targets_case("masks_28", shapes.masks, {28}),
          keypoint_targets_case("points", shapes.masks.rois, shapes.masks.matches, shapes.points,
                                {56})};
}

class ManyShapeTargets : public ::testing::TestWithParam<OpCase> {};
TEST_P(ManyShapeTargets, Case) { check_case(GetParam()); }

TEST_P(ManyShapeTargets, AreTheSameAtAnyThreadCount) {
  const std::vector<Literal> one = results_of(GetParam(), 1);
  for (const int threads : {2, 4})
    EXPECT_TRUE(one == results_of(GetParam(), usable_threads(threads)));
}
INSTANTIATE_TEST_SUITE_P(Stars, ManyShapeTargets, ::testing::ValuesIn(many_shapes()));

}  // namespace
}  // namespace lockstep::testing
