// SPDX-License-Identifier: Apache-2.0
// The table of Ray's load_data, row by row, and the sweep over a load.
#include "builders/resident/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lockstep/resident.h"
#include "runtime/state/session_members.h"
#include "tests/builders/resident_rows.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

ResidentLoad load_of(const LoadRow& row) {
  const std::optional<int64_t> states = row.states > 0 ? std::optional(row.states) : std::nullopt;
  return resident_load({row.minibatch, 1000, 10}, row.replicas, row.rows, states);
}

TEST(ResidentLoad, IsThatOfRay) {
  for (const LoadRow& row : kLoadRows) {
    SCOPED_TRACE(join(row.minibatch, ", ", row.replicas, ", ", row.rows));
    const ResidentLoad load = load_of(row);
    EXPECT_EQ(load.length, row.length);
    EXPECT_EQ(load.minibatch / load.length * load.replicas, row.together);
    EXPECT_EQ(load.minibatch, row.each);
    EXPECT_EQ(load.loaded, row.loaded);
    EXPECT_EQ(load.held(), row.held);
    EXPECT_EQ(load.lost, row.rows - row.loaded);
    EXPECT_EQ(load.held() % load.minibatch, 0);
  }
}

// Ray's two rows that raise a ValueError, and arguments that Ray does not check.
TEST(ResidentLoad, RefusesByName) {
  const ResidentLimits limits{4, 1000, 10};
  expect_error([&] { resident_load(limits, 2, 1); },
               "a minibatch of 0 sequences does not suffice for 2 replicas",
               "the batch has 1 sequences of 1 rows");
  expect_error(
      [&] {
        resident_load({3, 1000, 10}, 2, 16, 4);
      },
      "a minibatch of 1 sequences does not suffice for 2 replicas",
      "4 sequences of 4 rows, a replica's minibatch at most 3 rows");
  expect_error(
      [&] {
        resident_load({5, 9, 10}, 2, 20);
      },
      "each of 2 replicas would hold 10 rows of the batch of 20",
      "but the model is built for at most 9");
  expect_error(
      [&] {
        resident_load({4, 100, 3}, 2, 16, 4);
      },
      "sequences of 4 rows", "built for at most 3");
  expect_error([&] { resident_load(limits, 2, 0); }, "a batch of 0 rows cannot be loaded");
  expect_error([&] { resident_load(limits, 2, 4, 5); },
               "the batch has 4 rows and 5 rows of states");
  expect_error([&] { resident_load(limits, 2, 4, 0); }, "4 rows and 0 rows of states");
  expect_error([&] { resident_load({0, 1, 1}, 2, 4); }, "each should be at least 1");
  expect_error([&] { resident_load(limits, 0, 4); }, "on 0 replicas");
}

TEST(ResidentLoad, CapacityIsReachedAndNotExceeded) {
  EXPECT_EQ(resident_load({4, 10, 1}, 2, 20).held(), 8);  // the other rows were lost before
  EXPECT_EQ(resident_load({5, 10, 1}, 2, 20).held(), 10);
}

TEST(ResidentLoad, SaysWhatIsLeftOut) {
  EXPECT_EQ(
      text_of(load_of(kLoadRows[3])),
      "120 of 130 rows: 3 minibatches of 10 rows on each of 4 replicas; 10 rows are left out");
  EXPECT_EQ(text_of(load_of(kLoadRows[1])),
            "24 of 24 rows: 3 minibatches of 8 rows on each of 1 replicas");
}

// Together, all replicas' slices of all minibatches contain each loaded row and its state once.
TEST(ResidentLoad, SlicesAreAllRowsOnce) {
  for (const LoadRow& row : kLoadRows) {
    const ResidentLoad load = load_of(row);
    std::multiset<int64_t> rows, states;
    for (int64_t index : sweep_order(load, 1, 3))
      for (int64_t k = 0; k < load.replicas; ++k) {
        const ResidentSlice slice = resident_slice(load, index);
        for (int64_t i = 0; i < slice.rows.count; ++i)
          rows.insert(load.rows_of(k).first + slice.rows.first + i);
        for (int64_t i = 0; i < slice.states.count; ++i)
          states.insert(load.states_of(k).first + slice.states.first + i);
      }
    ASSERT_EQ(static_cast<int64_t>(rows.size()), load.loaded);
    ASSERT_EQ(static_cast<int64_t>(states.size()), load.loaded / load.length);
    int64_t next = 0;
    for (int64_t found : rows) EXPECT_EQ(found, next++);
    next = 0;
    for (int64_t found : states) EXPECT_EQ(found, next++);
  }
}

TEST(ResidentLoad, RefusesASliceThatIsNone) {
  const ResidentLoad load = load_of(kLoadRows[1]);  // 24 rows, minibatches of 8, sequences of 4
  EXPECT_EQ(resident_slice(load, 12).rows.first, 12) << "any sequence may begin a minibatch";
  EXPECT_EQ(resident_slice(load, 12).states.first, 3);
  for (int64_t index : {-4, 17, 20, 24})
    expect_error([&] { resident_slice(load, index); },
                 join("the minibatch at row ", index, " of each replica, of 8 rows"),
                 "is not within the 24 rows that are loaded");
  expect_error([&] { resident_slice(load, 10); },
               "row 10 of each replica begins inside a sequence");
}

// Ray's driver makes two batches of the 24 rows, as the limit is 10 rows. Lockstep makes three.
TEST(ResidentLoad, ASweepLosesNoMinibatch) {
  std::vector<int64_t> order = sweep_order(load_of(kLoadRows[1]), 1, 1);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int64_t>{0, 8, 16}));
}

TEST(ResidentLoad, ASweepDependsOnSeedAndEpochAlone) {
  const ResidentLoad load = resident_load({1, 100, 1}, 2, 60);
  const std::vector<int64_t> order = sweep_order(load, 3, 7), again = sweep_order(load, 3, 7);
  EXPECT_EQ(order, again);
  EXPECT_NE(sweep_order(load, 3, 8), order);
  const std::vector<int64_t> first(order.begin(), order.begin() + 30);
  const std::vector<int64_t> others(order.begin() + 30, order.end());
  EXPECT_EQ(sweep_order(load, 2, 7, 1), others) << "continues after the first epoch";
  EXPECT_NE(std::vector<int64_t>(order.begin() + 30, order.begin() + 60), first);
  EXPECT_TRUE(sweep_order(load, 0, 7).empty());
  expect_error([&] { sweep_order(load, -1, 7); }, "a sweep of -1 epochs");
}

}  // namespace
}  // namespace lockstep::testing
