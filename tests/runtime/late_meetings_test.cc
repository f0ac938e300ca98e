// SPDX-License-Identifier: Apache-2.0
// Which all-reduces of CPU replicas come at the end of a step.
#include "runtime/plan/late_meetings.h"

#include <gtest/gtest.h>

#include "operators/activation/activation.h"
#include "operators/all.h"
#include "operators/collective/collective.h"
#include "operators/elementwise/elementwise.h"

namespace lockstep::testing {
namespace {

using Names = std::vector<std::string>;

// "activation" lives from the first node to the last and makes up most of what lives at once.
// Between the two, gradients are made and added up.
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
    for (int node : late_meetings(graph_, meetings_)) names.push_back(graph_.node(node).name());
    return names;
  }

  Graph graph_{all_ops()};
  Value activation_ = made("activation", 12000);
  std::vector<int> meetings_;
};

// While "a" is added up, 12,000 + 1,200 bytes live, so 15,400 may. If "c" and "a" come late, 14,800
// live while "d" is added up: another 1,200 of "b" are too many then, those of "d" not later.
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

// While "other" is made, 12,000 + 2 x 6,000 bytes live already, the most of all times: a sixth more
// would not be enough for another gradient, but this one lives then.
TEST_F(LateMeetings, WhatLivesAnywayCostsNothing) {
  Value gradient = made("gradient", 6000);
  reduce(gradient, "large");
  Value other = made("other", 6000);
  relu(graph_, gradient, "reads_it_again");
  relu(graph_, other, "reads_other");
  relu(graph_, activation_, "last");
  EXPECT_EQ(late(), Names{"large"});
}

// As with a norm of all sums, which an update needs.
TEST_F(LateMeetings, ASumThatLivesToTheEndMakesRoomForItsOperand) {
  Value sum = all_reduce(graph_, {made("gradient", 6000)}, Reduction::sum, {"sum"}, "sum")[0];
  meetings_ = {graph_.node_count() - 1};
  Value other = made("other", 6000);
  relu(graph_, other, "reads_other");
  relu(graph_, activation_, "last");
  relu(graph_, sum, "update");
  EXPECT_EQ(late(), Names{"sum"});
}

// Copies of parameters would seem to make room for gradients.
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
