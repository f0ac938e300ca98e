// SPDX-License-Identifier: Apache-2.0
// The gradient of maxima in channel blocks has the bits of the gradient in row-major planes. In
// bfloat16, the bits are rounded once.
#include "operators/pool/max_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/operators.h"
#include "operators/pool/max_planes.h"
#include "tests/support/expect_error.h"
#include "tests/support/laid_out.h"
#include "tests/support/threads.h"
#include "tests/support/vectors.h"

namespace lockstep::testing {
namespace {

struct Windows {
  int64_t kernel = 2, stride = 2, begin = 0, end = 0;
};

// Few distinct values, with many ties, and some NaN. bfloat16 represents all of them exactly.
std::vector<float> values_of(const TensorDesc& desc, unsigned seed, bool coarse) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(desc.count()));
  for (float& value : values) {
    value = static_cast<float>(BFloat16(normal(random)));
    if (coarse) value = random() % 23 == 0 ? std::nanf("") : std::round(value);
  }
  return values;
}

class MaxGrad {
 public:
  MaxGrad(const Windows& windows, const Dims& dims) : x_{DType::float32, dims} {
    const int64_t kernel = windows.kernel;
    Attributes attributes{
        {"kernel_shape", std::vector<int64_t>{kernel, kernel}},
        {"strides", std::vector<int64_t>{windows.stride, windows.stride}},
        {"pads", std::vector<int64_t>{windows.begin, windows.begin, windows.end, windows.end}}};
    const Value x = graph_.input("x", {x_.dtype, to_shape(dims)});
    const Value y = graph_.add_value({"MaxPool", "", {x}, attributes}, "y");
    dy_ = {DType::float32, to_dims(graph_.shape(y))};
    graph_.add({"MaxPoolGrad",
                kOwnDomain,
                {graph_.input("dy", {x_.dtype, to_shape(dy_.dims)}), x},
                attributes},
               "dx");
    node_.push_back(graph_.node(1));
  }

  KernelRequest request(int block, int threads = 1, DType dtype = DType::float32) const {
    TensorDesc x = x_, dy = dy_;
    x.dtype = dy.dtype = dtype;
    x.layout = dy.layout = Layout::blocks(block);
    return {.node = node_[0], .in = {dy, x}, .out = {x}, .threads = threads};
  }
  // Returns the result in row-major order.
  std::vector<float> run(Kernel& kernel, const KernelRequest& request) const {
    return request.in[0].dtype == DType::bfloat16 ? run_in<BFloat16>(kernel, request)
                                                  : run_in<float>(kernel, request);
  }

 private:
  template <class T>
  std::vector<float> run_in(Kernel& kernel, const KernelRequest& request) const {
    const auto stored = [](const std::vector<float>& values) {
      std::vector<T> all;
      for (const float value : values) all.push_back(static_cast<T>(value));
      return all;
    };
    std::vector<T> dy = stored(laid_out(values_of(dy_, 1, false), request.in[0])),
                   x = stored(laid_out(values_of(x_, 2, true), request.in[1])),
                   dx(x.size(), static_cast<T>(NAN));
    std::vector<std::byte> workspace(kernel.workspace_bytes(), std::byte{0xFF});
    const std::vector<Tensor> in{{request.in[0], dy.data()}, {request.in[1], x.data()}},
        out{{request.out[0], dx.data()}};
    kernel.run({in, out, workspace.data(), RunContext{}});
    return row_major(std::vector<float>(dx.begin(), dx.end()), request.out[0]);
  }

  TensorDesc x_, dy_;
  Graph graph_{all_ops(), "maxima"};
  std::vector<Node> node_;
};

constexpr Isa kAllVectors[] = {Isa::portable, Isa::avx2, Isa::avx512};

