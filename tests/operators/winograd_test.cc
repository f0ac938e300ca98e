// SPDX-License-Identifier: Apache-2.0
// Compares Winograd convolutions with oneDNN's direct convolutions, and both with float64.
#include "operators/conv/winograd/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "operators/conv/conv.h"
#include "operators/conv/winograd/loops_of.h"
#include "operators/cpu.h"
#include "tests/support/convolution_case.h"
#include "tests/support/expect_error.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

// The transforms of a processor with sixteen lanes.
struct Sixteen {
  struct Vector {
    float lane[16];
  };
  static constexpr const char* kName = "sixteen";
  static constexpr int kLanes = 16, kRows = 12;

  template <class F>
  static Vector each(const F& f) {
    Vector result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = f(i);
    return result;
  }
  static Vector load(const float* x) {
    return each([&](int i) { return x[i]; });
  }
  static void store(float* y, const Vector& x) {
    for (int i = 0; i < kLanes; ++i) y[i] = x.lane[i];
  }
  static void stream(float* y, const Vector& x) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(y) % sizeof(x), 0U);
    store(y, x);
  }
  static void end_streams() {}
  static Vector all(float x) {
    return each([&](int) { return x; });
  }
  static Vector add(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] + y.lane[i]; });
  }
  static Vector subtract(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] - y.lane[i]; });
  }
  static Vector multiply(const Vector& x, const Vector& y) {
    return each([&](int i) { return x.lane[i] * y.lane[i]; });
  }
  static Vector fma(const Vector& x, const Vector& y, const Vector& z) {
    return each([&](int i) { return std::fma(x.lane[i], y.lane[i], z.lane[i]); });
  }
  static Vector relu(const Vector& x) {
    return each([&](int i) { return x.lane[i] < 0 ? 0.0F : x.lane[i]; });
  }
  static Vector every_fourth_row(const float* from, int64_t row) {
    return each([&](int i) { return from[i / 4 * 4 * row + i % 4]; });
  }
  static void store_every_fourth_row(float* to, int64_t row, const Vector& x) {
    for (int i = 0; i < kLanes; ++i) to[i / 4 * 4 * row + i % 4] = x.lane[i];
  }
  static void transpose(const Vector& a, const Vector& b, const Vector& c, const Vector& d,
                        Vector* to) {
    const Vector rows[] = {a, b, c, d};
    for (int k = 0; k < 4; ++k)
      to[k] = each([&](int i) { return rows[i % 4].lane[i / 4 * 4 + k]; });
  }
};
const winograd::LoopsOf<Sixteen> kSixteen;

std::vector<const winograd::Loops*> usable_loops() {
  std::vector<const winograd::Loops*> all{&kSixteen};
  if (const winograd::Loops* here = winograd::loops_here()) all.push_back(here);
  return all;
}

ConvolutionCase with_bias_and_addition(ConvolutionCase c) {
  c.bias = c.addition = true;
  return c;
}

// 3x3 windows. Odd sizes, all kinds of padding, tiles that extend beyond the image, a single tile,
// more tiles than one batch of work, and more filters than one batch.
const ConvolutionCase kCases[] = {
    {2, 32, 32, 8, 8},
    {1, 32, 64, 7, 9, 1, 1, 1, 1, true},
    {3, 64, 32, 5, 4, 0, 0, 0, 0, false, true},
    {1, 32, 32, 3, 3, 0, 0, 0, 0, true, true},
    {2, 32, 32, 6, 11, 2, 0, 1, 2},
    {1, 32, 32, 10, 6, 0, 2, 2, 1, true},
    {1, 32, 32, 6, 6, 4, 3, 3, 4},
    {1, 32, 32, 57, 61},
    {.images = 2, .inputs = 32, .outputs = 32, .height = 9, .width = 6, .addition = true},
    {.images = 1,
     .inputs = 32,
     .outputs = 64,
     .height = 5,
     .width = 7,
     .bias = true,
     .relu = true,
     .addition = true},
    with_bias_and_addition({2, 192, 224, 9, 7, 1, 0, 1, 2}),
};

