// SPDX-License-Identifier: Apache-2.0
// Compares gradients of the filters of 1x1 convolutions in bfloat16 with float64.
#include <gtest/gtest.h>

#include "lockstep/types.h"
#include "operators/conv/pointwise_grad_w/pointwise_grad_w.h"
#include "operators/cpu.h"
#include "operators/kit/simd/isa.h"
#include "tests/support/expect_error.h"
#include "tests/support/threads.h"
#include "tests/support/tile_case.h"

namespace lockstep::testing {
namespace {

ConvolutionCase with_steps(int64_t images, int64_t inputs, int64_t outputs, int64_t height,
                           int64_t width, int64_t down = 1, int64_t across = 1) {
  return {.images = images,
          .inputs = inputs,
          .outputs = outputs,
          .height = height,
          .width = width,
          .top = 0,
          .left = 0,
          .bottom = 0,
          .right = 0,
          .window_height = 1,
          .window_width = 1,
          .step_down = down,
          .step_across = across};
}

// One pixel, odd numbers of pixels and of images; a panel of one block on either side; exactly two
// chunks, chunks that begin inside an image and inside a pair; strides; two parts and four.
const ConvolutionCase kCases[] = {
    with_steps(1, 16, 16, 1, 1),         with_steps(3, 32, 16, 1, 1),
    with_steps(1, 32, 48, 7, 7),         with_steps(3, 48, 16, 7, 7),
    with_steps(2, 64, 32, 28, 28),       with_steps(3, 16, 80, 31, 29),
    with_steps(1, 64, 16, 56, 56),       with_steps(2, 32, 64, 14, 14, 2, 2),
    with_steps(3, 48, 32, 15, 13, 2, 3), with_steps(7, 16, 48, 25, 9, 2, 1),
    with_steps(5, 16, 32, 56, 56),       with_steps(9, 32, 16, 56, 56),
};

// A convolution with rounded operands.
Convolution narrow(const ConvolutionCase& c) {
  Convolution convolution(c);
  for (std::vector<float>* values : {&convolution.x, &convolution.dy})
    for (float& value : *values) value = BFloat16(value);
  return convolution;
}

KernelRequest request_of(const Convolution& convolution, int threads, int block = 16) {
  KernelRequest request = convolution.request(Pass::grad_w, block, threads);
  for (TensorDesc* desc : {&request.in[0], &request.in[1], &request.out[0]})
    desc->dtype = DType::bfloat16;
  return request;
}

std::vector<BFloat16> rounded(const std::vector<float>& values) {
  std::vector<BFloat16> result;
  for (const float value : values) result.emplace_back(value);
  return result;
}

std::vector<float> gradient(const Convolution& convolution, int threads) {
  const KernelRequest request = request_of(convolution, threads);
  const auto kernel = prepare_pointwise_grad_w(request);
  std::vector<BFloat16> x = rounded(laid_out(convolution.x, request.in[0]));
  std::vector<BFloat16> dy = rounded(laid_out(convolution.dy, request.in[1]));
  std::vector<BFloat16> dw(static_cast<std::size_t>(request.out[0].count()), BFloat16(NAN));
  std::vector<float> workspace(kernel->workspace_bytes() / sizeof(float) + 1, NAN);
  const std::vector<Tensor> in{{request.in[0], x.data()}, {request.in[1], dy.data()}};
  std::vector<Tensor> out{{request.out[0], dw.data()}};
  kernel->run({in, out, reinterpret_cast<std::byte*>(workspace.data()), RunContext{}});
  return {dw.begin(), dw.end()};
}

class Pointwise : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!multiplies_bfloat16()) GTEST_SKIP() << "skipped: this processor has no AVX512-BF16";
  }
};

TEST_F(Pointwise, RoundTheSumOnce) {
  for (const ConvolutionCase& c : kCases) {
    const Convolution convolution = narrow(c);
    expect_rounded_once(gradient(convolution, 1), convolution.exact(Pass::grad_w),
                        join("case ", &c - kCases));
  }
}

