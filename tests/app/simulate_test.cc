// SPDX-License-Identifier: Apache-2.0
// The simulator: hand-computed steps, the law against every message, and clusters as files.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"
#include "app/simulate/built_rounds.h"
#include "app/simulate/engine.h"
#include "app/simulate/kernel_times.h"
#include "app/simulate/search.h"
#include "builders/all_reduce/algorithm.h"
#include "lockstep/operators.h"
#include "tests/support/clusters.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kElements = 20160;  // whole pieces for any of 2, 3, 4, 6 or 8 devices
constexpr double kBytes = 4.0 * kElements;

// 1 ms forward, 2 + 3 ms backward, which end with a gradient each, and 1 ms for each update.
ReplicaStep two_gradients(bool has_queues) {
  ReplicaStep step;
  step.kernels = {{1e-3, Phase::forward, {}},
                  {2e-3, Phase::backward, {}},
                  {3e-3, Phase::backward, {}},
                  {1e-3, Phase::update, {1}},
                  {1e-3, Phase::update, {0}}};
  step.gradients = {{{"a", kElements, DType::float32}, 2}, {{"b", kElements, DType::float32}, 1}};
  step.examples = 8;
  step.has_queues = has_queues;
  return step;
}

ReduceChoice choice_with(const std::string& spec, const std::string& packing = "none") {
  return {.spec = parse_all_reduce(spec), .packing = parse_packing(packing)};
}

TEST(EventSimulation, MessagesShareAPort) {
  const Cluster cluster = cluster_of(1, 3, 1, false);
  EventSimulation events(cluster);
  const int none = EventSimulation::kNoQueue;
  // Both reach device 2 by one port of 1 MB/s; alone they would take 1 + 10 and 1 + 30 ms.
  const int shorter = events.add_message(none, {0, 2, LinkKind::within, 10e3});
  const int longer = events.add_message(none, {1, 2, LinkKind::within, 30e3});
  const int alone = events.add_message(none, {2, 0, LinkKind::within, 10e3});
  events.run();
  EXPECT_NEAR(events.ends(shorter), 21e-3, 1e-12);
  EXPECT_NEAR(events.ends(longer), 41e-3, 1e-12) << "20 ms at half of the rate, then all of it";
  EXPECT_NEAR(events.ends(alone), 11e-3, 1e-12) << "a port receives while it sends";
}

// The port of device 0 gives its three messages a third each; a fourth message gets what these
// leave of the port of device 3.
TEST(EventSimulation, RatesAreFair) {
  EventSimulation events(cluster_of(1, 5, 1, false));
  const int none = EventSimulation::kNoQueue;
  for (const int to : {1, 2, 3}) events.add_message(none, {0, to, LinkKind::within, 10e3});
  const int fourth = events.add_message(none, {4, 3, LinkKind::within, 20e3});
  events.run();
  EXPECT_NEAR(events.ends(fourth), 31e-3, 1e-12) << "20 kB at two thirds of 1 MB/s";
}

TEST(EventSimulation, QueuesKeepTheirOrderAndTasksTheirWaits) {
  EventSimulation events(cluster_of(1, 2, 1, false));
  const int a = events.add_queue(), b = events.add_queue();
  const int first = events.add(a, 2), second = events.add(b, 1, {first}), third = events.add(a, 3);
  const int last = events.add(b, 1, {third});
  events.run();
  EXPECT_DOUBLE_EQ(events.begins(second), 2);
  EXPECT_DOUBLE_EQ(events.ends(third), 5);
  EXPECT_DOUBLE_EQ(events.ends(last), 6);
  EventSimulation circle(cluster_of(1, 2, 1, false));
  const int one = circle.add(EventSimulation::kNoQueue, 1);
  circle.wait_for(one, circle.add(EventSimulation::kNoQueue, 1, {one}));
  expect_error([&] { circle.run(); }, "wait for each other");
}

// Two devices, one link, one bucket, without a queue for sums: all times are known.
TEST(StepSimulation, OneBucketTakesItsHandComputedTime) {
  const ReplicaStep step = two_gradients(false);
  const Cluster cluster = cluster_of(1, 2, 1, false);
  StepSimulator simulator(step, cluster);
  const double bytes = 2 * kBytes, packing = 2 * bytes / 12e9;
  const auto expect = [&](const std::string& spec, double seconds) {
    for (const SimulatedStep& made : {simulator.alike(choice_with(spec, "ray:1M")),
                                      simulator.each(choice_with(spec, "ray:1M"))}) {
      EXPECT_NEAR(made.seconds, 8e-3 + 2 * packing + seconds, 1e-12) << spec;
      EXPECT_NEAR(made.exposed, seconds, 1e-12) << spec;
      EXPECT_NEAR(made.phase(Phase::backward), 5e-3, 1e-12);
      EXPECT_NEAR(made.phase(Phase::reduce), seconds, 1e-12);
    }
  };
  const double whole = 1e-3 + bytes / 1e6, half = 1e-3 + bytes / 2 / 1e6;
  expect("simple", 2 * whole + 3 * bytes / 12e9);
  expect("xring", 2 * half + 3 * bytes / 2 / 12e9);
  expect("collective", 2 * half + 3 * bytes / 2 / 12e9);
  expect("trivial", 0);
}

