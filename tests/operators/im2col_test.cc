// SPDX-License-Identifier: Apache-2.0
// Compares convolutions by im2col and by oneDNN with float64.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "operators/conv/im2col/im2col.h"
#include "operators/cpu.h"
#include "operators/kit/simd/isa.h"
#include "tests/support/convolution_case.h"
#include "tests/support/expect_error.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr Pass kPasses[] = {Pass::forward, Pass::grad_x, Pass::grad_w};

std::vector<const im2col::Im2colLoops*> usable_loops() {
  std::vector<const im2col::Im2colLoops*> all;
  if (isa_here() >= Isa::avx2) all.push_back(&im2col::avx2_loops());
  if (isa_here() >= Isa::avx512) all.push_back(&im2col::avx512_loops());
  return all;
}

class Im2col : public ::testing::Test {
 protected:
  void SetUp() override {
    if (usable_loops().empty()) GTEST_SKIP() << "skipped: this processor has no AVX2";
  }
};

// LeNet's; sums, pixels and channels that do not fill a vector or fill exactly one; windows partly
// and wholly in the padding; strides and dilations; several strips with a shorter last strip; more
// images than parts; a single pixel.
const ConvolutionCase kCases[] = {
    {.images = 3,
     .inputs = 1,
     .outputs = 20,
     .height = 28,
     .width = 28,
     .top = 0,
     .left = 0,
     .bottom = 0,
     .right = 0,
     .bias = true,
     .window_height = 5,
     .window_width = 5},
    {.images = 2,
     .inputs = 20,
     .outputs = 50,
     .height = 12,
     .width = 12,
     .top = 0,
     .left = 0,
     .bottom = 0,
     .right = 0,
     .bias = true,
     .relu = true,
     .window_height = 5,
     .window_width = 5},
    {.images = 1, .inputs = 3, .outputs = 7, .height = 9, .width = 17, .relu = true},
    {.images = 2,
     .inputs = 5,
     .outputs = 13,
     .height = 6,
     .width = 5,
     .top = 2,
     .left = 3,
     .bottom = 1,
     .right = 4},
    {.images = 2,
     .inputs = 6,
     .outputs = 25,
     .height = 11,
     .width = 14,
     .top = 1,
     .left = 0,
     .bottom = 2,
     .right = 3,
     .bias = true,
     .window_height = 3,
     .window_width = 4,
     .step_down = 2,
     .step_across = 3},
    {.images = 2,
     .inputs = 9,
     .outputs = 17,
     .height = 13,
     .width = 12,
     .top = 2,
     .left = 2,
     .bottom = 2,
     .right = 2,
     .window_height = 3,
     .window_width = 2,
     .step_across = 2,
     .hole_down = 2,
     .hole_across = 3},
    {.images = 1,
     .inputs = 30,
     .outputs = 12,
     .height = 3,
     .width = 4,
     .top = 5,
     .left = 6,
     .bottom = 5,
     .right = 6},
    {.images = 1, .inputs = 50, .outputs = 20, .height = 61, .width = 57, .bias = true},
    {.images = 37, .inputs = 2, .outputs = 3, .height = 4, .width = 4},
    {.images = 2,
     .inputs = 21,
     .outputs = 33,
     .height = 1,
     .width = 1,
     .top = 0,
     .left = 0,
     .bottom = 0,
     .right = 0,
     .window_height = 1,
     .window_width = 1},
    {.images = 2, .inputs = 3, .outputs = 21, .height = 9, .width = 23, .addition = true},
    {.images = 1,
     .inputs = 20,
     .outputs = 50,
     .height = 61,
     .width = 47,
     .bias = true,
     .relu = true,
     .addition = true},
};

TEST_F(Im2col, RoundLittleMoreThanOneDnn) {
  const KernelTable others = [] {
    std::vector<KernelEntry> entries = conv_cpu();
    for (KernelEntry& entry : entries)
      std::erase_if(entry.candidates, [](const Candidate& c) { return c.name != "oneDNN"; });
    return KernelTable(DeviceKind::cpu, all_ops(), std::move(entries));
  }();
  for (const ConvolutionCase& c : kCases) {
    const Convolution convolution(c);
    for (Pass pass : kPasses) {
      SCOPED_TRACE(join("case ", &c - kCases, ", pass ", static_cast<int>(pass)));
      const std::vector<double> exact = convolution.exact(pass);
      const KernelRequest request = convolution.request(pass, 1, 1);
      const auto direct = others.choose(request).kernel;
      // With few products per sum, a direct convolution is nearly exact.
      const double allowed = 5e-7 + 2 * error_of(convolution.run(*direct, request, pass), exact);
      for (const im2col::Im2colLoops* loops : usable_loops()) {
        const auto kernel = prepare_im2col(request, *loops);
        EXPECT_LT(error_of(convolution.run(*kernel, request, pass), exact), allowed)
            << kernel->describe();
      }
    }
  }
}

