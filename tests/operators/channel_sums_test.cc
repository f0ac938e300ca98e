// SPDX-License-Identifier: Apache-2.0
// Sums over all dimensions but the channels, in channel blocks: supported sums, and their values.
// Sums of 16 bits have the bits of a cast to float32 followed by the row-major sum.
#include "operators/reduce/channel_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/operators.h"
#include "tests/support/laid_tensor.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

class SumOver {
 public:
  SumOver(const Dims& dims, const std::vector<int64_t>& axes)
      : x_{DType::float32, dims}, axes_(Literal::vector(axes)) {
    const Value x = graph_.input("x", {x_.dtype, to_shape(dims)});
    const Value y = graph_.add_value(
        {"ReduceSum", "", {x, graph_.constant("axes", axes_)}, {{"keepdims", int64_t{0}}}}, "y");
    y_ = {DType::float32, to_dims(graph_.shape(y))};
    node_.push_back(graph_.node(0));
  }

  KernelRequest request(Layout layout) const {
    TensorDesc x = x_;
    x.layout = layout;
    return {.node = node_[0],
            .in = {x, {DType::int64, axes_.dims()}},
            .out = {y_},
            .constants = {nullptr, &axes_},
            .threads = usable_threads(2)};
  }

 private:
  TensorDesc x_, y_;
  Literal axes_;
  Graph graph_{all_ops(), "sums"};
  std::vector<Node> node_;
};

// Sums of a tensor with the layout of `desc`. The values are numbered in row-major order.
std::vector<float> sums(const Node& node, const KernelRequest& asked, float first, float step) {
  LaidTensor x(asked.in[0], first, step);
  std::vector<float> y(static_cast<std::size_t>(asked.out[0].count()), NAN);
  std::vector<Tensor> in{x.tensor()};
  in.resize(asked.in.size());
  const std::vector<Tensor> out{{asked.out[0], y.data()}};
  const auto chosen = table_for(all_kernels(), {DeviceKind::cpu, 0}).choose(asked);
  EXPECT_EQ(chosen.candidate, asked.in[0].layout.is_blocks() ? "channel blocks" : "CPU")
      << node.description();
  chosen.kernel->run({in, out, nullptr, RunContext{}});
  return y;
}

// Padded and full blocks; planes that are not a multiple of the vector width.
TEST(ChannelSums, OfAnyTypeAndLayoutHaveTheBitsOfTheRowMajorSum) {
  for (const Dims& dims : {Dims{3, 32, 5, 7}, Dims{2, 24, 4, 4}, Dims{4, 20, 3, 3}, Dims{2, 3, 9},
                           Dims{1, 17, 1, 3}, Dims{2, 8, 3, 5, 2}})
    for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
      SCOPED_TRACE(join(type, text_of(dims)));
      std::vector<int64_t> axes{0};
      for (std::size_t i = 2; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
      const SumOver wide(dims, axes);
      Graph graph(all_ops(), "channels");
      const Value x = graph.input("x", {type, to_shape(dims)});
      graph.add_value({"ChannelSums", kOwnDomain, {x}, {{"axis", int64_t{1}}}}, "y");
      const Node node = graph.node(0);
      // Numbers that fit 16 bits; their sums need more precision than float32 has.
      const float first = 300, step = type == DType::bfloat16 ? -2 : -1.25F;
      KernelRequest plain = wide.request(Layout());
      if (type != DType::float32) {
        LaidTensor narrow({type, dims}, first, step);
        const std::vector<float> values = narrow.values();
        std::vector<float> expected(static_cast<std::size_t>(dims[1]), NAN);
        const std::vector<Tensor> in{{plain.in[0], const_cast<float*>(values.data())}, {}},
            out{{plain.out[0], expected.data()}};
        table_for(all_kernels(), {DeviceKind::cpu, 0})
            .choose(plain)
            .kernel->run({in, out, nullptr, RunContext{}});
        for (const int block : {1, 8, 16})
          for (const int threads : {1, 2}) {
            const KernelRequest asked{.node = node,
                                      .in = {{type, dims, Layout::blocks(block)}},
                                      .out = {plain.out[0]},
                                      .constants = {nullptr},
                                      .threads = usable_threads(threads)};
            EXPECT_EQ(sums(node, asked, first, step), expected) << block;
          }
        continue;
      }
      const std::vector<float> expected = sums(node, plain, first, step);
      for (const int block : {8, 16})
        EXPECT_EQ(sums(node, wide.request(Layout::blocks(block)), first, step), expected) << block;
    }
}

std::string refusal(const Dims& dims, const std::vector<int64_t>& axes, Layout layout) {
  const SumOver sum(dims, axes);
  return no_channel_sums(sum.request(layout));
}

TEST(ChannelSums, AreThoseOfEachChannel) {
  for (const Dims& dims : {Dims{3, 32, 5, 7}, Dims{16, 16, 4, 4}, Dims{1, 16, 1, 3}})
    for (const int block : {8, 16}) {
      const SumOver sum(dims, {0, 2, 3});
      const KernelRequest request = sum.request(Layout::blocks(block));
      ASSERT_EQ(no_channel_sums(request), "");
      const TensorDesc& desc = request.in[0];
      std::vector<float> plain(static_cast<std::size_t>(desc.count()));
      for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = std::sin(static_cast<float>(i));
      const int64_t plane = desc.count() / (dims[0] * dims[1]);
      std::vector<double> expected(static_cast<std::size_t>(dims[1]));
      for (int64_t i = 0; i < desc.count(); ++i) expected[i / plane % dims[1]] += plain[i];
      std::vector<float> x = laid_out(plain, desc), y(expected.size(), NAN);
      const std::vector<Tensor> in{{desc, x.data()}, {}}, out{{request.out[0], y.data()}};
      prepare_channel_sums(request)->run({in, out, nullptr, RunContext{}});
      for (std::size_t c = 0; c < y.size(); ++c) EXPECT_NEAR(y[c], expected[c], 1e-5) << c;
    }
}

// The number of images equals the number of channels, so the remaining dimension has the channels'
// size as well.
TEST(ChannelSums, AreNotThoseOfEachImage) {
  EXPECT_EQ(refusal({16, 16, 4, 4}, {1, 2, 3}, Layout::blocks(16)), "keeps the channels alone");
  EXPECT_EQ(refusal({8, 8, 1, 3}, {1, 2, 3}, Layout::blocks(8)), "keeps the channels alone");
}

TEST(ChannelSums, TakeNoFiltersInTiles) {
  EXPECT_EQ(refusal({32, 16, 3, 3}, {0, 2, 3}, Layout::in({.side = 16})), "takes channel blocks");
  EXPECT_EQ(refusal({32, 16, 3, 3}, {0, 2, 3}, Layout()), "takes channel blocks");
  EXPECT_EQ(refusal({0, 16, 3, 3}, {0, 2, 3}, Layout::blocks(16)), "keeps the channels alone");
}

}  // namespace
}  // namespace lockstep::testing