// With a queue for sums, the first bucket's sum begins 3 ms after the step.
TEST(StepSimulation, AQueueHidesASumBehindTheBackwardPass) {
  const ReplicaStep step = two_gradients(true);
  Cluster cluster = cluster_of(1, 2, 1, false);
  const auto sum = [&] {
    const ClusterLink& link = cluster.link(LinkKind::within);
    return 2 * (link.speed.latency + kBytes / 2 / link.speed.bandwidth) + 3 * kBytes / 2 / 12e9;
  };
  StepSimulator slow(step, cluster);
  EXPECT_NEAR(slow.alike(choice_with("collective")).seconds, 3e-3 + 2 * sum() + 1e-3, 1e-12);
  EXPECT_NEAR(slow.each(choice_with("collective")).seconds, 3e-3 + 2 * sum() + 1e-3, 1e-12);
  cluster.link(LinkKind::within).speed = {1e-5, 1e9};
  StepSimulator quick(step, cluster);
  ASSERT_LT(sum(), 1e-3);
  const SimulatedStep made = quick.alike(choice_with("collective"));
  EXPECT_NEAR(made.seconds, 8e-3, 1e-12) << "b's update hides the sum of a";
  EXPECT_NEAR(made.exposed, 0, 1e-12);
  cluster.messages_take_cores = true;
  EXPECT_NEAR(quick.alike(choice_with("collective")).seconds, 8e-3, 1e-12) << "one process";
  cluster.processes = 2;
  cluster.link(LinkKind::processes).speed = {1e-5, 1e9};
  StepSimulator apart(step, cluster);
  for (const SimulatedStep& one :
       {apart.alike(choice_with("collective")), apart.each(choice_with("collective"))}) {
    EXPECT_NEAR(one.seconds, 8e-3 + 2 * sum(), 1e-12);
    EXPECT_NEAR(one.exposed, 2 * sum(), 1e-12);
  }
}

struct Layout {
  int hosts, devices, processes;
};

// The law of rounds.h, with one replica for all, against every message of the builder's graph.
TEST(StepSimulation, OneForAllEqualsEachForEveryAlgorithm) {
  const ReplicaStep step = two_gradients(false);
  int compared = 0;
  for (const Layout layout : {Layout{1, 2, 1},
                              {1, 2, 2},
                              {2, 1, 1},
                              {1, 3, 1},
                              {1, 4, 1},
                              {2, 2, 1},
                              {2, 2, 2},
                              {1, 4, 2},
                              {1, 6, 1},
                              {1, 8, 1},
                              {2, 4, 1},
                              {4, 2, 1},
                              {8, 1, 1},
                              {2, 4, 2}})
    for (const bool shared : {false, true}) {
      const Cluster cluster = cluster_of(layout.hosts, layout.devices, layout.processes, shared);
      const int devices = cluster.all_devices();
      StepSimulator simulator(step, cluster);
      for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
        const bool halves = algorithm.name.find("rechd") != std::string::npos;
        if (halves && (devices & (devices - 1)) != 0) continue;  // docs/simulate.md: a bound
        const int64_t most = algorithm.is_one_node() ? (algorithm.most_shards ? 2 : 1)
                             : algorithm.most_shards
                                 ? algorithm.most_shards(devices, cluster.all_processes())
                                 : 1;
        for (const int64_t shards : {int64_t{1}, most})
          for (const DType wire : {DType::undefined, DType::float16})
            for (const char* packing : {"none", "ray:1M"}) {
              ReduceChoice choice = choice_with("collective", packing);
              choice.spec.ranges = {{algorithm.name, shards}};
              choice.wire = wire;
              const SimulatedStep alike = simulator.alike(choice), each = simulator.each(choice);
              const std::string what =
                  join(algorithm.name, "#", shards, " ", wire, " ", packing, " on ", layout.hosts,
                       " x ", layout.devices, " in ", layout.processes, shared ? ", shared" : "");
              EXPECT_NEAR(alike.seconds / each.seconds, 1, 1e-9) << what;
              EXPECT_NEAR(alike.bytes, each.bytes, 1e-6 * kBytes) << what;
              EXPECT_NEAR(alike.messages, each.messages, 1e-6) << what;
              EXPECT_NEAR(alike.exposed, each.exposed, 1e-9 * each.seconds) << what;
              ++compared;
            }
      }
    }
  EXPECT_GT(compared, 2000);
}

