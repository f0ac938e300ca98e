// SPDX-License-Identifier: Apache-2.0
// Compares GridSample with sums over the padded image, in every mode. ONNX Runtime computes the
// cases with images, PyTorch the gradients (tests/python/check_pytorch.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

struct Setting {
  std::string mode, padding;
  bool corners;

  Attributes attributes() const {
    return {{"mode", mode}, {"padding_mode", padding}, {"align_corners", int64_t{corners}}};
  }
};

// The share of the pixel at a signed distance.
double share(const std::string& mode, double d) {
  d = std::abs(d);
  if (mode == "nearest") return d < 0.5 ? 1 : 0;
  if (mode == "bilinear") return std::max(0.0, 1 - d);
  if (d >= 2) return 0;
  return d < 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * d * d * d + 3.75 * d * d - 6 * d + 3;
}

// The pixel of the padded image; -1 for a zero.
int64_t padded(const Setting& s, int64_t at, int64_t size) {
  if (s.padding == "zeros") return at < 0 || at >= size ? -1 : at;
  if (s.padding == "border") return std::clamp<int64_t>(at, 0, size - 1);
  if (s.corners && size == 1) return 0;
  while (at < 0 || at >= size)
    at = s.corners ? (at < 0 ? -at : 2 * size - 2 - at) : (at < 0 ? -1 - at : 2 * size - 1 - at);
  return at;
}

// The value of the plane at `x` around a point, one axis after another.
double read(const Setting& s, const double* x, const double* point, const int64_t* size, int axes) {
  if (axes == 0) return *x;
  int64_t stride = 1;
  for (int d = 1; d < axes; ++d) stride *= size[d];
  const double n = static_cast<double>(size[0]), g = point[axes - 1];  // the last coordinate
  const double place = s.corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  double total = 0;
  for (auto at = static_cast<int64_t>(std::floor(place)) - 2; at < place + 3; ++at) {
    const double part = share(s.mode, place - static_cast<double>(at));
    const int64_t from = padded(s, at, size[0]);
    if (part != 0 && from >= 0)
      total += part * read(s, x + from * stride, point, size + 1, axes - 1);
  }
  return total;
}

Reference sums(const Setting& s) {
  return [s](const std::vector<Doubles>& in) {
    const Dims &x = in[0].dims, &grid = in[1].dims;
    const int axes = static_cast<int>(x.size()) - 2;
    int64_t plane = 1, points = 1;
    for (std::size_t d = 2; d < x.size(); ++d) plane *= x[d];
    for (std::size_t d = 1; d + 1 < grid.size(); ++d) points *= grid[d];
    Doubles y{{x[0], x[1]}, {}};
    y.dims.insert(y.dims.end(), grid.begin() + 1, grid.end() - 1);
    for (int64_t c = 0; c < x[0] * x[1]; ++c)
      for (int64_t p = 0; p < points; ++p)
        y.values.push_back(read(s, in[0].values.data() + c * plane,
                                in[1].values.data() + (c / x[1] * points + p) * axes, x.data() + 2,
                                axes));
    return std::vector<Doubles>{y};
  };
}

// Coordinates inside and outside of the image, none of them within a finite difference of a kink.
CaseInput places(const Dims& dims, const Dims& x, const Setting& s) {
  const double parts[] = {0.2, 0.35, 0.7, 0.8, 0.25};
  std::vector<float> values;
  for (int64_t i = 0; i < element_count(dims); ++i) {
    const int64_t size = x[x.size() - 1 - i % dims.back()];
    const double n = static_cast<double>(size);
    const double place = static_cast<double>(i * 7 % (size + 5) - 3) + parts[i % 5];
    values.push_back(static_cast<float>(s.corners ? (size == 1 ? place : 2 * place / (n - 1) - 1)
                                                  : (2 * place + 1) / n - 1));
  }
  return {Literal::of<float>(values, dims), s.mode != "nearest", false, false};
}

OpCase sampled(const std::string& name, const Setting& s, const Dims& x, const Dims& grid) {
  const bool image = x.size() == 4;
  return {.name = join(name, "_", s.mode, "_", s.padding, s.corners ? "_corners" : ""),
          .type = "GridSample",
          .domain = image ? "" : kOwnDomain,
          .attributes = s.attributes(),
          .inputs = {random(x), places(grid, x, s)},
          .reference = sums(s),
          .tolerance = 3e-5,
          .oracle = image};
}

