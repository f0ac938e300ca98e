// SPDX-License-Identifier: Apache-2.0
// Compares convolutions of bfloat16 by matrix tiles with float64.
#include <gtest/gtest.h>

#include "tests/support/threads.h"
#include "tests/support/tile_case.h"

namespace lockstep::testing {
namespace {

// One pixel; rows shorter than a tile; images of several strips, and several images per strip;
// strides, with pixels that no window reads or that fewer window elements read; uneven padding,
// more padding than the window needs, no padding; dilations; channels that do not fill a block or a
// pair of blocks.
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
          far,
          plain(window({2, 16, 96, 7, 6}, 1, 1)),
          plain(window({1, 24, 144, 7, 7}, 1, 1)),
          plain(window({1, 144, 24, 5, 7}, 1, 1)),
          plain(window({1, 32, 80, 6, 6}, 1, 1)),
          plain(window({1, 24, 40, 64, 65}, 1, 1)),
          plain(window({1, 17, 40, 6, 7}, 1, 1, 2)),
          {1, 8, 16, 5, 6},
          {2, 48, 40, 4, 5},
          {1, 40, 8, 5, 4},
          {1, 16, 17, 33, 64},
          window({1, 80, 48, 6, 7}, 3, 3, 2)};
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
  for (ConvolutionCase c : {ConvolutionCase{2, 64, 32, 9, 7}, {2, 40, 24, 5, 7}}) {
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

// Only these filters are padded: outputs from 24 to 32, and inputs from 40 to 64 or, transposed, to
// 48.
TEST_F(Amx, TakesRowMajorFilters) {
  const TileCase one({2, 64, 32, 9, 7}), odd({2, 40, 24, 9, 7});
  const std::size_t padded[] = {32 * 64, 32 * 48};
  for (const Pass pass : kTilePasses) {
    const KernelRequest request = one.request(pass, 1, false);
    EXPECT_TRUE(one.run(pass, request) == one.run(pass, one.request(pass, 1)));
    const auto bytes = [&](const KernelRequest& r) {
      return tile_candidate(pass, "AMX").prepare(r)->reordered_bytes();
    };
    const bool moves = pass != Pass::grad_w;
    EXPECT_EQ(bytes(request), moves ? 2 * request.in[1].bytes() : 0U);
    EXPECT_EQ(cpu_kernels().choose(request).candidate, "AMX");
    EXPECT_EQ(bytes(odd.request(pass, 1)),
              moves ? 2U * 9 * (24 * 40 + padded[static_cast<int>(pass)]) : 0U);
  }
}

// A NaN spreads to the windows that contain it, and not to neighbouring results.
TEST_F(Amx, KeepsNaN) {
  for (const ConvolutionCase& c : {ConvolutionCase{2, 32, 32, 5, 6}, {2, 40, 24, 5, 6}}) {
    TileCase one(c);
    one.convolution().x[7 * 30 + 5] = NAN;  // the first image's eighth channel, at the right edge
    const std::vector<float> y = one.run(Pass::forward, one.request(Pass::forward, 1));
    const auto inputs = static_cast<std::size_t>(c.inputs);
    const auto outputs = static_cast<std::size_t>(c.outputs);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(std::isnan(y[i]), i / 30 < outputs && i % 30 / 6 < 2 && i % 6 > 3) << i;
    const std::vector<float> dw = one.run(Pass::grad_w, one.request(Pass::grad_w, 1));
    for (std::size_t i = 0; i < dw.size(); ++i)
      ASSERT_TRUE(!std::isnan(dw[i]) || i / 9 % inputs == 7) << i;
  }
}

// An infinity times the 0 of a padded filter is NaN.
TEST_F(Amx, WritesZeroToPaddingBesideWhatIsNotFinite) {
  TileCase one({2, 40, 24, 5, 6});
  for (std::vector<float>* const values : {&one.convolution().x, &one.convolution().dy})
    std::fill(values->begin(), values->end(), INFINITY);
  for (const Pass pass : {Pass::forward, Pass::grad_x})
    EXPECT_FALSE(std::isfinite(one.run(pass, one.request(pass, 1))[7])) << "where the NaN is read";
}

// Filters have the preferred layout row-major if pairs of blocks do not divide their channels.
TEST_F(Amx, IsChosenForChannelBlocks) {
  const KernelTable table = cpu_kernels();
  for (const ConvolutionCase& c :
       {ConvolutionCase{2, 32, 64, 14, 14}, {2, 8, 64, 14, 14}, {2, 32, 144, 14, 14}}) {
    const TileCase one(c);
    for (const Pass pass : kTilePasses) {
      const KernelRequest request = one.request(pass, 1);
      const ChosenKernel chosen = table.choose(request);
      EXPECT_EQ(chosen.candidate, "AMX") << text_of(chosen.refused);
      EXPECT_EQ(chosen.kernel->describe(), "AMX, c16");
      const Layouts wished = table.preferred_layouts(request);
      for (std::size_t i = 0; i < request.in.size(); ++i)
        EXPECT_EQ(wished.in[i], request.in[i].layout);
      EXPECT_EQ(wished.out[0], request.out[0].layout);
    }
  }
  for (const ConvolutionCase& c : {ConvolutionCase{2, 7, 64, 14, 14}, {2, 64, 7, 14, 14}})
    for (const Pass pass : kTilePasses) {
      const TileCase few(c);
      const ChosenKernel chosen = table.choose(few.request(pass, 1));
      EXPECT_NE(chosen.candidate, "AMX");
      EXPECT_NE(text_of(chosen.refused).find("AMX: takes 8 channels or more"), std::string::npos)
          << text_of(chosen.refused);
    }
}

}  // namespace
}  // namespace lockstep::testing