// The simulated devices send as many bytes and messages as inspect finds in the step's graph.
TEST(StepSimulation, SendsWhatTheGraphSends) {
  for (const char* spec : {"xring", "xring#2", "rechd", "bcube", "psgpu#4", "simple", "muji",
                           "hierarchical_copy", "pscpu"})
    for (const char* packing : {"none", "ready:1k:4k"})
      for (const DType wire : {DType::undefined, DType::bfloat16}) {
        DataParallelOptions options;
        options.all_reduce.spec = parse_all_reduce(spec);
        options.all_reduce.packing = parse_packing(packing);
        options.all_reduce.wire = wire;
        const SourcedModel source = source_of(small_mlp(4, MomentumSgd{}, options), 3);
        const Cluster cluster = cluster_of(1, 4, 1, false);
        KernelTimes times(cluster);
        const ReplicaStep step = replica_step(source, plan_of_step(source), times);
        ASSERT_EQ(step.gradients.size(), 6U);
        for (const ReplicaGradient& gradient : step.gradients) EXPECT_GE(gradient.made_by, 0);
        EXPECT_EQ(text_of(pack(options.all_reduce.packing, step.sizes()), step.sizes()),
                  source.model.bucket_plan);
        ReduceChoice choice = choice_with(spec);
        choice.buckets = source.model.bucket_plan;
        choice.wire = wire;
        const SimulatedStep each = StepSimulator(step, cluster).each(choice);
        double bytes = 0, messages = 0;
        for (const ReplicaFigures& replica : figures_of(source).replicas) {
          bytes += replica.reduced_bytes;
          messages += static_cast<double>(replica.messages);
        }
        EXPECT_EQ(each.bytes, bytes) << spec << " " << packing << " " << wire;
        EXPECT_EQ(each.messages, messages) << spec << " " << packing << " " << wire;
      }
}

// A step's gradients are listed as clipped, after their sums; a sum begins once its own gradients
// are there, before the update.
TEST(StepSimulation, SumsBeginBeforeClipping) {
  for (const int replicas : {1, 2})
    for (const char* packing : {"none", "ready:1k:4k", "ray:1G"}) {
      DataParallelOptions options;
      options.clip.norm = 1;
      options.all_reduce.packing = parse_packing(packing);
      const SourcedModel source = source_of(small_mlp(replicas, MomentumSgd{}, options), 3);
      const Cluster cluster = cluster_of(1, 2, 2, false);
      KernelTimes times(cluster);
      const ReplicaStep step = replica_step(source, plan_of_step(source), times);
      ASSERT_EQ(step.gradients.size(), 6U);
      std::set<int> makers;
      for (const ReplicaGradient& gradient : step.gradients) {
        ASSERT_GE(gradient.made_by, 0) << gradient.size.name;
        EXPECT_EQ(step.kernels[gradient.made_by].phase, Phase::backward) << gradient.size.name;
        makers.insert(gradient.made_by);
      }
      EXPECT_GE(makers.size(), 3U) << "at least one for each layer";
      StepSimulator simulator(step, cluster);
      const ReduceChoice choice = choice_with("collective", packing);
      EXPECT_NEAR(simulator.alike(choice).seconds / simulator.each(choice).seconds, 1, 1e-9);
    }
}

// Rings of the order and the shards of a larger step.
TEST(StepSimulation, OtherSizesTakeTheShardsAndTheOrderThatFit) {
  const ReplicaStep step = two_gradients(false);
  for (const Layout layout : {Layout{1, 2, 1}, {1, 4, 2}, {1, 4, 1}, {2, 4, 1}, {2, 8, 1}})
    for (const char* spec : {"xring#4", "psgpu#4", "pscpu#4", "nccl/pscpu#4", "collective#4"}) {
      const Cluster cluster = cluster_of(layout.hosts, layout.devices, layout.processes, false);
      ReduceChoice wide = choice_with(spec);
      wide.ring_order = {0, 2, 1, 3};
      const ReduceChoice choice = fitted(wide, cluster);
      EXPECT_EQ(choice.ring_order.empty(), cluster.per_process() != 4);
      EXPECT_EQ(choice.spec.ranges[0].algorithm, wide.spec.ranges[0].algorithm);
      EXPECT_LE(choice.spec.ranges[0].shards, 4);
      StepSimulator simulator(step, cluster);
      EXPECT_NEAR(simulator.alike(choice).seconds / simulator.each(choice).seconds, 1, 1e-9)
          << spec << " on " << layout.hosts << " x " << layout.devices;
      if (!choice.ring_order.empty() || choice.spec.ranges[0].algorithm != "xring") continue;
      ReduceChoice other = choice;
      other.ring_order = wide.ring_order;
      expect_error([&] { simulator.alike(other); }, "a ring order of 4 replicas");
    }
  EXPECT_EQ(fitted(choice_with("xring#4"), cluster_of(1, 2, 1, false)).spec.ranges[0].shards, 2);
  EXPECT_EQ(fitted(choice_with("psgpu#4"), cluster_of(1, 3, 1, false)).spec.ranges[0].shards, 3);
}

