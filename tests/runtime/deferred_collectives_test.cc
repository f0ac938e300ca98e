// SPDX-License-Identifier: Apache-2.0
// The all-reduces of CPU replicas that come at the end of a step.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "runtime/plan/deferred_collectives.h"

namespace lockstep::testing {
namespace {

using Names = std::vector<std::string>;

// "activation" is live from the first node to the last and has most of the peak memory. Meanwhile,
// gradients are computed and reduced.
class LateMeetings : public ::testing::Test {
 protected:
  Value made(const std::string& name, int64_t bytes) {
    Value x = graph_.input(name + "_in", {DType::float32, {bytes / int64_t{sizeof(float)}}});
    return add(graph_, x, x, name);
  }
  void reduce(Value gradient, const std::string& name) {
    meetings_.push_back(graph_.node_count());
    Value sum = all_reduce(graph_, {gradient}, Reduction::sum, {name}, name)[0];
    relu(graph_, sum, name + "_update");
  }
  void reduce(const std::string& name, int64_t bytes) {
    reduce(made(name + "_gradient", bytes), name);
  }
  Names late() const {
    Names names;
    for (int node : deferred_collectives(graph_, meetings_))
      names.push_back(graph_.node(node).name());
    return names;
  }

  Graph graph_{all_ops()};
  Value activation_ = made("activation", 12000);
  std::vector<int> meetings_;
};

// While "a" is reduced, 12,000 + 1,200 bytes are live, so the limit is 15,400. If "c" and "a" are
// late, 14,800 are live while "d" is reduced. Then another 1,200 for "b" exceed the limit, but the
// bytes for "d" later do not.
TEST_F(LateMeetings, FewestBytesAreChosenFirstAndMemoryGrowsByASixth) {
  reduce("a", 1200);
  reduce("b", 1200);
  reduce("c", 400);
  reduce("d", 1200);
  reduce("e", 400);
  relu(graph_, activation_, "last");
  EXPECT_EQ(late(), (Names{"c", "e", "a", "d"}));
  reduce("f", 400);
  EXPECT_EQ(late(), (Names{"c", "e", "f", "a", "d"}));
}

TEST_F(LateMeetings, LargeOnesStayUntilTheLast) {
  reduce("large", 4000);
  reduce("small", 400);
  reduce("large_2", 4000);
  relu(graph_, activation_, "last");
  EXPECT_EQ(late(), (Names{"small", "large_2"}));
}

// While "other" is computed, 12,000 + 2 x 6,000 bytes are already live, the peak. A sixth more
// would not fit another gradient, but this gradient is live then anyway.
TEST_F(LateMeetings, WhatLivesAnywayCostsNothing) {
  Value gradient = made("gradient", 6000);
  reduce(gradient, "large");
  Value other = made("other", 6000);
  relu(graph_, gradient, "reads_it_again");
  relu(graph_, other, "reads_other");
  relu(graph_, activation_, "last");
  EXPECT_EQ(late(), Names{"large"});
}

// For example, an update needs a norm of all sums.
TEST_F(LateMeetings, ASumThatLivesToTheEndMakesRoomForItsOperand) {
  Value sum = all_reduce(graph_, {made("gradient", 6000)}, Reduction::sum, {"sum"}, "sum")[0];
  meetings_ = {graph_.node_count() - 1};
  Value other = made("other", 6000);
  relu(graph_, other, "reads_other");
  relu(graph_, activation_, "last");
  relu(graph_, sum, "update");
  EXPECT_EQ(late(), Names{"sum"});
}

// Copies of parameters would seem to free memory for gradients.
TEST_F(LateMeetings, CopiesOfStatesDoNotCount) {
  Value parameter = graph_.input("parameter", {DType::float32, {20000}});
  Value copy = cast(graph_, parameter, DType::bfloat16, "copy");
  reduce("large", 4000);
  Value other = made("other", 4000);
  relu(graph_, other, "reads_other");
  relu(graph_, activation_, "last");
  EXPECT_EQ(late(), Names{});
  relu(graph_, copy, "reads_copy");
  EXPECT_EQ(late(), Names{});
}

TEST_F(LateMeetings, StatesAreReducedWhereTheyStand) {
  reduce(graph_.input("state", {DType::float32, {4}}), "deferred");
  reduce("small", 400);
  EXPECT_EQ(late(), Names{"small"});
}

TEST_F(LateMeetings, NoneIsFine) { EXPECT_EQ(late(), Names{}); }

}  // namespace
}  // namespace lockstep::testing
