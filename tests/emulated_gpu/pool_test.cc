// SPDX-License-Identifier: Apache-2.0
// A GPU's maxima of channels-last images have the CPU's bits, packed and single.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/operators.h"
#include "tests/emulated_gpu/node_run.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

struct Shape2d {
  Dims x;
  int64_t kernel, begin, end;
  bool ceil = false;
  int64_t stride = 2;
};

// Few distinct values, with many ties. Some are NaN, and some are -infinity.
std::vector<float> coarse(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = std::round(2 * normal(random));
    if (random() % 23 == 0) value = std::nanf("");
    if (random() % 5 == 0) value = -INFINITY;
  }
  return values;
}

std::vector<float> fine(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

class EmulatedMaxima : public ::testing::TestWithParam<DType> {
 protected:
  void build(const Shape2d& shape) {
    const DType type = GetParam();
    const std::vector<int64_t> kernel{shape.kernel, shape.kernel},
        strides{shape.stride, shape.stride}, pads{shape.begin, shape.begin, shape.end, shape.end};
    Attributes attributes{{"kernel_shape", kernel},
                          {"strides", strides},
                          {"pads", pads},
                          {"ceil_mode", int64_t{shape.ceil}}};
    const Value x = graph_.input("x", {type, to_shape(shape.x)});
    plain_ = graph_.add({"MaxPool", "", {x}, attributes}, "plain").index();
    const Node forward = graph_.add({.type = "MaxPoolPlaces",
                                     .domain = kOwnDomain,
                                     .inputs = {x},
                                     .attributes = attributes,
                                     .outputs = 2},
                                    "forward");
    forward_ = forward.index();
    const Value dy = graph_.input("dy", {type, graph_.shape(forward.outputs()[0])});
    attributes.push_back({"x_shape", std::vector<int64_t>{shape.x[2], shape.x[3]}});
    backward_ = graph_
                    .add({.type = "MaxPoolPlacesGrad",
                          .domain = kOwnDomain,
                          .inputs = {dy, forward.outputs()[1]},
                          .attributes = attributes},
                         "backward")
                    .index();
  }

  Graph graph_{all_ops(), "maxima"};
  int plain_ = 0, forward_ = 0, backward_ = 0;
};

// Maps every NaN to the same number.
std::vector<double> values(const Literal& literal) {
  std::vector<double> all = to_doubles(literal).values;
  for (double& value : all)
    if (std::isnan(value)) value = 1e300;
  return all;
}

const std::vector<Shape2d> kPooledShapes{
    {{2, 16, 12, 11}, 3, 1, 1},         {{1, 24, 9, 9}, 3, 0, 0},      {{3, 8, 7, 70}, 3, 1, 0},
    {{2, 64, 6, 5}, 3, 2, 2},           {{1, 8, 6, 6}, 3, 0, 0, true}, {{2, 16, 8, 6}, 2, 0, 0},
    {{1, 40, 9, 7}, 2, 1, 1},           {{2, 264, 3, 4}, 2, 0, 0},     {{1, 5, 9, 9}, 3, 1, 1},
    {{2, 16, 9, 8}, 5, 2, 2, false, 3}, {{1, 8, 1, 1}, 3, 1, 1}};

TEST_P(EmulatedMaxima, OfChannelsLastImagesHaveTheBitsOfTheCpu) {
  for (const Shape2d& shape : kPooledShapes) {
    SCOPED_TRACE(text_of(shape.x));
    SetUp();
    graph_ = Graph(all_ops(), "maxima");
    build(shape);
    const NodeRun cpu{DeviceKind::cpu, false};
    const Literal x = numbers(GetParam(), shape.x, coarse(element_count(shape.x), 1));
    const auto expected = cpu.results(graph_.node(forward_), {x});
    const Dims y = expected[0].dims();
    const Literal dy = numbers(GetParam(), y, fine(element_count(y), 2));
    const auto dx = cpu.results(graph_.node(backward_), {dy, expected[1]});
    for (const bool channels_last : {true, false}) {
      const NodeRun gpu{DeviceKind::gpu, channels_last};
      EXPECT_EQ(values(gpu.results(graph_.node(plain_), {x})[0]), values(expected[0]));
      const auto found = gpu.results(graph_.node(forward_), {x});
      EXPECT_EQ(values(found[0]), values(expected[0]));
      EXPECT_EQ(values(found[1]), values(expected[1]));
      EXPECT_EQ(values(gpu.results(graph_.node(backward_), {dy, expected[1]})[0]), values(dx[0]));
    }
  }
}

// The shapes above reach both kinds of kernels.
TEST_P(EmulatedMaxima, AreTakenInPacksWhereTheyFit) {
  const auto described = [&](const Shape2d& shape) {
    graph_ = Graph(all_ops(), "maxima");
    build(shape);
    return NodeRun{}.description(graph_.node(backward_));
  };
  EXPECT_EQ(described({{1, 8, 9, 9}, 3, 1, 1}), "channels last, in packs");
  EXPECT_EQ(described({{1, 8, 9, 9}, 2, 0, 0}), "channels last, in packs");
  EXPECT_EQ(described({{1, 5, 9, 9}, 3, 1, 1}), "");
  EXPECT_EQ(described({{1, 8, 9, 9}, 5, 1, 1}), "");
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedMaxima,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16));

}  // namespace
}  // namespace lockstep::testing
