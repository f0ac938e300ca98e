// SPDX-License-Identifier: Apache-2.0
// Finds the first number that is not finite, for every floating type and position.
#include "runtime/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/types.h"

namespace lockstep::testing {
namespace {

template <class T>
void finds_every_place(DType type) {
  for (int64_t count : {0, 1, 1023, 1024, 1025, 5000}) {
    std::vector<T> values(static_cast<std::size_t>(count), T(-65504.F));
    const Tensor tensor{{type, {count}}, values.data()};
    ASSERT_EQ(first_not_finite(tensor), -1) << count;
    for (int64_t place = count - 1; place >= 0; place -= place > 3000 ? 977 : 1) {
      values[place] = T(std::numeric_limits<float>::infinity());
      ASSERT_EQ(first_not_finite(tensor), place) << count;
    }
    if (count == 0) continue;
    EXPECT_EQ(text_of_value(tensor, 0), "inf");
    values[0] = T(-std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(first_not_finite(tensor), 0);
    EXPECT_EQ(text_of_value(tensor, 0), "nan");
  }
}

TEST(Finite, TheFirstThatIsNotIsFound) {
  finds_every_place<float>(DType::float32);
  finds_every_place<double>(DType::float64);
  finds_every_place<Half>(DType::float16);
  finds_every_place<BFloat16>(DType::bfloat16);
}

// Two images of three channels in blocks of two: 8 slots for 6 elements.
TEST(Finite, TheLastOfAPaddedTensorIsFoundToo) {
  std::vector<float> values(8, 1);
  const Tensor padded{{DType::float32, {2, 3, 1, 1}, Layout::blocks(2)}, values.data()};
  EXPECT_EQ(first_not_finite(padded), -1);
  values[6] = NAN;
  EXPECT_EQ(first_not_finite(padded), 6);
  EXPECT_EQ(first_nan(padded), 6);
}

TEST(Finite, WholeNumbersAndWhatIsLeftOutAlwaysAre) {
  int64_t ones = -1;
  EXPECT_EQ(first_not_finite({{DType::int64, {1}}, &ones}), -1);
  EXPECT_EQ(first_not_finite({{DType::float32, {7}}, nullptr}), -1);
  EXPECT_EQ(first_not_finite({}), -1);
}

TEST(Finite, PlacesAreToldByDimension) {
  EXPECT_EQ(text_of_place({4, 1, 6, 6}, 2 * 36 + 2 * 6 + 5), "[2,0,2,5]");
  EXPECT_EQ(text_of_place({}, 0), "[]");
}

}  // namespace
}  // namespace lockstep::testing
