// SPDX-License-Identifier: Apache-2.0
// Compares the common modes with plain formulas. ONNX's cases and ONNX Runtime cover the other
// modes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

CaseInput floats(std::vector<float> values) {
  auto size = static_cast<int64_t>(values.size());
  return {Literal::of<float>(values, {size}), false, true, false};
}

// Doubles the size of [1, 1, 2, 3]. `at(i, n)` gives the source position of output i of 2n.
Reference bilinear(double (*at)(int, int)) {
  return [at](const std::vector<Doubles>& in) {
    Doubles y{{1, 1, 4, 6}, {}};
    auto mix = [](double where, int n) {
      int low = static_cast<int>(std::floor(where));
      return std::tuple{std::clamp(low, 0, n - 1), std::clamp(low + 1, 0, n - 1), where - low};
    };
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j) {
        auto [top, bottom, v] = mix(at(i, 2), 2);
        auto [left, right, h] = mix(at(j, 3), 3);
        auto x = [&](int a, int b) { return in[0][a * 3 + b]; };
        y.values.push_back((1 - v) * ((1 - h) * x(top, left) + h * x(top, right)) +
                           v * ((1 - h) * x(bottom, left) + h * x(bottom, right)));
      }
    return std::vector<Doubles>{y};
  };
}

std::vector<OpCase> resize_cases() {
  Reference doubled = [](const std::vector<Doubles>& in) {
    Doubles y{{1, 1, 4, 6}, {}};
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j) y.values.push_back(in[0][i / 2 * 3 + j / 2]);
    return std::vector<Doubles>{y};
  };
  auto resize = [](const std::string& name, const Attributes& attributes, Reference reference) {
    return OpCase{.name = name,
                  .type = "Resize",
                  .attributes = attributes,
                  .inputs = {random({1, 1, 2, 3}), left_out(), floats({1, 1, 2, 2})},
                  .reference = std::move(reference)};
  };
  OpCase sizes =
      resize("sizes", {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}},
             doubled);
  sizes.inputs = {random({1, 1, 2, 3}), left_out(), left_out(), fixed({1, 1, 4, 6})};
  OpCase smaller = resize("smaller", {{"mode", "linear"}}, nullptr);
  smaller.inputs = {random({2, 3, 5, 4}), left_out(), left_out(), fixed({2, 3, 3, 2})};
  OpCase cubic = resize("cubic", {{"mode", "cubic"}}, nullptr);
  OpCase cubic_inside =
      resize("cubic_inside", {{"mode", "cubic"}, {"exclude_outside", int64_t{1}}}, nullptr);
  OpCase ceil = resize("ceil", {{"nearest_mode", "ceil"}}, nullptr);
  ceil.inputs = {random({2, 2, 3, 5}), left_out(), left_out(), fixed({2, 2, 7, 4})};
  OpCase crop = resize("crop",
                       {{"mode", "linear"},
                        {"coordinate_transformation_mode", "tf_crop_and_resize"},
                        {"extrapolation_value", 7.0F}},
                       nullptr);
  crop.inputs = {random({1, 2, 4, 5}), floats({0, 0, 0.2F, 0.6F, 1, 1, 0.8F, 1.4F}), left_out(),
                 fixed({1, 2, 3, 6})};
  crop.gradient = false;
  return {
      resize("nearest", {{"mode", "nearest"}}, doubled),
      resize("half_pixel", {{"mode", "linear"}},
             bilinear([](int i, int) { return (i + 0.5) / 2 - 0.5; })),
      resize("asymmetric", {{"mode", "linear"}, {"coordinate_transformation_mode", "asymmetric"}},
             bilinear([](int i, int) { return i / 2.0; })),
      resize("align_corners",
             {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}},
             bilinear([](int i, int n) { return i * (n - 1.0) / (2 * n - 1); })),
      sizes,
      smaller,
      cubic,
      cubic_inside,
      ceil,
      crop,
  };
}

class Resize : public ::testing::TestWithParam<OpCase> {};
TEST_P(Resize, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Resize, ::testing::ValuesIn(resize_cases()));

}  // namespace
}  // namespace lockstep::testing