TEST(Winograd, RoundsLittleMoreThanADirectConvolution) {
  const KernelTable direct_kernels = [] {
    std::vector<KernelEntry> entries = conv_cpu();
    for (KernelEntry& entry : entries)
      std::erase_if(entry.candidates, [](const Candidate& c) { return c.name == "Winograd"; });
    return KernelTable(DeviceKind::cpu, all_ops(), std::move(entries));
  }();
  for (const ConvolutionCase& c : kCases) {
    const Convolution convolution(c);
    for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
      SCOPED_TRACE(join("case ", &c - kCases, ", pass ", static_cast<int>(pass)));
      const std::vector<double> exact = convolution.exact(pass);
      const KernelRequest plain = convolution.request(pass, 1, 1);
      const auto direct = direct_kernels.choose(plain).kernel;
      // With few products per sum, a direct convolution is nearly exact.
      const double allowed = 5e-7 + 5 * error_of(convolution.run(*direct, plain, pass), exact);
      for (const winograd::Loops* loops : usable_loops())
        for (int block : {loops->lanes(), 32}) {
          const KernelRequest request = convolution.request(pass, block, 1);
          const auto kernel = prepare_winograd(request, *loops);
          const double error = error_of(convolution.run(*kernel, request, pass), exact);
          EXPECT_LT(error, allowed) << kernel->describe() << ", blocks of " << block;
        }
    }
  }
}

void expect_the_same_bits(const ConvolutionCase& c) {
  const Convolution convolution(c);
  for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
    std::vector<float> first;
    for (const winograd::Loops* loops : usable_loops())
      for (int threads : {1, 2, 5, 9}) {
        const KernelRequest request =
            convolution.request(pass, loops->lanes(), usable_threads(threads));
        const auto kernel = prepare_winograd(request, *loops);
        const std::vector<float> result = convolution.run(*kernel, request, pass);
        if (first.empty()) first = result;
        EXPECT_TRUE(first == result) << kernel->describe() << ", " << threads << " threads";
      }
  }
}

TEST(Winograd, HasTheSameBitsOnAnyNumberOfThreadsAndLanes) {
  expect_the_same_bits(with_bias_and_addition({1, 32, 32, 61, 57, 1, 0, 1, 2, false, true}));
  // In slices, unless there are more threads. Forward, one thread processes the second slice in two
  // passes.
  expect_the_same_bits(with_bias_and_addition({1, 192, 224, 10, 7, 1, 0, 1, 2, false, true}));
  expect_the_same_bits(with_bias_and_addition({1, 1152, 32, 23, 24, 1, 1, 1, 1, false, true}));
}

// Gradients may bypass the caches, which needs whole vectors of memory, or may not.
TEST(Winograd, GradientsOfFiltersMayPassCaches) {
  constexpr int64_t kInputs = 48, kOutputs = 64, kFloats = 9 * kInputs * kOutputs;
  constexpr int64_t kStride = kInputs * kOutputs + 16;
  PhiloxSequence random(3, 5);
  std::vector<float> values(winograd::kPoints * kStride);
  for (float& value : values) value = static_cast<float>(random.uniform());
  for (const winograd::Loops* loops : usable_loops()) {
    std::vector<float> first;
    for (const bool past_caches : {false, true})
      for (const int64_t offset : {0, 1}) {
        alignas(64) static float gradients[kFloats + 16];
        std::ranges::fill(gradients, -1.F);
        const winograd::FilterPlaces places{kInputs, 9, 9 * kInputs, false, past_caches};
        loops->filter_gradients(values.data(), kStride, places, gradients + offset, 0,
                                kOutputs / (2 * loops->lanes()) * kInputs / winograd::kFilters);
        const std::vector<float> made(gradients + offset, gradients + offset + kFloats);
        if (first.empty()) first = made;
        EXPECT_TRUE(made == first) << loops->name() << ", " << past_caches << ", " << offset;
        EXPECT_EQ(gradients[offset + kFloats], -1.F);
      }
  }
}

