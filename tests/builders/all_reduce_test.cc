// SPDX-License-Identifier: Apache-2.0
// Every all-reduce algorithm: its parts, and its sums on real workers.
#include "builders/all_reduce/all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "builders/all_reduce/pieces.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "operators/collective/collective.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

// -- its parts

TEST(Ring, PiecesAsTheRingPadsThem) {
  auto pieces = [](int64_t length, int64_t count) {
    const int64_t size = ring_piece(length, count);
    return std::pair{size, size * count - length};
  };
  EXPECT_EQ(pieces(16, 4), (std::pair<int64_t, int64_t>{4, 0}));
  EXPECT_EQ(pieces(17, 4), (std::pair<int64_t, int64_t>{5, 3}));
  EXPECT_EQ(pieces(5, 4), (std::pair<int64_t, int64_t>{2, 3}));
  EXPECT_EQ(pieces(13, 8), (std::pair<int64_t, int64_t>{2, 3}));
  EXPECT_EQ(pieces(3, 8), (std::pair<int64_t, int64_t>{1, 5}));
}

TEST(Ring, PredecessorsAndRanks) {
  using Ints = std::vector<int>;
  struct Row {
    int processes;
    int64_t rings;
    Ints order;
    std::vector<Ints> predecessors, ranks;  // by sub-ring
  };
  const Row rows[] = {
      {1, 1, {}, {{}}, {{}}},
      {1, 1, {0}, {{0}}, {{0}}},
      {1, 1, {0, 1, 2}, {{2, 0, 1}}, {{0, 1, 2}}},
      {2, 1, {0, 1, 2}, {{5, 0, 1, 2, 3, 4}}, {{0, 1, 2, 3, 4, 5}}},
      {2, 1, {2, 1, 0}, {{1, 2, 3, 4, 5, 0}}, {{2, 1, 0, 5, 4, 3}}},
      {1, 2, {0, 1, 2, 3}, {{3, 0, 1, 2}, {3, 0, 1, 2}}, {{0, 1, 2, 3}, {2, 3, 0, 1}}},
      {1,
       4,
       {0, 1, 2, 3},
       {{3, 0, 1, 2}, {3, 0, 1, 2}, {3, 0, 1, 2}, {3, 0, 1, 2}},
       {{0, 1, 2, 3}, {3, 0, 1, 2}, {2, 3, 0, 1}, {1, 2, 3, 0}}},
      {2,
       2,
       {0, 1, 2, 3},
       {{7, 0, 1, 2, 3, 4, 5, 6}, {3, 0, 5, 2, 7, 4, 1, 6}},
       {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}}},
      {2,
       2,
       {0, 3, 2, 1},
       {{5, 2, 3, 0, 1, 6, 7, 4}, {1, 2, 7, 0, 5, 6, 3, 4}},
       {{0, 3, 2, 1, 4, 7, 6, 5}, {2, 1, 0, 3, 6, 5, 4, 7}}}};
  for (const Row& row : rows)
    for (std::size_t s = 0; s < row.predecessors.size(); ++s) {
      const RingPlaces places =
          ring_places(row.processes, row.rings, static_cast<int64_t>(s), row.order);
      EXPECT_EQ(places.predecessor, row.predecessors[s])
          << row.processes << " processes, ring " << s;
      EXPECT_EQ(places.rank, row.ranks[s]) << row.processes << " processes, ring " << s;
    }
}

