// SPDX-License-Identifier: Apache-2.0
// The cost model behind `auto`.
#include "builders/all_reduce/choice.h"

#include <gtest/gtest.h>

#include <limits>

#include "builders/all_reduce/all_reduce.h"
#include "tests/support/expect_error.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

AllReduceRange only(const std::string& spec) { return parse_all_reduce(spec).ranges[0]; }

// The time for ResNet-50's gradients over 8 replicas of one link, in `messages` messages. Additions
// are free.
double milliseconds(const std::string& spec, const std::string& link, int messages) {
  Topology topology = parse_topology(link);
  topology.adding = std::numeric_limits<double>::infinity();
  return 1e3 * messages * predicted_seconds(only(spec), topology, 8, 1, 102334368.0 / messages);
}

TEST(Cost, ResNetsGradientsTakeWhatTheTheorySays) {
  EXPECT_NEAR(milliseconds("xring", "10us:10G", 214), 47.9, 0.05);
  EXPECT_NEAR(milliseconds("xring", "10us:10G", 9), 19.2, 0.05);
  EXPECT_NEAR(milliseconds("xring", "10us:10G", 1), 18.1, 0.06);
  EXPECT_NEAR(milliseconds("rechd", "10us:10G", 214), 30.8, 0.06);
  EXPECT_NEAR(milliseconds("xring", "25us:1.25G", 214), 218, 0.5);
  EXPECT_NEAR(milliseconds("xring", "25us:1.25G", 9), 146, 0.5);
  EXPECT_NEAR(milliseconds("xring", "25us:1.25G", 1), 144, 0.5);
  EXPECT_NEAR(milliseconds("xring", "5us:200G", 214), 15.9, 0.05);
  EXPECT_NEAR(milliseconds("xring", "5us:200G", 9), 1.5, 0.05);
  EXPECT_NEAR(milliseconds("xring", "5us:200G", 1), 1.0, 0.05);
}

TEST(Cost, TopologiesAreRead) {
  const Topology both = parse_topology("2us:10G/0.03ms:1200M");
  EXPECT_DOUBLE_EQ(both.within.latency, 2e-6);
  EXPECT_DOUBLE_EQ(both.within.bandwidth, 10e9);
  EXPECT_DOUBLE_EQ(both.across.latency, 30e-6);
  EXPECT_DOUBLE_EQ(both.across.bandwidth, 1.2e9);
  EXPECT_DOUBLE_EQ(parse_topology("500ns:1G").across.latency, 5e-7);
  expect_error([] { parse_topology("fast"); }, "topology 'fast'", "latency:bandwidth");
  expect_error([] { parse_topology("2us:10"); }, "bandwidth '10'", "G, M, K");
  expect_error([] { parse_topology("-2us:10G"); }, "latency '-2us'", "positive");
  expect_error([] { parse_topology("2us:10G/"); }, "latency:bandwidth");
  expect_error([] { parse_topology("infus:1G"); }, "latency 'infus'", "finite");
  expect_error([] { parse_topology("1us:1e300G"); }, "bandwidth '1e300G'", "finite");
}

// Latency decides for few bytes, volume for many. Levels pay if the link between processes is slow.
TEST(Cost, TheFastestIsChosenAndTheOthersAreNamed) {
  const Topology slow = parse_topology("2us:10G/100us:1G");
  const Choice small = choose_algorithm(slow, 8, 8, 64);
  EXPECT_EQ(small.range.algorithm, "rechd") << small.why;
  EXPECT_EQ(choose_algorithm(slow, 8, 4, 1e8).range.algorithm, "nccl/rechd");
  EXPECT_EQ(choose_algorithm(slow, 8, 1, 1e8).range.algorithm, "collective");
  for (const char* other : {"xring", "collective", "bcube", "psgpu#8", "simple", " ms; "})
    EXPECT_NE(small.why.find(other), small.why.npos) << other << " in " << small.why;
  for (double bytes : {8.0, 4e3, 1e6, 1e8})
    for (auto [replicas, processes] : {std::pair{2, 1}, {6, 1}, {8, 2}, {12, 12}}) {
      const Choice best = choose_algorithm(slow, replicas, processes, bytes);
      const double seconds = predicted_seconds(best.range, slow, replicas, processes, bytes);
      for (const char* spec : {"collective", "xring", "rechd", "bcube", "simple"})
        EXPECT_LE(seconds, predicted_seconds(only(spec), slow, replicas, processes, bytes))
            << spec << " " << best.why;
    }
}

// Subdivisions cost latency; shards of a second level save volume. Within a process, one node is
// faster than copies to the first replica.
TEST(Cost, OfShardsAndLevels) {
  const Topology usual;
  const auto seconds = [&](const std::string& spec, double bytes) {
    return predicted_seconds(only(spec), usual, 8, 4, bytes);
  };
  EXPECT_NEAR(seconds("collective#4", 64) / seconds("collective", 64), 4, 0.1);
  EXPECT_NEAR(seconds("collective#4", 1e9) / seconds("collective", 1e9), 1, 0.01);
  EXPECT_EQ(seconds("pscpu/pscpu", 1e8), seconds("pscpu/pscpu#4", 1e8));
  EXPECT_GT(seconds("pscpu/pscpu#1", 1e8), 2 * seconds("pscpu/pscpu#4", 1e8));
  for (const std::string across : {"rechd", "xring", "pscpu"})
    EXPECT_LT(seconds("nccl/" + across, 1e8), seconds("pscpu/" + across, 1e8)) << across;
}

// A step with `auto` has the chosen algorithm. The plan of buckets gives the reason, and can be
// replayed.
TEST(Cost, ThePlanSaysWhy) {
  auto reduced = [](const AllReduceOptions& options, std::string& plan) {
    const SumGraph sums = sum_graph(options, 4, {{1 << 22}, {16}});
    plan = sums.bucket_plan;
    return sums.graph.node_count();
  };
  AllReduceOptions options{.spec = parse_all_reduce("auto"), .processes = 4};
  options.topology = parse_topology("1us:1G");
  std::string plan, again;
  const int nodes = reduced(options, plan);
  EXPECT_NE(plan.find("# auto: "), plan.npos) << plan;
  EXPECT_NE(plan.find("bucket 64 bytes: w1\n"), plan.npos) << plan;
  options.buckets = plan;
  EXPECT_EQ(reduced(options, again), nodes);
  EXPECT_EQ(plan, again);
}

}  // namespace
}  // namespace lockstep::testing