TEST_F(Pointwise, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const ConvolutionCase& c : kCases) {
    const Convolution convolution = narrow(c);
    const std::vector<float> one = gradient(convolution, 1);
    for (int threads : {2, 3, 5})
      EXPECT_TRUE(one == gradient(convolution, usable_threads(threads)))
          << "case " << &c - kCases << ", " << threads << " threads";
  }
}

TEST_F(Pointwise, KeepNaN) {
  Convolution convolution = narrow(with_steps(2, 32, 16, 3, 3));
  convolution.x[9] = NAN;  // in the second channel
  const std::vector<float> dw = gradient(convolution, 1);
  for (std::size_t i = 0; i < dw.size(); ++i) EXPECT_EQ(std::isnan(dw[i]), i % 32 == 1) << i;
}

TEST_F(Pointwise, AreForMultiplesOfSixteenChannels) {
  const KernelTable table = cpu_kernels();
  const Candidate pointwise = tile_candidate(Pass::grad_w, "pointwise");
  for (int64_t step : {1, 2}) {
    const Convolution convolution(with_steps(2, 16, 48, 14, 14, step, step));
    const KernelRequest request = request_of(convolution, 1);
    EXPECT_EQ(pointwise.refuses(request), "");
    EXPECT_EQ(pointwise.prepare(request)->describe(), "pointwise, AVX512-BF16");
    EXPECT_EQ(pointwise.wish(request),
              (Layouts{{Layout::blocks(16), Layout::blocks(16)}, {Layout()}}));
    const ChosenKernel kernel = table.choose(request);
    if (kernel.candidate != "AMX") {  // AMX precedes this candidate
      EXPECT_EQ(kernel.candidate, "pointwise") << text_of(kernel.refused);
      EXPECT_EQ(kernel.kernel->describe(), "pointwise, AVX512-BF16");
      EXPECT_EQ(table.preferred_layouts(request),
                (Layouts{{Layout::blocks(16), Layout::blocks(16)}, {Layout()}}));
    }
  }
  const auto expect_refused = [&](const ConvolutionCase& c, const std::string& reason) {
    const Convolution convolution(c);
    const KernelRequest request = request_of(convolution, 1, c.inputs % 16 == 0 ? 16 : 8);
    EXPECT_EQ(pointwise.refuses(request), reason);
    const ChosenKernel kernel = table.choose(request);
    if (kernel.candidate != "AMX") {
      EXPECT_EQ(kernel.candidate, "oneDNN");
      EXPECT_NE(text_of(kernel.refused).find("pointwise: " + reason), std::string::npos)
          << text_of(kernel.refused);
    }
  };
  expect_refused(with_steps(2, 24, 64, 14, 14), "takes multiples of 16 channels");
  expect_refused({2, 16, 48, 14, 14}, "takes 1x1 windows");
  ConvolutionCase padded = with_steps(2, 16, 48, 14, 14);
  padded.right = 1;
  expect_refused(padded, "takes no padding");
}

TEST_F(Pointwise, LeaveFloatsToOneDnn) {
  const Convolution convolution(with_steps(2, 32, 64, 14, 14));
  const ChosenKernel chosen = cpu_kernels().choose(convolution.request(Pass::grad_w, 16, 1));
  EXPECT_EQ(chosen.candidate, "oneDNN");
  EXPECT_NE(text_of(chosen.refused).find("pointwise: takes bfloat16, not float32"),
            std::string::npos)
      << text_of(chosen.refused);
}

TEST_F(Pointwise, NameLayoutsThatTheyCannotRead) {
  const Convolution convolution(with_steps(2, 32, 64, 14, 14));
  for (int block : {1, 8})
    expect_error([&] { prepare_pointwise_grad_w(request_of(convolution, 1, block)); },
                 "takes channel blocks of 16, not ", "bfloat16");
}

}  // namespace
}  // namespace lockstep::testing