TEST(Gather, GroupsAreDealtRoundRobin) {
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(gather_groups(4, 2), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(gather_groups(5, 2), (Groups{{0, 3}, {1, 4}, {2, 0}}));
  EXPECT_EQ(gather_groups(5, 3), (Groups{{0, 2, 4}, {1, 3, 0}}));
  EXPECT_EQ(gather_groups(6, 4), (Groups{{0, 2, 4, 0}, {1, 3, 5, 1}}));
  expect_error([] { gather_groups(2, 3); }, "3 gather replicas of 2; ask for 1 to 2");
}

TEST(AllReduce, SpecsThatDoNotFitTheReplicasAreRefused) {
  auto fits = [](const std::string& spec, int replicas, int processes) {
    check_fits({.spec = parse_all_reduce(spec), .processes = processes}, replicas);
  };
  fits("xring#4", 8, 2);
  expect_error([&] { fits("xring#5", 8, 2); },
               "xring#5 on 2 x 4 replicas; at most #4 is possible: ask for fewer shards");
  expect_error([] { check_fits({.spec = {}}, 2); },
               "the spec names no algorithm; name one, such as collective or xring");
  expect_error([&] { fits("pscpu#3", 8, 2); }, "at most #2");
  fits("pscpu/pscpu#2", 8, 2);
  expect_error([&] { fits("pscpu/pscpu#3", 8, 2); }, "pscpu/pscpu#3 on 2 x 4 replicas; at most #2");
  expect_error([&] { fits("nccl/pscpu#2", 8, 1); }, "nccl/pscpu#2 on 1 x 8 replicas; at most #1");
  fits("collective#1024", 8, 2);
  expect_error([&] { fits("collective#1025", 8, 2); }, "collective#1025", "at most #1024");
  expect_error([&] { fits("rechd", 6, 4); }, "6 replicas cannot be split equally over 4 processes");
  auto in_order = [](const std::vector<int>& order) {
    check_fits({.spec = parse_all_reduce("xring"), .processes = 2, .ring_order = order}, 6);
  };
  in_order({2, 0, 1});
  for (const std::vector<int>& wrong :
       {std::vector<int>{0, 2}, {0, 1, 3}, {0, 1, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}})
    expect_error([&] { in_order(wrong); },
                 "the ring order " + text_of(std::vector<int64_t>(wrong.begin(), wrong.end())),
                 "should name replicas 0 to 2 once each");
}

// -- every algorithm on real data

struct Case {
  std::string spec;
  int replicas;
  int processes;
  std::string wire = "";
};

// Two runs of sums of random numbers on each replica; `data` gets the terms.
std::vector<std::vector<float>> summed(const Case& c, const Dims& dims,
                                       std::vector<std::vector<double>>& data) {
  const SumGraph sum = sum_graph(
      {.spec = parse_all_reduce(c.spec), .wire = parse_wire(c.wire), .processes = c.processes},
      c.replicas, {dims});
  std::vector<std::vector<float>> fed;
  const int64_t length = element_count(dims);
  for (int k = 0; k < c.replicas; ++k) {
    PhiloxSequence random(static_cast<uint64_t>(c.replicas),
                          static_cast<uint64_t>(length * 100 + k));
    fed.emplace_back();
    data.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      fed.back().push_back(static_cast<float>(random.normal()));
      data.back().push_back(-static_cast<double>(fed.back().back()));
    }
  }
  States none({}, {});
  Workers workers(c.replicas, 1);
  auto executor = make_executor(compile({.graph = sum.graph,
                                         .feeds = sum.feeds,
                                         .feed_dims = std::vector<Dims>(fed.size(), dims),
                                         .fetches = sum.sums,
                                         .devices = cpu_devices(c.replicas),
                                         .kernels = all_kernels()}),
                                none, workers);
  std::vector<Tensor> tensors;
  for (auto& values_of : fed) tensors.push_back({{DType::float32, dims}, values_of.data()});
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 2; ++run) {
    executor->run(tensors, {});
    std::vector<std::vector<float>> fetched;
    for (const Tensor& tensor : executor->fetches())
      fetched.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
    if (run > 0) {
      EXPECT_EQ(results, fetched) << "two runs give different sums";
    }
    results = std::move(fetched);
  }
  return results;
}

// `rounding`: the relative rounding of one number on the wire; float32's if the wire is not
// narrowed.
void check_sums(const Case& c, const Dims& dims, double rounding = 0x1p-24) {
  SCOPED_TRACE(join(c.spec, " on ", c.processes, " x ", c.replicas / c.processes, ", ",
                    text_of(dims), " ", c.wire));
  std::vector<std::vector<double>> data;
  const auto results = summed(c, dims, data);
  ASSERT_EQ(results.size(), static_cast<std::size_t>(c.replicas));
  for (const auto& result : results) ASSERT_EQ(result, results[0]) << "replicas differ";
  ASSERT_EQ(results[0].size(), static_cast<std::size_t>(element_count(dims)));
  const double divisor = c.spec.rfind("mean:", 0) == 0 ? c.replicas : 1;
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    double sum = 0, sizes = 0;
    for (const auto& of_replica : data) {
      sum += of_replica[i];
      sizes += std::abs(of_replica[i]);
    }
    // A term is rounded when it is sent, and again each time a sum with the term is sent. A mean is
    // rounded once more.
    const int roundings = c.replicas + (divisor == 1 ? 1 : 2);
    ASSERT_NEAR(results[0][i], sum / divisor, sizes / divisor * rounding * roundings)
        << "element " << i;
  }
}

