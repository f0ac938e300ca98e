// SPDX-License-Identifier: Apache-2.0
// Steps simulated as they are planned, and the times of kernels from traces.
#include "app/simulate/planned_step.h"

#include <gtest/gtest.h>

#include <string>

#include "app/inspect/figures.h"
#include "app/simulate/kernel_times.h"
#include "app/simulate/measured_links.h"
#include "lockstep/operators.h"
#include "tests/support/clusters.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// The plan of one replica has no waits: its step takes the sum of its kernels.
TEST(PlannedStep, OfOneReplicaIsTheSumOfItsKernels) {
  const SourcedModel source = source_of(small_mlp(1), 3);
  Cluster cluster = cluster_of(1, 1, 1, false);
  cluster.launch = 1e-5;
  KernelTimes times(cluster);
  const SimulatedStep planned = simulate_plans(PlannedProcesses(source, cluster), cluster, times);
  const ReplicaStep step = replica_step(source, plan_of_step(source), times);
  EXPECT_NEAR(planned.seconds, step.seconds(), 1e-12);
  EXPECT_GT(planned.seconds, 1e-5 * static_cast<double>(step.kernels.size()));
  EXPECT_NEAR(planned.exposed, 0, 1e-12);
  EXPECT_EQ(planned.messages, 0);
}

// Phases are of the first device, and every second of the step is in one of them or exposed. Sums
// count where they run: in the device's own worker, or in the worker for messages.
TEST(PlannedStep, ReplicaZeroStandsForAll) {
  for (const int processes : {1, 2})
    for (const char* spec : {"collective", "xring", "simple"}) {
      DataParallelOptions options;
      options.all_reduce.spec = parse_all_reduce(spec);
      options.all_reduce.processes = processes;
      const SourcedModel source = source_of(small_mlp(2, MomentumSgd{}, options), 3);
      const double parameters = figures_of(source).replicas[0].parameter_bytes;
      Cluster cluster = cluster_of(1, 2, processes, false);
      cluster.launch = 1e-5;
      KernelTimes times(cluster);
      const SimulatedStep planned =
          simulate_plans(PlannedProcesses(source, cluster), cluster, times);
      const ReplicaStep step = replica_step(source, plan_of_step(source), times);
      const std::string what = join(spec, " in ", processes);
      for (const Phase phase : {Phase::forward, Phase::backward})
        EXPECT_NEAR(planned.phase(phase), step.seconds_of(phase), 1e-12) << what << name_of(phase);
      EXPECT_GT(planned.phase(Phase::update), 0) << what;
      double all = planned.feeds + planned.exposed;
      for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
        all += planned.phase(phase);
      EXPECT_NEAR(all, planned.seconds, 1e-12) << what;
      const LinkKind link = processes == 1 ? LinkKind::within : LinkKind::processes;
      EXPECT_GT(planned.phase(Phase::reduce), parameters / cluster.link(link).speed.bandwidth)
          << what;
      EXPECT_LT(planned.phase(Phase::reduce), planned.seconds) << what;
    }
}

// Two processes exchange each gradient in two halves, or by the copies of a ring.
TEST(PlannedStep, ProcessesExchangeTheGradients) {
  for (const char* spec : {"collective", "xring"}) {
    DataParallelOptions options;
    options.all_reduce.spec = parse_all_reduce(spec);
    options.all_reduce.processes = 2;
    const SourcedModel source = source_of(small_mlp(2, MomentumSgd{}, options), 3);
    const double parameters = figures_of(source).replicas[0].parameter_bytes;
    Cluster cluster = cluster_of(1, 2, 2, false);
    double before = 0;
    for (const double bandwidth : {1e12, 1e6}) {
      for (ClusterLink& link : cluster.links) link.speed.bandwidth = bandwidth;
      KernelTimes times(cluster);
      const SimulatedStep planned =
          simulate_plans(PlannedProcesses(source, cluster), cluster, times);
      EXPECT_NEAR(planned.bytes, 2 * parameters, 1) << spec;
      EXPECT_EQ(planned.messages, 6 * 4) << spec << ": two each way for each parameter";
      EXPECT_GT(planned.seconds, before) << spec;
      EXPECT_GE(planned.exposed, parameters / bandwidth) << spec;
      EXPECT_GE(planned.phase(Phase::reduce), parameters / bandwidth) << spec;
      cluster.messages_take_cores = true;
      const SimulatedStep one_at_a_time =
          simulate_plans(PlannedProcesses(source, cluster), cluster, times);
      cluster.messages_take_cores = false;
      EXPECT_GE(one_at_a_time.exposed, one_at_a_time.phase(Phase::reduce) - 1e-12) << spec;
      EXPECT_GE(one_at_a_time.seconds, planned.seconds) << spec;
      if (planned.exposed < planned.phase(Phase::reduce)) {  // a sum was hidden
        EXPECT_GT(one_at_a_time.seconds, planned.seconds) << spec;
      }
      before = planned.seconds;
    }
    EXPECT_NE(why_not_planned(source, cluster_of(2, 2, 1, false)), "");
  }
}

