// SPDX-License-Identifier: Apache-2.0
#include "builders/detection/anchors.h"

#include <gtest/gtest.h>

#include "tests/detection/cases.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(BaseAnchors, AreDetectrons) {
  const auto& cases = detectron_cases().at("generate_anchors");
  EXPECT_EQ(cases.size(), 21u);
  for (const auto& c : cases) {
    const std::vector<float> found = base_anchors(c.at("stride"), c.at("sizes"), c.at("ratios"));
    const std::vector<float> expected = half_open(c.at("anchors"));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)  // the file has seven digits
      EXPECT_NEAR(found[i], expected[i], 1e-6 * std::max(1.0F, std::abs(expected[i])))
          << c.at("stride") << ", number " << i;
  }
}

TEST(BaseAnchors, OfWholeSizesAreExact) {
  EXPECT_EQ(base_anchors(16, {32}, {0.5, 1, 2}),
            (std::vector<float>{-15, -4, 31, 20, -8, -8, 24, 24, -3, -14, 19, 30}));
}

TEST(BaseAnchors, NeedSizesAndRatios) {
  expect_error([] { base_anchors(0, {32}, {1}); }, "a stride of 0");
  expect_error([] { base_anchors(16, {0}, {1}); }, "an anchor's size is 0");
  expect_error([] { base_anchors(16, {32}, {-1}); }, "an aspect ratio is -1");
  expect_error([] { base_anchors(1, {32}, {100}); }, "no area");
  EXPECT_TRUE(base_anchors(16, {}, {1}).empty());
}

}  // namespace
}  // namespace lockstep::testing