class Algorithms : public ::testing::TestWithParam<std::string> {};
TEST_P(Algorithms, SumOnAnyNumberOfReplicas) {
  for (int replicas : {1, 2, 3, 4, 5, 7, 8, 16})
    for (int64_t length : {0, 1, 3, 7, 1000, 65537})
      check_sums({GetParam(), replicas, 1}, {length});
}
TEST_P(Algorithms, SumAnyShape) {
  for (const Dims& dims : {Dims{}, Dims{4, 4}, Dims{7, 13}, Dims{8, 8, 2}, Dims{2, 0, 3}})
    check_sums({GetParam(), 4, 2}, dims);
}
TEST_P(Algorithms, SumWhatTravelsInHalfTheBytes) {
  for (int replicas : {2, 3, 5, 8})
    for (int64_t length : {0, 7, 1000}) {
      check_sums({GetParam(), replicas, 1, "float16"}, {length}, std::ldexp(1, -11));
      check_sums({GetParam(), replicas, 1, "bfloat16"}, {length}, std::ldexp(1, -8));
    }
}
TEST_P(Algorithms, MeanOfAnyNumberOfReplicas) {
  const std::string spec = "mean:" + GetParam();
  for (int replicas : {1, 2, 3, 8})
    for (int64_t length : {0, 1, 7, 1000}) check_sums({spec, replicas, 1}, {length});
  for (const Dims& dims : {Dims{}, Dims{7, 13}, Dims{2, 0, 3}}) check_sums({spec, 6, 3}, dims);
  check_sums({spec, 3, 1, "bfloat16"}, {100}, std::ldexp(1, -8));
}
INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         ::testing::Values("collective", "collective#2", "nccl", "xring", "rechd",
                                           "bcube", "pscpu", "psgpu", "simple", "muji",
                                           "hierarchical_copy", "nccl/xring", "nccl/rechd",
                                           "nccl/pscpu", "pscpu/xring", "pscpu/rechd",
                                           "pscpu/pscpu"));

TEST(AllReduce, WithWorkersAndShards) {
  const std::vector<Case> cases{
      {"xring#2", 8, 2},       {"xring#4", 8, 2},      {"xring", 6, 6},       {"psgpu#3", 16, 2},
      {"psgpu#16", 16, 2},     {"pscpu#2", 16, 2},     {"psgpu#4", 32, 4},    {"nccl/xring", 12, 3},
      {"nccl/rechd", 15, 5},   {"pscpu/pscpu", 9, 3},  {"nccl/pscpu", 8, 4},  {"xring#3", 7, 1},
      {"pscpu/pscpu#2", 9, 3}, {"nccl/pscpu#1", 8, 4}, {"collective#5", 6, 2}};
  for (const Case& c : cases)
    for (const Dims& dims : {Dims{8}, Dims{7, 13}, Dims{8, 8}}) check_sums(c, dims);
}

TEST(AllReduce, TrivialLeavesEveryReplicaItsOwn) {
  std::vector<std::vector<double>> data;
  const auto results = summed({"trivial", 3, 1}, {5}, data);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(results[k][i], static_cast<float>(data[k][i]));
}

// A wire that represents all terms and sums loses nothing. Here all are small integers.
TEST(AllReduce, SumsAreInFloat32WhateverTravels) {
  const auto over_three = [](const std::string& wire) {
    return sum_graph({.spec = parse_all_reduce("xring"), .wire = parse_wire(wire)}, 3, {{8}});
  };
  const Graph graph = over_three("float16").graph;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    if (node.type() == "Add") {
      EXPECT_EQ(graph.dtype(node.outputs()[0]), DType::float32);
    }
    if (node.type() == "Copy") {
      EXPECT_EQ(graph.dtype(node.outputs()[0]), DType::float16);
    }
  }
  expect_error([&] { over_three("int8"); }, "int8");
}

// N (N - 1) S sums, and the same number of copies in each of the two phases.
TEST(AllReduce, ARingHasAsManyStepsAsTheTheory) {
  for (auto [replicas, rings] : {std::pair{4, 1}, {4, 2}, {8, 2}}) {
    const Graph graph =
        sum_graph({.spec = parse_all_reduce(join("xring#", rings))}, replicas, {{1024}}).graph;
    int adds = 0, copies = 0;
    for (int i = 0; i < graph.node_count(); ++i) {
      adds += graph.node(i).type() == "Add";
      copies += graph.node(i).type() == "Copy";
    }
    EXPECT_EQ(adds, replicas * (replicas - 1) * rings);
    EXPECT_EQ(copies, 2 * replicas * (replicas - 1) * rings);
  }
}

// Every algorithm gives the same weights, up to the order of sums.
TEST(AllReduce, TrainingDoesNotDependOnTheAlgorithm) {
  auto train_with = [](const std::string& spec) {
    TrainingModel model = small_mlp(
        4, MomentumSgd{}, {.all_reduce = {.spec = parse_all_reduce(spec), .processes = 2}});
    return train(model, 16, 5, {1, 6, 6});
  };
  const StateValues expected = train_with("collective");
  for (const char* spec :
       {"xring", "rechd", "bcube", "psgpu#2:100:xring#2", "muji", "nccl/rechd", "hierarchical_copy",
        "simple:40B:pscpu/pscpu", "collective#3", "nccl/pscpu#1:100:pscpu/pscpu#2"}) {
    const StateValues found = train_with(spec);
    for (const auto& [name, value] : expected) {
      const auto ours = found.at(name).values<float>(), theirs = value.values<float>();
      for (std::size_t i = 0; i < ours.size(); ++i)
        ASSERT_NEAR(ours[i], theirs[i], 1e-5) << spec << " " << name;
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