// In blocks of all sizes, with all vector widths, in both precisions.
void expect_gradient_of_planes(const Windows& windows, const Dims& dims) {
  const MaxGrad max(windows, dims);
  const std::vector<float> expected = max.run(*max_of_planes_grad(max.request(1)), max.request(1));
  std::vector<float> rounded;
  for (const float value : expected) rounded.push_back(static_cast<float>(BFloat16(value)));
  for (int block : {4, 8, 16})
    for (int threads : {1, 3})
      for (const auto vectors : kAllVectors)
        for (const DType dtype : {DType::float32, DType::bfloat16}) {
          const VectorsAtMost limit(vectors);
          const KernelRequest request = max.request(block, usable_threads(threads), dtype);
          EXPECT_TRUE(max.run(*max_of_blocks_grad(request), request) ==
                      (dtype == DType::float32 ? expected : rounded))
              << "windows of " << windows.kernel << " by " << windows.stride << ", x "
              << text_of(dims) << ", blocks of " << block << ", " << threads << " threads, "
              << name_of(dtype) << ", vectors " << static_cast<int>(vectors);
        }
}

TEST(MaxOfBlocks, HasTheGradientOfRowMajorPlanes) {
  for (const Windows& windows :
       {Windows{}, Windows{3, 2, 1, 1}, Windows{3, 1, 1, 1}, Windows{3, 2, 0, 1},
        Windows{2, 2, 1, 1}, Windows{5, 3, 2, 0}, Windows{1, 1}, Windows{4, 1, 3, 3}, Windows{2, 3},
        Windows{1, 4, 0, 0}, Windows{3, 2, 2, 2}, Windows{3, 2}})
    for (const Dims& dims : {Dims{3, 16, 11, 7}, Dims{2, 16, 6, 21}, Dims{1, 32, 5, 8}})
      expect_gradient_of_planes(windows, dims);
}

TEST(MaxOfBlocks, HasThatOfImagesSmallerThanAWindow) {
  for (const Dims& dims : {Dims{2, 32, 1, 1}, Dims{1, 16, 2, 1}, Dims{1, 16, 1, 2}})
    for (const Windows& windows : {Windows{3, 2, 1, 1}, Windows{3, 2, 2, 2}, Windows{2, 2, 1, 1},
                                   Windows{4, 3, 2, 2}, Windows{3, 1, 1, 2}})
      expect_gradient_of_planes(windows, dims);
}

TEST(MaxOfBlocks, HasThatWhereWindowsLieInPadding) {
  for (const Windows& windows : {Windows{2, 2, 0, 3}, Windows{3, 2, 1, 5}, Windows{2, 1, 0, 2}})
    expect_gradient_of_planes(windows, {1, 32, 5, 4});
}

TEST(MaxOfBlocks, TakesAsManyChannelsAtOnceAsVectorsHold) {
  const MaxGrad max({}, {1, 48, 4, 4});
  for (const auto vectors : kAllVectors) {
    const VectorsAtMost limit(vectors);
    const bool wide = isa_here() == Isa::avx512;
    const auto choice = [&](int block) {
      return max_of_blocks_grad(max.request(block))->describe();
    };
    EXPECT_EQ(choice(4), "4 channels at once");
    EXPECT_EQ(choice(8), "8 channels at once");
    EXPECT_EQ(choice(16), wide ? "16 channels at once" : "8 channels at once");
    EXPECT_EQ(choice(24), "8 channels at once");
  }
}

TEST(MaxOfBlocks, RefusesOtherLayouts) {
  const MaxGrad max({}, {1, 12, 4, 4});
  EXPECT_EQ(not_blocks_of_planes(max.request(1)), "takes channel blocks of 4, 8 and so on");
  EXPECT_EQ(not_blocks_of_planes(max.request(3)), "takes channel blocks of 4, 8 and so on");
  EXPECT_EQ(not_blocks_of_planes(max.request(12)), "");
  KernelRequest mixed = max.request(4);
  mixed.in[0].layout = Layout();
  expect_error([&] { max_of_blocks_grad(mixed); }, "takes operands in equal channel blocks");
  for (int block : {8, 16})
    expect_error([&] { max_of_blocks_grad(max.request(block)); },
                 "takes channel blocks without padding");
}

}  // namespace
}  // namespace lockstep::testing
