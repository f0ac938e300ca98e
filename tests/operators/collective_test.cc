// SPDX-License-Identifier: Apache-2.0
// Collectives on real workers, for every number of replicas and every awkward length.
#include "operators/collective/collective.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

std::vector<std::string> named(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(join(prefix, i));
  return names;
}

class Replicas {
 public:
  Replicas(int count, int64_t length) : count_(count), length_(length), workers_(count, 1) {
    PhiloxSequence random(count, static_cast<uint64_t>(length));
    for (int k = 0; k < count; ++k) {
      std::vector<float> values(length);
      for (float& value : values) value = static_cast<float>(random.normal());
      data_.push_back(std::move(values));
      ReplicaScope scope(graph, k);
      Value x = graph.input(join("x", k), {DType::float32, {length}});
      // Each value is produced and consumed on its own replica, so aliases and waits matter.
      values_.push_back(neg(graph, x, join("negative", k)));
    }
  }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<std::vector<float>>& data() const { return data_; }

  std::vector<std::vector<float>> run(const std::vector<std::string>& fetches) {
    std::vector<Dims> dims(count_, Dims{length_});
    auto executor = make_executor(compile({.graph = graph,
                                           .feeds = named("x", count_),
                                           .feed_dims = dims,
                                           .fetches = fetches,
                                           .devices = cpu_devices(count_),
                                           .kernels = all_kernels()}),
                                  none_, workers_);
    std::vector<Tensor> feeds;
    for (auto& values : data_) feeds.push_back({{DType::float32, {length_}}, values.data()});
    std::vector<std::vector<float>> results;
    for (int again = 0; again < 3; ++again) {
      executor->run(feeds, {});
      std::vector<std::vector<float>> fetched;
      for (const Tensor& tensor : executor->fetches())
        fetched.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
      if (again > 0) {
        EXPECT_EQ(results, fetched) << "two runs give different results";
      }
      results = std::move(fetched);
    }
    return results;
  }

  Graph graph{all_ops()};

 private:
  int count_;
  int64_t length_;
  std::vector<std::vector<float>> data_;
  std::vector<Value> values_;
  States none_{{}, {}};
  Workers workers_;
};

class Collective : public ::testing::TestWithParam<std::tuple<int, int64_t>> {};
INSTANTIATE_TEST_SUITE_P(Table, Collective,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 7, 8, 16),
                                            ::testing::Values(0, 1, 3, 7, 1000, 65537)));

TEST_P(Collective, AllReduceSumsInReplicaOrder) {
  auto [count, length] = GetParam();
  Replicas replicas(count, length);
  auto sums = all_reduce(replicas.graph, replicas.values(), Reduction::sum, named("sum", count));
  std::vector<std::string> fetches;
  for (int k = 0; k < count; ++k) {
    ReplicaScope scope(replicas.graph, k);
    fetches.push_back(replicas.graph.name(neg(replicas.graph, sums[k], join("y", k))));
  }
  auto results = replicas.run(fetches);
  for (int64_t i = 0; i < length; ++i) {
    float expected = -replicas.data()[0][i];
    for (int k = 1; k < count; ++k) expected += -replicas.data()[k][i];
    for (int k = 0; k < count; ++k)
      ASSERT_EQ(results[k][i], -expected) << "replica " << k << ", element " << i;
  }
}

TEST_P(Collective, MeanDividesOnce) {
  auto [count, length] = GetParam();
  Replicas replicas(count, length);
  all_reduce(replicas.graph, replicas.values(), Reduction::mean, named("mean", count));
  auto results = replicas.run(named("mean", count));
  for (int64_t i = 0; i < length; ++i) {
    float expected = -replicas.data()[0][i];
    for (int k = 1; k < count; ++k) expected += -replicas.data()[k][i];
    for (int k = 0; k < count; ++k) ASSERT_EQ(results[k][i], expected / static_cast<float>(count));
  }
}

TEST_P(Collective, BroadcastCopiesReplicaZero) {
  auto [count, length] = GetParam();
  Replicas replicas(count, length);
  broadcast(replicas.graph, replicas.values()[0], named("copy", count));
  for (const auto& result : replicas.run(named("copy", count)))
    for (int64_t i = 0; i < length; ++i) ASSERT_EQ(result[i], -replicas.data()[0][i]);
}

