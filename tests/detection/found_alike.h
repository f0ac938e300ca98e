// SPDX-License-Identifier: Apache-2.0
// Compares the results of two detectors picture by picture.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/detection/find/found_boxes.h"

namespace lockstep::testing {

inline bool close_boxes(const FoundBox& a, const FoundBox& b) {
  bool close = a.kind == b.kind && std::abs(a.score - b.score) < 1e-5F;
  for (std::size_t i = 0; i < a.corners.size(); ++i)
    close = close && std::abs(a.corners[i] - b.corners[i]) < 1e-2F;
  return close;
}

// Expects equal bits in the same order.
inline void expect_same_boxes(const std::vector<FoundBoxes>& found,
                              const std::vector<FoundBoxes>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size()) << "picture " << i;
    for (std::size_t b = 0; b < found[i].size(); ++b)
      EXPECT_TRUE(found[i][b] == expected[i][b])
          << "picture " << i << ", box " << b << ": " << text_of(found[i][b]) << ", expected "
          << text_of(expected[i][b]);
  }
}

// Expects equality up to the rounding of float32, which may swap boxes with almost equal scores.
inline void expect_close_boxes(const std::vector<FoundBoxes>& found,
                               const std::vector<FoundBoxes>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].size(), expected[i].size()) << "picture " << i;
    for (const FoundBox& box : expected[i])
      EXPECT_TRUE(std::any_of(found[i].begin(), found[i].end(),
                              [&](const FoundBox& other) { return close_boxes(box, other); }))
          << "picture " << i << ": missing " << text_of(box);
  }
}

}  // namespace lockstep::testing
