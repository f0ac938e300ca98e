// SPDX-License-Identifier: Apache-2.0
// Filters in tiles, of which an update writes a second copy in transposed tiles.
#include <gtest/gtest.h>

#include "tests/support/threads.h"
#include "tests/support/update_of_many.h"

namespace lockstep::testing {
namespace {

// Parameters include sizes that no tile divides, and have enough elements for several threads. In
// tiles of 8, the last filter ends inside an update's chunk.
const std::vector<Dims> kParameters{{7},  {64, 128, 3, 1}, {3, 5, 1, 1}, {128, 320, 1, 1},
                                    {11}, {16, 80, 3, 3}};
const std::vector<int64_t> kFilters{1, 3, 5};
const std::vector<Layout> kTurned{Layout::in({16, Turned::all}), Layout::in({16, Turned::each}),
                                  Layout::in({8, Turned::each})};

bool is_filter(std::size_t k) { return kParameters[k].size() == 4 && k % 2 == 1; }

void expect_turned(Layout layout, int threads) {
  UpdateOfMany updates;
  for (std::size_t k = 0; k < kParameters.size(); ++k)
    updates.params.push_back({DType::float32, kParameters[k],
                              is_filter(k) ? Layout::in({.side = layout.tiles().side}) : Layout()});
  updates.gradients = updates.params;
  for (const int64_t k : kFilters) updates.copies.push_back({k, layout});
  const std::vector<LaidTensor> out = updates.results(threads);
  for (std::size_t c = 0; c < kFilters.size(); ++c) {
    const auto k = static_cast<std::size_t>(kFilters[c]);
    const std::vector<float> param = out[updates.places().new_param(k)].values();
    EXPECT_TRUE(out[updates.places().new_copy(c)].values() == param)
        << "filter " << c << layout.text() << ", " << threads << " threads";
    EXPECT_NE(param[1], param[2]);
  }
}

TEST(TurnedCopies, HoldTheUpdatedFilters) {
  for (const Layout layout : kTurned)
    for (const int threads : {1, 2, 3}) expect_turned(layout, usable_threads(threads));
}

}  // namespace
}  // namespace lockstep::testing