std::vector<OpCase> grid_sample_cases() {
  std::vector<OpCase> cases;
  for (const char* mode : {"nearest", "bilinear", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (bool corners : {false, true}) {
        const Setting s{mode, padding, corners};
        cases.push_back(sampled("image", s, {2, 3, 4, 6}, {2, 3, 5, 2}));
        cases.push_back(sampled("pixel", s, {1, 2, 1, 5}, {1, 2, 2, 2}));
        cases.push_back(sampled("volume", s, {1, 2, 3, 4, 5}, {1, 2, 1, 3, 3}));
        cases.push_back(sampled("line", s, {2, 2, 5}, {2, 4, 1}));
      }
  const Setting usual{"bilinear", "zeros", false};
  OpCase batch = sampled("open_batch", usual, {2, 3, 4, 6}, {2, 3, 5, 2});
  batch.symbolic_batch = true;
  OpCase nothing = sampled("no_points", usual, {2, 3, 4, 6}, {2, 0, 5, 2});
  OpCase defaults = sampled("defaults", usual, {1, 1, 3, 3}, {1, 2, 2, 2});
  defaults.attributes.clear();
  cases.insert(cases.end(), {batch, nothing, defaults});
  return cases;
}

class GridSamples : public ::testing::TestWithParam<OpCase> {};
TEST_P(GridSamples, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, GridSamples, ::testing::ValuesIn(grid_sample_cases()));

TEST(GridSample, ThreadsDoNotChangeABit) {
  const CaseInput x = random({2, 5, 9, 8}), grid = random({2, 20, 21, 2}, 3),
                  dy = random({2, 5, 20, 21}, 2), shape = fixed({2, 5, 9, 8});
  for (const char* mode : {"bilinear", "bicubic"}) {
    const Attributes attributes = Setting{mode, "reflection", false}.attributes();
    expect_same_bits_on_any_threads(
        {.name = "y", .type = "GridSample", .attributes = attributes, .inputs = {x, grid}});
    expect_same_bits_on_any_threads({.name = "dx",
                                     .type = "GridSampleGradX",
                                     .domain = kOwnDomain,
                                     .attributes = attributes,
                                     .inputs = {dy, shape, grid}});
    expect_same_bits_on_any_threads({.name = "dgrid",
                                     .type = "GridSampleGradGrid",
                                     .domain = kOwnDomain,
                                     .attributes = attributes,
                                     .inputs = {dy, x, grid}});
  }
}

// Places that are no numbers, or too far away for an integer, are outside.
TEST(GridSample, PlacesWithoutAPixelReadZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              far = std::numeric_limits<float>::infinity();
  const std::vector<float> places{nan, 0, 0, -nan, far, 0, 0, -far, 1e30F, 0, 0, -1e30F};
  for (const char* mode : {"nearest", "bilinear", "bicubic"})
    for (const bool corners : {false, true}) {
      const Setting s{mode, "zeros", corners};
      OpCase c = sampled("far", s, {1, 1, 3, 3}, {1, 2, 3, 2});
      c.inputs[1] = given(Literal::of<float>(places, {1, 2, 3, 2}));
      c.reference = [](const std::vector<Doubles>&) {
        return std::vector<Doubles>{{{1, 1, 2, 3}, std::vector<double>(6, 0)}};
      };
      c.oracle = false;
      check_case(c);
    }
}

TEST(GridSampleErrors, AGridOfAnotherSizeIsNamed) {
  OpCase c = sampled("bad", {"bilinear", "zeros", false}, {1, 1, 3, 3}, {1, 2, 2, 2});
  c.inputs[1] = random({1, 2, 2, 3});
  expect_error([&] { check_case(c); }, "GridSample", "float32[1,2,2,3], should be [1,2,2,2]");
  c.inputs[1] = random({2, 2, 2, 2});
  expect_error([&] { check_case(c); }, "GridSample", "float32[2,2,2,2]");
  c = sampled("bad", {"area", "zeros", false}, {1, 1, 3, 3}, {1, 2, 2, 2});
  expect_error([&] { check_case(c); }, "mode is 'area', should be nearest, bilinear or bicubic");
}

}  // namespace
}  // namespace lockstep::testing
