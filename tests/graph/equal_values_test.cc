// SPDX-License-Identifier: Apache-2.0
// The values that are equal in every run.
#include "graph/passes/equal_values.h"

#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "operators/dropout/dropout.h"

namespace lockstep::testing {
namespace {

class EqualValues : public ::testing::Test {
 protected:
  Value input(const std::string& name) { return graph.input(name, {DType::float32, {2, 3}}); }
  // The values are on another replica, which makes no difference.
  template <class Make>
  Value on(int replica, const Make& make) {
    ReplicaScope scope(graph, replica);
    return make();
  }
  bool equal(Value one, Value other) {
    const std::vector<int> numbers = equal_values(graph, {{a, b}});
    return numbers[static_cast<std::size_t>(one.id)] == numbers[static_cast<std::size_t>(other.id)];
  }
  Value constant(const std::string& name, float value, int64_t count) {
    const std::vector<float> values(static_cast<std::size_t>(count), value);
    return graph.constant(name, Literal::of<float>(values, {count}));
  }

  Graph graph{all_ops()};
  Value a = input("a"), b = input("b"), c = input("c");  // a and b are equal
};

TEST_F(EqualValues, AreThoseOfEqualNodesOnEqualOperands) {
  const Value one = on(0, [&] { return relu(graph, add(graph, a, c)); });
  const Value other = on(1, [&] { return relu(graph, add(graph, b, c)); });
  EXPECT_TRUE(equal(a, b));
  EXPECT_TRUE(equal(one, other));
  EXPECT_FALSE(equal(a, c));
  EXPECT_FALSE(equal(one, a));
  EXPECT_FALSE(equal(one, relu(graph, add(graph, c, a)))) << "another order";
  EXPECT_FALSE(equal(one, relu(graph, add(graph, a, a))));
  EXPECT_FALSE(equal(one, sigmoid(graph, add(graph, a, c))));
}

TEST_F(EqualValues, DependOnAttributes) {
  EXPECT_TRUE(equal(scale(graph, a, 0.5F), scale(graph, b, 0.5F)));
  EXPECT_FALSE(equal(scale(graph, a, 0.5F), scale(graph, b, 0.25F)));
}

TEST_F(EqualValues, DependOnTheContentOfConstants) {
  EXPECT_TRUE(equal(constant("x", 1, 3), constant("y", 1, 3)));
  EXPECT_FALSE(equal(constant("z", 2, 3), graph.at("x")));
  EXPECT_FALSE(equal(constant("u", 1, 1 << 16), constant("v", 2, 1 << 16)));
}

TEST_F(EqualValues, AreAllResultsOfACollective) {
  const std::vector<Value> sums = all_reduce(graph, {a, c}, {}, {"a_sum", "c_sum"});
  EXPECT_TRUE(equal(sums[0], sums[1]));
  const std::vector<Value> others = all_reduce(graph, {c, a}, {}, {"x_sum", "y_sum"});
  EXPECT_FALSE(equal(sums[0], others[0])) << "terms in another order";
}

TEST_F(EqualValues, AreCopies) {
  const Value sum = add(graph, a, c);
  const Value there = on(1, [&] { return copy(graph, copy(graph, sum)); });
  EXPECT_TRUE(equal(there, sum));
  EXPECT_TRUE(equal(on(1, [&] { return relu(graph, there); }), relu(graph, sum)));
  EXPECT_FALSE(equal(there, a));
}

TEST_F(EqualValues, AreNotThoseOfTwoMasks) {
  EXPECT_FALSE(
      equal(dropout(graph, a, 0.5F, true, "mask"), dropout(graph, b, 0.5F, true, "other")));
}

}  // namespace
}  // namespace lockstep::testing
