// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/operators/roi_cases.h"

namespace lockstep::testing {
namespace {

std::vector<OpCase> align_cases() {
  // Inside, beyond two sides, wholly outside, covering everything.
  const std::vector<std::vector<float>> boxes{
      {1.1F, 2.3F, 7.4F, 9.2F}, {-5, 3, 4.3F, 30}, {40, 40, 60, 50}, {-3, -3, 19, 23}};
  const std::vector<int64_t> images{0, 1, 1, 0};
  std::vector<OpCase> all{
      align_case("points", {2, 2, 6, 5}, boxes, images, {}),
      align_case("one_point", {2, 1, 6, 5}, boxes, images, {.ratio = 1}),
      align_case("many_points", {2, 1, 6, 5}, boxes, images, {.height = 1, .width = 1, .ratio = 5}),
      align_case("by_size", {2, 1, 6, 5}, boxes, images, {.ratio = 0}),
      align_case("by_size_output_half", {2, 1, 6, 5}, boxes, images,
                 {.ratio = 0, .half_pixel = false}),
      align_case("output_half", {2, 1, 6, 5}, boxes, images, {.half_pixel = false}),
      align_case("many_channels", {1, 21, 5, 4}, {{1, 1, 7, 8}}, {0}, {.height = 3}),
      align_case("one_place", {1, 1, 1, 1}, {{0, 0, 2, 2}, {0.2F, 0.3F, 0.9F, 1}}, {0, 0}, {}),
      align_case("a_line", {1, 2, 1, 7}, {{0, 0, 9, 2}}, {0}, {.ratio = 0}),
      // At least one pixel without half_pixel.
      align_case("tiny", {1, 1, 4, 4}, {{3, 3, 3.1F, 3.1F}}, {0}, {.half_pixel = false}),
      align_case("no_channels", {1, 0, 4, 4}, {{0, 0, 4, 4}}, {0}, {}),
      align_case("max_one_point", {2, 1, 4, 5}, boxes, images, {.ratio = 1, .max = true}),
      align_case("max_points", {2, 2, 4, 5}, {boxes[0], boxes[2]}, {1, 0}, {.max = true})};
  OpCase open = align_case("batch", {3, 2, 4, 5}, {boxes[0], boxes[1], boxes[3]}, {2, 0, 1}, {});
  open.symbolic_batch = true;
  all.push_back(open);
  // Cases that other engines refuse, or that make them hang.
  std::vector<OpCase> alone{
      align_case("no_rois", {1, 2, 4, 4}, {}, {}, {}),
      align_case("nothing", {1, 2, 0, 4}, {{0, 0, 4, 4}}, {0}, {}),
      align_case("ends_exchanged", {1, 1, 5, 6}, {{9.1F, 8.2F, 2.3F, 1.4F}}, {0}, {}),
      align_case("ends_exchanged_by_size", {1, 1, 5, 6}, {{9, 8, 2, 1}}, {0}, {.ratio = 0}),
      align_case("wide", {1, 1, 5, 6}, {{-40, -1000, 170, 1200}}, {0}, {.ratio = 0})};
  for (OpCase& c : alone) {
    c.oracle = false;
    all.push_back(c);
  }
  return all;
}

std::vector<OpCase> multilevel_cases() {
  const std::vector<Dims> maps{{2, 2, 6, 7}, {2, 2, 3, 4}, {2, 2, 2, 2}};
  const std::vector<std::vector<float>> boxes{
      {1.1F, 2.3F, 7.4F, 9.2F}, {-5, 3, 4.3F, 30}, {0, 0, 9, 8}, {-3, -3, 19, 23}, {2, 2, 9, 9}};
  std::vector<OpCase> all{
      multilevel_case("three", maps, boxes, {0, 1, 1, 0, 1}, {0, 1, -1, 2, 0}),
      multilevel_case("by_size", maps, boxes, {0, 1, 1, 0, 1}, {2, 1, 0, 0, 1}, {.ratio = 0}),
      multilevel_case("one_level", {{1, 9, 4, 4}}, {{1, 1, 6, 7}}, {0}, {0}, {.half_pixel = false}),
      // No image is looked up for an empty row.
      multilevel_case("empty_places", maps, {boxes[0], boxes[1]}, {-7, 99}, {-1, -1}),
      multilevel_case("no_rois", maps, {}, {}, {})};
  OpCase open = multilevel_case("batch", maps, {boxes[0], boxes[3]}, {1, 0}, {1, 0});
  open.symbolic_batch = true;
  all.push_back(open);
  return all;
}

std::vector<OpCase> pool_roi_cases() {
  std::vector<OpCase> all{
      pool_case("boxes", {2, 2, 6, 5}, {{0, 1, 2, 7, 9}, {1, -5, 3, 4, 30}, {1, 0, 0, 9, 11}}),
      pool_case("outside", {1, 1, 4, 4}, {{0, 40, 40, 60, 50}, {0, -9, -9, -4, -4}}),
      pool_case("overlapping_bins", {1, 3, 5, 5}, {{0, 0, 0, 8, 8}}, 3, 4),
      pool_case("tiny", {1, 1, 4, 4}, {{0, 3, 3, 3, 3}, {0, 7, 7, 2, 2}}),
      pool_case("one_bin", {1, 9, 4, 4}, {{0, 0, 0, 3, 3}}, 1, 1, 1),
      pool_case("no_channels", {1, 0, 4, 4}, {{0, 0, 0, 3, 3}})};
  OpCase open = pool_case("batch", {2, 1, 4, 5}, {{1, 1, 2, 7, 9}, {0, 0, 0, 5, 5}});
  open.symbolic_batch = true;
  all.push_back(open);
  OpCase none = pool_case("no_rois", {1, 2, 4, 4}, {});
  none.oracle = false;
  all.push_back(none);
  return all;
}

std::vector<OpCase> position_cases() {
  const std::vector<std::vector<float>> boxes{
      {1.1F, 2.3F, 7.4F, 9.2F}, {-5, 3, 4.3F, 30}, {40, 40, 60, 50}, {-3, -3, 19, 23}};
  const std::vector<int64_t> images{0, 1, 1, 0};
  std::vector<OpCase> all{
      position_case("boxes", {2, 8, 6, 5}, boxes, images),
      position_case("three_bins", {2, 9, 6, 5}, boxes, images, 3),
      position_case("seven_bins", {1, 49, 9, 8}, {{0, 0, 31, 27}, {3, 5, 20, 18}}, {0, 0}, 7,
                    0.25F),
      position_case("one_bin", {2, 11, 6, 5}, boxes, images, 1),
      // Halves are rounded away from zero.
      position_case("halves", {1, 4, 5, 6}, {{0.5F, 1.5F, 6.5F, 8.5F}, {-2.5F, -0.5F, 3.5F, 4.5F}},
                    {0, 0}),
      // Several bins read the same cell.
      position_case("tiny", {1, 9, 4, 4}, {{3, 3, 3, 3}, {5.2F, 2, 5.4F, 2}}, {0, 0}, 3, 0.0625F),
      position_case("ends_exchanged", {1, 4, 5, 6}, {{9, 8, 2, 1}}, {0}),
      position_case("scaled", {1, 4, 5, 6}, {{17, 20, 66, 51}, {0, 0, 95, 79}}, {0, 0}, 2,
                    0.0625F)};
  OpCase open = position_case("batch", {3, 4, 4, 5}, {boxes[0], boxes[1], boxes[3]}, {2, 0, 1});
  open.symbolic_batch = true;
  OpCase none = position_case("no_rois", {1, 4, 4, 4}, {}, {});
  OpCase empty = position_case("no_channels", {1, 0, 4, 4}, {{0, 0, 4, 4}}, {0});
  for (OpCase c : {open, none, empty}) {
    c.oracle = false;  // the body needs known sizes; other engines refuse empty products
    all.push_back(c);
  }
  return all;
}

class RoiPooling : public ::testing::TestWithParam<OpCase> {};
TEST_P(RoiPooling, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Align, RoiPooling, ::testing::ValuesIn(align_cases()));
INSTANTIATE_TEST_SUITE_P(Multilevel, RoiPooling, ::testing::ValuesIn(multilevel_cases()));
INSTANTIATE_TEST_SUITE_P(Position, RoiPooling, ::testing::ValuesIn(position_cases()));
INSTANTIATE_TEST_SUITE_P(Max, RoiPooling, ::testing::ValuesIn(pool_roi_cases()));

}  // namespace
}  // namespace lockstep::testing
