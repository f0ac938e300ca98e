// Convolutions of bfloat16 by matrix tiles against float64.
#include <gtest/gtest.h>

#include "runtime/reorders.h"
#include "tests/support/threads.h"
#include "tests/support/tile_case.h"

namespace lockstep::testing {
namespace {

// One pixel; rows that fill no tile; images that are several strips, or several of which are one;
// steps, which leave pixels out, or which windows of fewer elements overlook; uneven padding, more
// of it than the window needs, none; holes.
std::vector<ConvolutionCase> tile_cases() {
  using Case = ConvolutionCase;
  const auto plain = [](Case c) {
    c.top = c.left = c.bottom = c.right = 0;
    return c;
  };
  const auto window = [](Case c, int64_t height, int64_t width, int64_t step = 1) {
    c.window_height = height;
    c.window_width = width;
    c.step_down = c.step_across = step;
    return c;
  };
  Case uneven = window({2, 32, 32, 11, 14}, 2, 4);
  uneven.top = 0;
  uneven.step_across = 3;
  Case holes{1, 32, 64, 12, 11};
  holes.hole_down = holes.hole_across = holes.top = holes.left = 2;
  Case stepped_holes = window({1, 32, 32, 13, 12}, 3, 3, 2);
  stepped_holes.hole_down = 2;
  stepped_holes.hole_across = 3;
  Case far = window({1, 32, 32, 5, 6}, 1, 1);
  far.top = far.right = 3;
  return {plain(window({1, 32, 32, 1, 1}, 1, 1)),
          plain(window({3, 64, 96, 7, 7}, 1, 1)),
          plain(window({1, 256, 32, 40, 27}, 1, 1)),
          plain(window({2, 32, 64, 14, 15}, 1, 1, 2)),
          {1, 64, 32, 7, 7},
          {5, 32, 32, 4, 4},
          {1, 32, 32, 64, 65},
          {1, 256, 32, 24, 22},
          window({1, 256, 32, 24, 22}, 3, 3, 2),
          window({2, 32, 32, 13, 16}, 3, 3, 2),
          plain(window({1, 32, 32, 9, 20}, 3, 3, 2)),
          window({1, 32, 32, 12, 14}, 3, 3, 3),
          plain(window({1, 64, 32, 8, 9}, 1, 3)),
          uneven,
          holes,
          stepped_holes,
          far};
}

class Amx : public ::testing::Test {
 protected:
  void SetUp() override {
    const TileCase one({1, 32, 32, 4, 4});
    if (tile_candidate(Pass::forward, "AMX").refuses(one.request(Pass::forward, 1)) ==
        "wants a processor with AMX")
      GTEST_SKIP() << "skipped: this processor has no AMX";
  }
};

TEST_F(Amx, RoundsSumsOnce) {
  for (const ConvolutionCase& c : tile_cases()) {
    const TileCase one(c);
    for (const Pass pass : kTilePasses)
      one.expect_near(pass, one.run(pass, one.request(pass, 1)), join(c.inputs, ", ", c.height));
  }
}

TEST_F(Amx, AddsAndClips) {
  ConvolutionCase c{2, 64, 32, 9, 7};
  for (const int does : {1, 2, 3, 4, 7}) {
    c.bias = does & 1;
    c.relu = does & 2;
    c.addition = does & 4;
    const TileCase one(c);
    const KernelRequest request = one.request(Pass::forward, 1);
    one.expect_near(Pass::forward, one.run(Pass::forward, request), join("epilogue ", does));
  }
  for (const bool in_place : {false, true}) {
    const TileCase one(c);
    const KernelRequest forward = one.request(Pass::forward, 1),
                        back = one.request(Pass::grad_x, 1);
    one.expect_near(Pass::forward, one.run(Pass::forward, forward, in_place), "z");
    one.expect_near(Pass::grad_x, one.run(Pass::grad_x, back, in_place), "z");
  }
}

TEST_F(Amx, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const ConvolutionCase& c : tile_cases()) {
    const TileCase one(c);
    for (const Pass pass : kTilePasses) {
      const std::vector<float> expected = one.run(pass, one.request(pass, 1));
      for (const int threads : {2, 3, 5})
        EXPECT_TRUE(expected == one.run(pass, one.request(pass, usable_threads(threads))))
            << c.inputs << ", " << c.height << ", pass " << static_cast<int>(pass) << ", "
            << threads << " threads";
    }
  }
}

TEST_F(Amx, TakesRowMajorFilters) {
  const TileCase one({2, 64, 32, 9, 7});
  for (const Pass pass : kTilePasses) {
    const KernelRequest request = one.request(pass, 1, false);
    EXPECT_TRUE(one.run(pass, request) == one.run(pass, one.request(pass, 1)));
    const auto kernel = cpu_kernels().choose(request).kernel;
    EXPECT_EQ(reordered_bytes(*kernel), pass == Pass::grad_w ? 0U : 2 * request.in[1].bytes());
  }
}

// It spreads to what sees it, and not to what is computed beside it.
TEST_F(Amx, KeepsNaN) {
  TileCase one({2, 32, 32, 5, 6});
  one.convolution().x[7 * 30 + 5] = NAN;  // of the first image's eighth channel, at the right edge
  const std::vector<float> y = one.run(Pass::forward, one.request(Pass::forward, 1));
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(std::isnan(y[i]), i / 30 < 32 && i % 30 / 6 < 2 && i % 6 > 3) << i;
  const std::vector<float> dw = one.run(Pass::grad_w, one.request(Pass::grad_w, 1));
  for (std::size_t i = 0; i < dw.size(); ++i)
    ASSERT_TRUE(!std::isnan(dw[i]) || i / 9 % 32 == 7) << i;
}

TEST_F(Amx, IsChosenForPairsOfChannelBlocks) {
  const KernelTable table = cpu_kernels();
  const TileCase one({2, 32, 64, 14, 14});
  for (const Pass pass : kTilePasses) {
    const KernelRequest request = one.request(pass, 1);
    const ChosenKernel chosen = table.choose(request);
    EXPECT_EQ(chosen.candidate, "AMX") << text_of(chosen.refused);
    EXPECT_EQ(chosen.kernel->describe(), "AMX, c16");
    const Layouts wished = table.wished_layouts(request);
    for (std::size_t i = 0; i < request.in.size(); ++i)
      EXPECT_EQ(wished.in[i], request.in[i].channel_block);
    EXPECT_EQ(wished.out[0], request.out[0].channel_block);
  }
  const TileCase odd({2, 48, 64, 14, 14});
  for (const Pass pass : kTilePasses) {
    const ChosenKernel chosen = table.choose(odd.request(pass, 1, false));
    EXPECT_NE(chosen.candidate, "AMX");
    EXPECT_NE(text_of(chosen.refused).find("AMX: takes multiples of 32 channels"),
              std::string::npos)
        << text_of(chosen.refused);
  }
}

}  // namespace
}  // namespace lockstep::testing