TEST_F(Im2col, HaveTheSameBitsOnAnyNumberOfThreadsAndLanes) {
  for (const ConvolutionCase& c : kCases) {
    const Convolution convolution(c);
    for (Pass pass : kPasses) {
      std::vector<float> first;
      for (const im2col::Im2colLoops* loops : usable_loops())
        for (int threads : {1, 2, 5}) {
          const KernelRequest request = convolution.request(pass, 1, usable_threads(threads));
          const auto kernel = prepare_im2col(request, *loops);
          const std::vector<float> result = convolution.run(*kernel, request, pass);
          if (first.empty()) first = result;
          EXPECT_TRUE(first == result) << "case " << &c - kCases << ", " << kernel->describe()
                                       << ", " << threads << " threads";
        }
    }
  }
}

TEST_F(Im2col, KeepNaN) {
  Convolution convolution({.images = 1,
                           .inputs = 3,
                           .outputs = 5,
                           .height = 8,
                           .width = 8,
                           .relu = true,
                           .addition = true});
  convolution.x[9] = NAN;  // in the second row
  convolution.z[63] = NAN;
  const KernelRequest request = convolution.request(Pass::forward, 1, 1);
  for (const im2col::Im2colLoops* loops : usable_loops()) {
    const std::vector<float> y =
        convolution.run(*prepare_im2col(request, *loops), request, Pass::forward);
    for (std::size_t i : {0, 1, 2, 8, 9, 10, 16, 17, 18, 63})
      EXPECT_TRUE(std::isnan(y[i])) << i << " of the first plane";
    EXPECT_FALSE(std::isnan(y[3]));
  }
}

TEST_F(Im2col, OfNoImagesAreNoGradient) {
  const Convolution convolution({.images = 0, .inputs = 3, .outputs = 5, .height = 8, .width = 8});
  for (const im2col::Im2colLoops* loops : usable_loops())
    for (Pass pass : kPasses) {
      const KernelRequest request = convolution.request(pass, 1, 2);
      for (float value : convolution.run(*prepare_im2col(request, *loops), request, pass))
        EXPECT_EQ(value, 0);
    }
}

TEST_F(Im2col, AreForChannelsThatFillNoBlocks) {
  const KernelTable table = cpu_kernels();
  const auto chosen = [&](int64_t inputs, int64_t outputs, Pass pass, int64_t step = 1) {
    const Convolution convolution({.images = 2,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .height = 9,
                                   .width = 9,
                                   .step_down = step,
                                   .step_across = step});
    return table.choose(convolution.request(pass, 1, 1)).candidate;
  };
  for (Pass pass : kPasses) {
    EXPECT_EQ(chosen(20, 50, pass), "im2col");
    EXPECT_EQ(chosen(1, 20, pass), "im2col");
    EXPECT_EQ(chosen(3, 64, pass), "oneDNN");
    EXPECT_EQ(chosen(64, 12, pass), "oneDNN");
    EXPECT_EQ(chosen(500, 500, pass), "oneDNN") << "their blocks have little padding";
    EXPECT_EQ(chosen(20, 50, pass, 2), pass == Pass::grad_x ? "im2col" : "oneDNN");
  }
}

// A strip has at least one row of the result.
TEST_F(Im2col, AreNotForLongRows) {
  const KernelTable table = cpu_kernels();
  for (Pass pass : kPasses)
    for (const auto& [width, name] : {std::pair(3'000, "im2col"), std::pair(30'000, "oneDNN")}) {
      const Convolution convolution({.images = 1,
                                     .inputs = 1,
                                     .outputs = 3,
                                     .height = 1,
                                     .width = width,
                                     .top = 0,
                                     .left = 0,
                                     .bottom = 0,
                                     .right = 0,
                                     .window_height = 1,
                                     .window_width = 50});
      EXPECT_EQ(table.choose(convolution.request(pass, 1, 1)).candidate, name) << width;
    }
}

TEST_F(Im2col, NameLayoutsThatTheyCannotRead) {
  const Convolution convolution({4, 32, 32, 8, 8});
  const KernelRequest request = convolution.request(Pass::forward, 8, 1);
  expect_error([&] { prepare_im2col(request, *im2col::loops_here()); }, "takes row-major tensors",
               "/c8");
}

}  // namespace
}  // namespace lockstep::testing