TEST(Winograd, KeepsNaN) {
  ConvolutionCase added{1, 32, 32, 8, 8, 1, 1, 1, 1, false, true};
  added.addition = true;
  Convolution convolution(added);
  convolution.x[9] = NAN;  // in the second row
  convolution.z[7 * 8 + 7] = NAN;
  const winograd::Loops& loops = kSixteen;
  const KernelRequest request = convolution.request(Pass::forward, loops.lanes(), 1);
  const std::vector<float> y =
      convolution.run(*prepare_winograd(request, loops), request, Pass::forward);
  for (std::size_t i : {0, 1, 2, 8, 9, 10, 16, 17, 18, 63})
    EXPECT_TRUE(std::isnan(y[i])) << i << " of the first plane";
}

TEST(Winograd, RefusesWhatItCannotDoOrDoesNotGainFrom) {
  if (!winograd::loops_here()) GTEST_SKIP() << "skipped: this processor has no AVX2";
  const KernelTable table = cpu_kernels();
  const auto chosen = [&](const ConvolutionCase& c, Pass pass, bool exact = false) {
    const Convolution convolution(c);
    KernelRequest plain = convolution.request(pass, 1, 1);
    plain.exact = exact;
    KernelRequest laid = plain;
    const Layouts layouts = table.preferred_layouts(plain);
    for (std::size_t i = 0; i < laid.in.size(); ++i) laid.in[i].layout = layouts.in[i];
    laid.out[0].layout = layouts.out[0];
    return table.choose(laid).candidate;
  };
  for (Pass pass : {Pass::forward, Pass::grad_x, Pass::grad_w}) {
    EXPECT_EQ(chosen({4, 64, 64, 28, 28}, pass), "Winograd");
    EXPECT_EQ(chosen({4, 64, 64, 28, 28}, pass, true), "oneDNN") << "exact";
    EXPECT_EQ(chosen({4, 40, 64, 28, 28}, pass), "oneDNN") << "channels";
    EXPECT_EQ(chosen({1, 64, 64, 5, 5}, pass), "oneDNN") << "few pixels";
    EXPECT_EQ(chosen({1, 512, 512, 7, 7}, pass), "oneDNN") << "few pixels for this many filters";
  }
}

TEST(Winograd, WantsMoreImagesForMoreFilters) {
  const auto gains = [](int64_t images, int64_t channels, int64_t side) {
    const WinogradCost cost{images, channels, channels, side, side};
    return cost.winograd() < 0.9 * cost.direct();
  };
  EXPECT_TRUE(gains(8, 512, 7));
  EXPECT_FALSE(gains(7, 512, 7));
  EXPECT_FALSE(gains(4, 512, 7));
  EXPECT_TRUE(gains(16, 512, 7));
  EXPECT_TRUE(gains(3, 256, 14));
  EXPECT_FALSE(gains(2, 256, 14));
}

TEST(Winograd, NamesLayoutsThatItCannotRead) {
  const Convolution convolution({4, 32, 32, 8, 8});
  const KernelRequest request = convolution.request(Pass::forward, 8, 1);
  expect_error([&] { prepare_winograd(request, kSixteen); }, "takes channel blocks of 16", "/c8");
  ConvolutionCase added{4, 32, 32, 8, 8};
  added.addition = true;
  const Convolution with_z(added);
  KernelRequest apart = with_z.request(Pass::forward, 16, 1);
  apart.in[ConvIn::z].layout = Layout::blocks(32);
  expect_error([&] { prepare_winograd(apart, kSixteen); }, "takes a z in the layout of its result",
               "/c32");
}

}  // namespace
}  // namespace lockstep::testing
