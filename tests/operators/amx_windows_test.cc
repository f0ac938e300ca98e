// SPDX-License-Identifier: Apache-2.0
// Compares the first convolutions of networks by matrix tiles with float64.
#include <gtest/gtest.h>

#include "tests/support/threads.h"
#include "tests/support/tile_case.h"

namespace lockstep::testing {
namespace {

constexpr Pass kWindowPasses[] = {Pass::forward, Pass::grad_w};
constexpr char kWindows[] = "AMX, windows";

// Row-major images and filters.
KernelRequest window_request(const TileCase& one, Pass pass, int threads) {
  KernelRequest request = one.request(pass, threads, false);
  request.in[0].layout = Layout();
  return request;
}

ConvolutionCase with_window(ConvolutionCase c, int64_t height, int64_t width, int64_t step = 1) {
  c.window_height = height;
  c.window_width = width;
  c.step_down = c.step_across = step;
  return c;
}

// ResNet's and LeNet's; a window row that fills its slots; images one window wide, and rows shorter
// than the window; uneven strides and padding; padding beyond the windows' needs; one plane,
// exactly filled, and one more row of windows; images of several strips, and several images per
// strip; results that do not fill a block or a pair of blocks.
std::vector<ConvolutionCase> window_cases() {
  const auto padded = [](ConvolutionCase c, int64_t by) {
    c.top = c.left = c.bottom = c.right = by;
    return c;
  };
  ConvolutionCase uneven = with_window({2, 3, 32, 11, 14}, 5, 6, 3);
  uneven.top = 0;
  uneven.left = 2;
  uneven.step_across = 1;
  ConvolutionCase far = with_window({1, 2, 32, 5, 6}, 1, 5);
  far.top = far.right = 3;
  return {padded(with_window({2, 3, 64, 30, 29}, 7, 7, 2), 3),
          padded(with_window({2, 1, 20, 28, 28}, 5, 5), 0),
          padded(with_window({1, 1, 32, 9, 24}, 4, 8), 0),
          padded(with_window({3, 7, 32, 6, 5}, 1, 5), 0),
          padded(with_window({1, 3, 32, 8, 3}, 3, 5), 2),
          padded(with_window({2, 2, 32, 4, 1}, 2, 6), 3),
          with_window({1, 4, 32, 7, 8}, 1, 5),
          with_window({1, 5, 32, 7, 8}, 1, 7, 2),
          with_window({1, 3, 32, 130, 67}, 3, 5),
          padded(with_window({9, 1, 32, 4, 4}, 3, 5), 2),
          uneven,
          far,
          with_window({2, 3, 8, 7, 6}, 3, 5),
          with_window({1, 3, 40, 9, 8}, 3, 5, 2),
          with_window({1, 1, 48, 130, 67}, 3, 5)};
}

class AmxWindows : public ::testing::Test {
 protected:
  void SetUp() override {
    const TileCase one({1, 3, 32, 4, 4}, kWindows);
    if (tile_candidate(Pass::forward, kWindows).refuses(window_request(one, Pass::forward, 1)) ==
        "wants a processor with AMX")
      GTEST_SKIP() << "skipped: this processor has no AMX";
  }
};

TEST_F(AmxWindows, RoundsSumsOnce) {
  for (const ConvolutionCase& c : window_cases()) {
    const TileCase one(c, kWindows);
    for (const Pass pass : kWindowPasses)
      one.expect_near(pass, one.run(pass, window_request(one, pass, 1)),
                      join(c.inputs, ", ", c.height));
  }
}

TEST_F(AmxWindows, AddsAndClips) {
  for (ConvolutionCase c :
       {with_window({2, 3, 64, 9, 7}, 3, 5), with_window({2, 3, 24, 9, 7}, 3, 5)})
    for (const int does : {1, 2, 3, 4, 7}) {
      c.bias = does & 1;
      c.relu = does & 2;
      c.addition = does & 4;
      const TileCase one(c, kWindows);
      one.expect_near(Pass::forward, one.run(Pass::forward, window_request(one, Pass::forward, 1)),
                      join("epilogue ", does));
    }
}

TEST_F(AmxWindows, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const ConvolutionCase& c : window_cases()) {
    const TileCase one(c, kWindows);
    for (const Pass pass : kWindowPasses) {
      const std::vector<float> expected = one.run(pass, window_request(one, pass, 1));
      for (const int threads : {2, 3, 5})
        EXPECT_TRUE(expected == one.run(pass, window_request(one, pass, usable_threads(threads))))
            << c.inputs << ", " << c.height << ", pass " << static_cast<int>(pass) << ", "
            << threads << " threads";
    }
  }
}

// A NaN spreads to the windows that contain it, and not to the zero slots beside them.
TEST_F(AmxWindows, KeepsNaN) {
  TileCase one(with_window({2, 3, 32, 5, 20}, 3, 5), kWindows);
  one.convolution().x[100 + 2 * 20 + 9] = NAN;  // in the first image's second channel
  const std::vector<float> y = one.run(Pass::forward, window_request(one, Pass::forward, 1));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i % 90 / 18, column = i % 18;
    ASSERT_EQ(std::isnan(y[i]), i / 90 < 32 && row >= 1 && row <= 3 && column >= 6 && column <= 10)
        << i;
  }
  const std::vector<float> dw = one.run(Pass::grad_w, window_request(one, Pass::grad_w, 1));
  for (std::size_t i = 0; i < dw.size(); ++i) ASSERT_EQ(std::isnan(dw[i]), i / 15 % 3 == 1) << i;
}

TEST_F(AmxWindows, AreChosenForFewChannels) {
  const KernelTable table = cpu_kernels();
  const TileCase one(with_window({2, 3, 64, 14, 14}, 7, 7, 2), kWindows);
  for (const Pass pass : kWindowPasses) {
    const KernelRequest request = window_request(one, pass, 1);
    const ChosenKernel chosen = table.choose(request);
    EXPECT_EQ(chosen.candidate, kWindows) << text_of(chosen.refused);
    EXPECT_EQ(chosen.kernel->reordered_bytes(),
              pass == Pass::forward ? 2 * request.in[1].bytes() : 0U);
    const Layouts wished = table.preferred_layouts(request);
    for (std::size_t i = 0; i < request.in.size(); ++i)
      EXPECT_EQ(wished.in[i], request.in[i].layout);
    EXPECT_EQ(wished.out[0], request.out[0].layout);
  }
}

TEST_F(AmxWindows, SayWhatTheyRefuse) {
  const auto reason = [](const ConvolutionCase& c) {
    const TileCase one(c, kWindows);
    return tile_candidate(Pass::forward, kWindows).refuses(window_request(one, Pass::forward, 1));
  };
  ConvolutionCase wide{1, 3, 32, 12, 12}, holes = wide;
  wide.window_width = 9;
  holes.hole_across = 2;
  EXPECT_EQ(reason({1, 8, 32, 5, 5}), "takes fewer than 8 channels");
  EXPECT_EQ(reason({1, 3, 7, 5, 5}), "makes 8 channels or more");
  EXPECT_EQ(reason({1, 3, 32, 5, 5}), "takes windows 5 to 8 wide");
  EXPECT_EQ(reason(wide), "takes windows 5 to 8 wide");
  EXPECT_EQ(reason(holes), "takes windows without holes");
}

}  // namespace
}  // namespace lockstep::testing