// Odd and even replicas form separate groups, for every kind of broadcast.
TEST_P(Collective, GroupsSumAndBroadcastAmongThemselves) {
  auto [count, length] = GetParam();
  Replicas replicas(count, length);
  for (int first : {0, 1}) {
    std::vector<Value> own;
    std::vector<std::string> sums, copies;
    std::vector<int> group;
    for (int k = first; k < count; k += 2) {
      own.push_back(replicas.values()[k]);
      group.push_back(k);
      sums.push_back(join("sum", k));
      copies.push_back(join("copy", k));
    }
    if (group.empty()) continue;
    all_reduce(replicas.graph, own, Reduction::sum, sums, join("sums of ", first), group);
    broadcast(replicas.graph, own.back(), copies, join("copies of ", group.back()),
              BroadcastPath::any, {group.rbegin(), group.rend()});
  }
  const auto sums = replicas.run(named("sum", count)), copies = replicas.run(named("copy", count));
  for (int k = 0; k < count; ++k) {
    const int last = k + (count - 1 - k) / 2 * 2;
    for (int64_t i = 0; i < length; ++i) {
      float expected = -replicas.data()[k % 2][i];
      for (int of = k % 2 + 2; of < count; of += 2) expected += -replicas.data()[of][i];
      ASSERT_EQ(sums[k][i], expected) << "replica " << k << ", element " << i;
      ASSERT_EQ(copies[k][i], -replicas.data()[last][i]) << "replica " << k << ", element " << i;
    }
  }
}

TEST_P(Collective, AllGatherJoinsInReplicaOrder) {
  auto [count, length] = GetParam();
  Replicas replicas(count, length);
  const std::vector<Value> joined =
      all_gather(replicas.graph, replicas.values(), {count}, named("joined", count));
  EXPECT_EQ(replicas.graph.shape(joined[0]), Shape{Dim(count * length)});
  for (const auto& result : replicas.run(named("joined", count)))
    for (int k = 0; k < count; ++k)
      for (int64_t i = 0; i < length; ++i)
        ASSERT_EQ(result[k * length + i], -replicas.data()[k][i]) << "of replica " << k;
}

TEST(AllGather, RefusesOperandsThatDiffer) {
  Graph graph(all_ops());
  const Value a = graph.input("a", {DType::float32, {2}}),
              b = graph.input("b", {DType::float32, {3}});
  const auto joined = [&](const std::vector<Value>& values, int64_t of) {
    all_gather(graph, values, {of}, named("j", static_cast<int>(values.size())), "rows");
  };
  expect_error(
      [&] {
        joined({a, b}, 2);
      },
      "rows", "operand 1 is float32[3], operand 0 is float32[2]");
  expect_error([&] { joined({a, a}, 3); }, "joins 3 values but has 2 operands");
  expect_error([&] { all_gather(graph, {a}, {1}, named("j", 2)); }, "1 values, 2 names");
}

// Before a plan sets the number of rows.
TEST(AllGather, OfSymbolsHasAnUnknownNumberOfRows) {
  Graph graph(all_ops());
  const Value a = graph.input("a", {DType::float32, {"N", 3}});
  const auto shape_of = [&](int64_t of) {
    return graph.shape(all_gather(graph, {a}, {of}, {join("joined_", of)})[0]);
  };
  EXPECT_EQ(shape_of(1), (Shape{"N", 3}));
  const Shape of_two = shape_of(2);
  EXPECT_FALSE(of_two[0].known());
  EXPECT_EQ(of_two[1], Dim(3));
}

TEST(Broadcast, RefusesAnUnknownPathAndAGroupOfAnotherSize) {
  Graph graph(all_ops());
  const Value a = graph.input("a", {DType::float32, {2}});
  expect_error(
      [&] {
        broadcast(graph, a, named("c", 2), "copies", {}, {4, 5, 6});
      },
      "3 replicas, 2 names");
  graph.set_attribute(graph.producer(broadcast(graph, a, named("c", 2), "copies")[0])->index(),
                      "path", std::string("scenic"));
  expect_error([&] { read_broadcast(graph.node(0).attributes()); },
               "path is 'scenic', should be straight or any");
}

TEST(Copy, CrossesReplicas) {
  Replicas replicas(3, 100);
  {
    ReplicaScope scope(replicas.graph, 2);
    neg(replicas.graph, copy(replicas.graph, replicas.values()[0], "copied"), "y");
  }
  auto results = replicas.run({"y"});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[0][i], replicas.data()[0][i]);
}

TEST(AllReduce, RefusesOperandsThatDiffer) {
  Graph graph(all_ops());
  Value a = graph.input("a", {DType::float32, {2}});
  Value b = graph.input("b", {DType::float32, {3}});
  expect_error(
      [&] {
        all_reduce(graph, {a, b}, Reduction::sum, named("s", 2), "grads");
      },
      "grads", "operand 1 is float32[3], operand 0 is float32[2]");
  expect_error([&] { all_reduce(graph, {a}, Reduction::sum, named("s", 2)); }, "1 values, 2 names");
}

}  // namespace
}  // namespace lockstep::testing