// A row of a trace with two steps of two operators.
std::string trace_text(const std::string& schema = "lockstep.trace/1") {
  std::string events = R"({"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"cpu:0"}})";
  for (const int step : {0, 1}) {
    const int at = 1000 * step;
    const auto slice = [&](const std::string& rest, int begins, int lasts) {
      events += join(",\n{\"ph\":\"X\",", rest, ",\"pid\":1,\"tid\":1,\"ts\":", at + begins,
                     ",\"dur\":", lasts, "}");
    };
    slice(R"("name":"step 1","cat":"step")", 0, 500);
    slice(R"("name":"feeds","cat":"data")", 0, 20);
    slice(R"("name":"a","cat":"forward","args":{"operator":"Relu","results":"y: float32[2,3]"})",
          30, 100 + 20 * step);
    slice(R"("name":"wait","cat":"wait","args":{"for":"x"})", 200, 50);
    slice(
        R"("name":"b","cat":"reduce","args":{"operator":"AllReduce","part":"1 of 2","results":"s: float32[6]"})",
        300, 150);
  }
  return join("{\"otherData\":{\"schema\":\"", schema, "\"},\"traceEvents\":[\n", events, "]}");
}

TEST(KernelProfile, HasMediansByNameAndByShape) {
  const KernelProfile profile = profile_of(trace_text(), "t.json");
  const NamedTime& a = profile.by_name.at("a").at(0);
  EXPECT_NEAR(a.seconds, 120e-6, 1e-12);
  EXPECT_EQ(a.type + " " + a.shapes, "Relu float32[2,3]");
  EXPECT_TRUE(a.is_of_pass);
  EXPECT_NEAR(profile.by_name.at("b, part 1 of 2").at(0).seconds, 150e-6, 1e-12);
  EXPECT_NEAR(profile.by_shape.at("Relu float32[2,3]"), 120e-6, 1e-12);
  EXPECT_NEAR(profile.feeds, 20e-6, 1e-12);
  EXPECT_NEAR(profile.between, (500 - 20 - 100 - 50 - 150) / 2 * 1e-6, 1e-12);
  EXPECT_EQ(profile.devices, 1);
  EXPECT_EQ(profile.steps, 2);
}

// A trace of a training run has tests between its steps.
TEST(KernelProfile, IsOfTrainingStepsAlone) {
  std::string text = trace_text();
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.rfind(from);
    ASSERT_NE(at, text.npos);
    text.replace(at, from.size(), to);
  };
  replace("step 1", "inference");
  const KernelProfile profile = profile_of(text, "t.json");
  EXPECT_NEAR(profile.by_name.at("a").at(0).seconds, 100e-6, 1e-12) << "of the first run";
  EXPECT_EQ(profile.steps, 1);
  replace("step 1", "inference");
  expect_error([&] { profile_of(text, "t.json"); }, "has no times of operators in a training step");
}

// Layouts differ between machines; shapes of one name differ between batches.
TEST(KernelProfile, HasATimeForEachShape) {
  std::string text = trace_text();
  text.replace(text.find("y: float32[2,3]"), 15, "y: float32[4,3]/c16, n: int64[2]");
  const KernelProfile profile = profile_of(text, "t.json");
  ASSERT_EQ(profile.by_name.at("a").size(), 2U);
  EXPECT_EQ(profile.by_name.at("a").at(0).shapes, "float32[2,3]");
  EXPECT_EQ(profile.by_name.at("a").at(1).shapes, "float32[4,3], int64[2]");
  EXPECT_NEAR(profile.by_name.at("a").at(1).seconds, 100e-6, 1e-12);
}

TEST(KernelProfile, RefusesOtherFiles) {
  expect_error([] { profile_of("{", "t.json"); }, "t.json: is no trace of Lockstep", "--trace");
  expect_error([] { profile_of("[]", "t.json"); }, "t.json: is no trace");
  expect_error([] { profile_of(trace_text("other/1"), "t.json"); }, "its schema is 'other/1'");
  expect_error(
      [] {
        profile_of(R"({"otherData":{"schema":"lockstep.trace/1"},"traceEvents":[]})", "t.json");
      },
      "has no times of operators");
  const SourcedModel source = source_of(small_mlp(1), 3);
  Cluster cluster = cluster_of(1, 1, 1, false);
  cluster.flops = cluster.bandwidth = 0;
  cluster.profile = "t.json";
  KernelTimes times(cluster, profile_of(trace_text(), "t.json"));
  expect_error([&] { replica_step(source, plan_of_step(source), times); },
               "t.json: has no time of ", "DEVICE.FLOPS", "two.yaml");
}

TEST(MeasuredLinks, OfCopiesArePositive) {
  const LinkMeasurement quick{.large = 1 << 16, .small_messages = 5, .large_messages = 2};
  const Cluster cluster =
      measured_cluster(nullptr, cpu_devices(2), {1e9, 1e9}, all_kernels(), quick);
  const Link& link = cluster.link(LinkKind::within).speed;
  EXPECT_GT(link.latency, 0);
  EXPECT_LT(link.latency, 0.1);
  EXPECT_GT(link.bandwidth, 1e6);
  EXPECT_EQ(cluster.devices, 2);
  const Cluster again = parse_cluster(yaml_of(cluster), "again.yaml");
  EXPECT_EQ(again.link(LinkKind::within).speed.latency, link.latency);
  EXPECT_EQ(again.link(LinkKind::within).speed.bandwidth, link.bandwidth);
}

}  // namespace
}  // namespace lockstep::testing
