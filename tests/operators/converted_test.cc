// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "operators/kit/saturating_cast.h"

namespace lockstep::testing {
namespace {

// A float outside the type's range. C++ leaves the conversion undefined.
TEST(Converted, StaysInTheTypesRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(converted<uint8_t>(256.F), 255);
  EXPECT_EQ(converted<uint8_t>(-1.F), 0);
  EXPECT_EQ(converted<uint8_t>(254.9F), 254);
  EXPECT_EQ(converted<int32_t>(2147483648.F), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(converted<int32_t>(2147483520.F), 2147483520);
  EXPECT_EQ(converted<int32_t>(-2147483648.F), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(converted<int64_t>(kInfinity), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(converted<int64_t>(-kInfinity), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(converted<uint64_t>(1e30), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(converted<int32_t>(std::nan("")), 0);
  EXPECT_EQ(converted<bool>(0.5F), true);
  EXPECT_EQ(converted<float>(int64_t{1} << 40), 1099511627776.F);
}

}  // namespace
}  // namespace lockstep::testing
