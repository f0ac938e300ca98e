// SPDX-License-Identifier: Apache-2.0
#include "builders/resident/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/print.h"

namespace lockstep::testing {
namespace {

TEST(ResidentSummary, HasTypeShapeRangeAndMeanOfEachInput) {
  std::vector<float> seen{-2.5F, 0, 1, 3.5F, 2, 2}, broken{NAN, 1, INFINITY}, lost{NAN};
  std::vector<int64_t> actions{3, 0, 1};
  std::vector<uint8_t> pixels{0, 255};
  const std::vector<std::string> lines =
      summary_of({{"seen", {{DType::float32, {3, 2}}, seen.data()}},
                  {"broken", {{DType::float32, {3}}, broken.data()}},
                  {"lost", {{DType::float32, {1}}, lost.data()}},
                  {"none", {{DType::float32, {0, 4}}, nullptr}},
                  {"actions", {{DType::int64, {3}}, actions.data()}},
                  {"pixels", {{DType::uint8, {1, 2}}, pixels.data()}}});
  EXPECT_EQ(lines, (std::vector<std::string>{"actions int64[3]: from 0 to 3, mean 1.33333",
                                             "broken float32[3]: from 1 to 1, mean 1, 2 not finite",
                                             "lost float32[1]: no finite value, 1 not finite",
                                             "none float32[0,4]: no values",
                                             "pixels uint8[1,2]: from 0 to 255, mean 127.5",
                                             "seen float32[3,2]: from -2.5 to 3.5, mean 1"}));
}

}  // namespace
}  // namespace lockstep::testing
