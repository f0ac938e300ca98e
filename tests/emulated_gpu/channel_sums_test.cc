// SPDX-License-Identifier: Apache-2.0
// A GPU's sums over all dimensions but one, in every type and layout.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/operators.h"
#include "tests/emulated_gpu/node_run.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

struct Summed {
  DType type = DType::float32;
  bool channels_last = true;
  bool by_axes = false;  // a ReduceSum with axes
  friend std::ostream& operator<<(std::ostream& out, const Summed& of) {
    return out << of.type << (of.channels_last ? " channels last" : " row-major")
               << (of.by_axes ? ", ReduceSum" : "");
  }
};

std::vector<Summed> all_summed() {
  std::vector<Summed> all;
  for (const bool last : {true, false}) {
    for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
      all.push_back({type, last, false});
    all.push_back({DType::float32, last, true});
  }
  return all;
}

// Sums that fit into one launch and sums that do not: packs and single elements, more channels than
// a block's columns, planes larger than a block.
const std::vector<Dims> kSums{{6, 16, 9, 7},   {3, 5, 4, 4},   {2, 3, 40, 40},  {2, 3, 41, 33},
                              {3, 7, 5, 5},    {1, 264, 2, 2}, {70, 2, 3, 3},   {9, 64, 32, 32},
                              {40, 20, 24, 8}, {1, 1, 1, 1},   {2, 8, 6, 5, 3}, {33, 24},
                              {600, 10},       {700, 264},     {5, 3, 8}};

class ByChannel {
 public:
  ByChannel(const Summed& of, const Dims& dims, int64_t axis = 1) {
    const Value x = graph_.input("x", {of.type, to_shape(dims)});
    if (of.by_axes) {
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
        if (i != axis) axes.push_back(i);
      axes_ = Literal::vector(axes);
      graph_.add_value(
          {"ReduceSum", "", {x, graph_.constant("axes", *axes_)}, {{"keepdims", int64_t{0}}}}, "y");
    } else {
      graph_.add_value({"ChannelSums", kOwnDomain, {x}, {{"axis", axis}}}, "y");
    }
  }
  Node node() const { return graph_.node(0); }
  std::vector<Literal> operands(const Literal& x) const {
    return axes_ ? std::vector<Literal>{x, *axes_} : std::vector<Literal>{x};
  }

 private:
  Graph graph_{all_ops(), "sums"};
  std::optional<Literal> axes_;
};

class EmulatedChannelSums : public ::testing::TestWithParam<Summed> {
 protected:
  static NodeRun run_of(const Summed& of, const Dims& dims) {
    const Layout layout =
        of.channels_last && dims.size() > 2 ? Layout::channels_last(dims[1]) : Layout();
    return {.layouts = Layouts{{layout, {}}, {Layout()}}};
  }
};

// The CPU adds in double as well, in another order.
TEST_P(EmulatedChannelSums, AreThoseOfTheNumbersInDouble) {
  for (const Dims& dims : kSums) {
    SCOPED_TRACE(text_of(dims));
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.25F, 1);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = normal(random);
    const Literal x = numbers(GetParam().type, dims, values);
    const ByChannel sums(GetParam(), dims);
    const NodeRun gpu = run_of(GetParam(), dims);
    const std::vector<Literal> found = gpu.results(sums.node(), sums.operands(x));

    const Doubles exact = to_doubles(x);
    const int64_t channels = dims[1], plane = element_count({dims.begin() + 2, dims.end()});
    std::vector<double> total(static_cast<std::size_t>(channels)), most = total;
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      const auto c = static_cast<std::size_t>(static_cast<int64_t>(i) / plane % channels);
      total[c] += exact.values[i];
      most[c] += std::abs(exact.values[i]);
    }
    for (std::size_t c = 0; c < total.size(); ++c)
      EXPECT_NEAR(found[0].values<float>()[c], static_cast<float>(total[c]),
                  6e-8 * std::abs(total[c]) + 1e-14 * most[c])
          << c;
    EXPECT_EQ(gpu.results(sums.node(), sums.operands(x)), found) << "two runs give different bits";
  }
}

TEST_P(EmulatedChannelSums, ReadTheirOperandAsItLies) {
  const auto how = [](const Dims& dims) {
    return run_of(GetParam(), dims).description(ByChannel(GetParam(), dims).node());
  };
  const std::string last = "by channel, channels last";
  EXPECT_EQ(how({2, 16, 5, 5}), GetParam().channels_last ? last + ", in packs" : "by channel");
  EXPECT_EQ(how({2, 17, 4, 4}), GetParam().channels_last ? last : "by channel, in packs");
  EXPECT_EQ(how({2, 16}), last + ", in packs");
  EXPECT_EQ(how({2, 17}), last);
}

TEST_P(EmulatedChannelSums, OfNothingAreZero) {
  for (const Dims& dims : {Dims{0, 8, 3, 3}, Dims{2, 8, 0, 3}, Dims{0, 5}}) {
    SCOPED_TRACE(text_of(dims));
    const ByChannel sums(GetParam(), dims);
    const auto found = NodeRun{.channels_last = false}.results(
        sums.node(), sums.operands(numbers(GetParam().type, dims, {})));
    for (const float sum : found[0].values<float>()) EXPECT_EQ(sum, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedChannelSums, ::testing::ValuesIn(all_summed()));

// Rows of a sequence, and a dimension that is neither the last dimension nor the channels.
TEST(EmulatedSums, LeaveAnyDimension) {
  for (const DType type : {DType::float32, DType::bfloat16})
    for (int64_t axis = 0; axis < 3; ++axis) {
      const Dims dims{3, 4, 16};
      std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 64);
      const ByChannel sums({type}, dims, axis);
      const std::vector<Literal> x{numbers(type, dims, values)};
      const NodeRun gpu{.channels_last = false}, cpu{DeviceKind::cpu, false};
      EXPECT_EQ(gpu.results(sums.node(), x), cpu.results(sums.node(), x)) << axis;
    }
}

}  // namespace
}  // namespace lockstep::testing