// A slower link never makes a step faster, and a queue for sums never exposes more.
TEST(StepSimulation, IsMonotone) {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    const ReduceChoice choice = choice_with(algorithm.name);
    double before = 0;
    for (const double bandwidth : {1e12, 1e9, 1e7, 1e6}) {
      Cluster cluster = cluster_of(2, 4, 1, true);
      for (ClusterLink& link : cluster.links) link.speed.bandwidth = bandwidth;
      const ReplicaStep queued = two_gradients(true), waiting = two_gradients(false);
      const SimulatedStep hidden = StepSimulator(queued, cluster).alike(choice);
      EXPECT_GE(hidden.seconds, before) << algorithm.name << " " << bandwidth;
      before = hidden.seconds;
      Cluster one = cluster;
      one.hosts = 1;
      EXPECT_LE(StepSimulator(queued, one).alike(choice).exposed,
                StepSimulator(waiting, one).alike(choice).exposed + 1e-12)
          << algorithm.name;
    }
  }
}

TEST(StepSimulation, MicroBatchesCostTimeAndSaveMemory) {
  ReplicaStep step = two_gradients(false);
  step.between = 1e-4;
  step.memory.arenas = 1000;
  step.memory.states = 500;
  step.activations = 800;
  const Cluster cluster = cluster_of(1, 2, 1, false);
  StepSimulator simulator(step, cluster);
  ReduceChoice four = choice_with("trivial");
  four.micro_batches = 4;
  const SimulatedStep whole = simulator.alike(choice_with("trivial")),
                      parts = simulator.alike(four);
  // Each of 3 kernels has 0.1 ms in each of 3 further parts; so has each of 2 sums of gradients.
  EXPECT_NEAR(parts.seconds - whole.seconds, 15e-4 + 3 * 2 * 3 * kBytes / 12e9, 1e-12);
  EXPECT_DOUBLE_EQ(whole.memory, 1500);
  EXPECT_DOUBLE_EQ(parts.memory, 900);
}

TEST(Search, FindsNoWorseThanAnyChoice) {
  const ReplicaStep step = two_gradients(true);
  Cluster cluster = cluster_of(2, 4, 1, true);
  const SearchResult found = search_choices(step, cluster);
  StepSimulator simulator(step, cluster);
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    if (!algorithm.sums) continue;
    const double seconds = simulator.alike(choice_with(algorithm.name)).seconds;
    EXPECT_LE(found.best.step.seconds, seconds * (1 + 1e-9)) << algorithm.name;
    EXPECT_LE(found.exact.step.seconds, seconds * (1 + 1e-9)) << algorithm.name;
  }
  EXPECT_EQ(found.exact.choice.wire, DType::undefined);
  EXPECT_TRUE(found.fits);
  const std::string file = bucket_file(step, cluster, found.best, {"lockstep train net.yaml"});
  EXPECT_EQ(parse_buckets(file, step.sizes()), found.best.choice.buckets_of(step));
  EXPECT_NE(file.find("\n# lockstep train net.yaml\nbucket "), file.npos) << file;
}

TEST(Search, TakesMicroBatchesOnlyForMemory) {
  ReplicaStep step = two_gradients(true);
  step.memory.arenas = 1000;
  step.activations = 800;
  Cluster cluster = cluster_of(1, 4, 1, false);
  for (const auto& [memory, parts, fits] :
       {std::tuple{2000.0, 1, true}, {700.0, 2, true}, {301.0, 8, true}, {250.0, 8, false}}) {
    cluster.memory = memory;
    const SearchResult found = search_choices(step, cluster);
    EXPECT_EQ(found.best.choice.micro_batches, parts) << memory;
    EXPECT_EQ(found.fits, fits) << memory;
  }
}

}  // namespace
}  // namespace lockstep::testing
