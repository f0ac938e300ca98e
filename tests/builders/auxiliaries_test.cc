// SPDX-License-Identifier: Apache-2.0
// Sums on devices without a replica.
#include "graph/auxiliaries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lockstep/data_parallel.h"
#include "lockstep/model_files.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr const char* kGathering[] = {"pscpu",      "psgpu",       "psgpu#2",       "pscpu#2",
                                      "nccl/pscpu", "pscpu/pscpu", "pscpu/pscpu#2", "nccl/pscpu#1"};

bool in_levels(const std::string& spec) { return spec.find('/') != spec.npos; }

AllReduceOptions options_of(const std::string& spec, int processes, int auxiliaries,
                            const std::string& wire = "") {
  return {.spec = parse_all_reduce(spec),
          .wire = parse_wire(wire),
          .processes = processes,
          .auxiliaries = auxiliaries};
}

std::set<int> places_of_sums(const Graph& graph) {
  std::set<int> places;
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).type() == "Sum" || graph.node(i).type() == "Add")
      places.insert(graph.node(i).replica());
  return places;
}

TEST(Auxiliaries, SumInsteadOfReplicas) {
  using Places = std::set<int>;
  const auto places = [](const AllReduceOptions& options, int replicas) {
    return places_of_sums(sum_graph(options, replicas, {{12}}).graph);
  };
  EXPECT_EQ(places(options_of("psgpu", 1, 1), 3), Places{3});
  EXPECT_EQ(places(options_of("psgpu#3", 1, 3), 4), (Places{4, 5, 6}));
  EXPECT_EQ(places(options_of("pscpu#2", 2, 1), 6), (Places{6, 7}));
  // The places 4, 6, 5, 7, divided into two groups like replicas.
  EXPECT_EQ(places(options_of("psgpu#2", 2, 2), 4), (Places{4, 5}));
  EXPECT_EQ(places(options_of("psgpu#4", 2, 2), 4), (Places{4, 5, 6, 7}));
  EXPECT_EQ(places(options_of("nccl/pscpu", 2, 1), 4), (Places{4, 5})) << "the second level";
  EXPECT_EQ(places(options_of("pscpu/pscpu#1", 2, 1), 4), (Places{0, 2, 4})) << "both levels";
}

TEST(Auxiliaries, TakeTurns) {
  const SumGraph sum = sum_graph(options_of("psgpu", 1, 2), 2, {{12}, {12}, {12}});
  std::vector<int> places;
  for (int i = 0; i < sum.graph.node_count(); ++i)
    if (sum.graph.node(i).type() == "Add") places.push_back(sum.graph.node(i).replica());
  EXPECT_EQ(places.size(), 3u);
  EXPECT_EQ(std::set<int>(places.begin(), places.end()), (std::set<int>{2, 3}));
}

// The bits equal the same algorithm with replicas as gatherers, over processes as well.
TEST(Auxiliaries, GiveTheBitsOfReplicasThatGather) {
  for (int processes : {1, 2, 3})
    over_processes(processes, [&](int rank, Comm* comm) {
      for (int each : {1, 2, 3})
        for (const char* spec : kGathering)
          for (const char* wire : {"", "bfloat16"})
            for (int auxiliaries : {1, 2}) {
              const int replicas = processes * each;
              if (replicas < 2 || replicas > 6 || (in_levels(spec) && processes == 1)) continue;
              const auto shards = parse_all_reduce(spec).ranges[0].shards;
              const bool anywhere = std::string(spec).starts_with("psgpu");
              if (shards > (anywhere ? replicas : processes)) continue;
              if (shards > processes * auxiliaries) continue;
              SCOPED_TRACE(
                  join(spec, " on ", processes, " x ", each, " beside ", auxiliaries, " ", wire));
              const auto sums = [&](int beside) {
                const TrainingModel whole =
                    sum_model(options_of(spec, processes, beside, wire), replicas, 13);
                EXPECT_EQ(places_of(whole), replicas + processes * beside);
                if (processes == 1) return sums_of(whole, {0, 13});
                const TrainingModel part = partition(whole, {rank, processes});
                EXPECT_EQ(places_of(part), each + beside);
                return sums_of(part, {each * rank, 13, comm});
              };
              const auto found = sums(auxiliaries);
              for (const auto& of_replica : found) ASSERT_EQ(of_replica, found[0]);
              const auto expected = sums(0);
              // Without a wire. With one, a gathering replica rounds every term but its own.
              if (*wire == 0) {
                ASSERT_EQ(found, expected);
              }
              for (std::size_t i = 0; i < found[0].size(); ++i)
                ASSERT_NEAR(found[0][i], expected[0][i], *wire ? 0.05 : 0);
            }
    });
}

TrainingModel small(const std::string& spec, int auxiliaries, DataParallelOptions options = {}) {
  options.all_reduce = options_of(spec, 1, auxiliaries);
  return small_mlp(3, MomentumSgd{}, options);
}

TEST(Auxiliaries, TrainTheSameStates) {
  for (const char* spec : {"psgpu", "pscpu", "psgpu#2"})
    for (const DataParallelOptions& options : {DataParallelOptions{},
                                               {.micro_batches = 2},
                                               {.precision = DType::bfloat16},
                                               {.deferred = true}}) {
      const auto trained = [&](int auxiliaries) {
        const std::string name = auxiliaries == 0 ? std::string(spec).substr(0, 5) : spec;
        return train(small(name, auxiliaries, options), 12, 4, {1, 6, 6});
      };
      EXPECT_TRUE(trained(2) == trained(0)) << spec;
    }
}

TEST(Auxiliaries, AreKeptInFilesAndNeedDevices) {
  const TemporaryFolder folder;
  save_model(small("psgpu", 2), folder / "step.onnx");
  const TrainingModel model = load_model(all_ops(), folder / "step.onnx").model;
  EXPECT_EQ(auxiliaries_of(model), 2);
  EXPECT_EQ(places_of(model), 5);
  expect_error([&] { Session(model, cpu_devices(3), all_kernels()); },
               "3 replicas and 2 auxiliary devices but 3 devices were given");
  EXPECT_EQ(auxiliaries_of(small("psgpu", 0)), 0);
  TrainingModel changed = small("psgpu", 2);
  set_auxiliaries(changed, 0);
  EXPECT_EQ(auxiliaries_of(changed), 0);
  for (const int count : {-1, 4097})
    expect_error([&] { set_auxiliaries(changed, count); }, join(count, " auxiliary devices; 0 to"));
  TrainingModel wrong = small("psgpu", 1);
  for (const char* text : {"-1", "x", "1.5", "", "99999999999"}) {
    wrong.metadata["auxiliary devices"] = text;
    expect_error([&] { auxiliaries_of(wrong); }, "metadata: 'auxiliary devices' is '", text,
                 "should be a number from 0 to 4096; build the step again, with --aux-devices");
  }
}

TEST(Auxiliaries, MustHaveSomethingToDo) {
  for (const char* spec : {"collective", "xring", "nccl/rechd", "auto", "muji"})
    expect_error([&] { small(spec, 1); }, spec, "has no algorithm that gathers", "pscpu, psgpu",
                 "AUX_DEVICES");
  EXPECT_NO_THROW(small("collective:1k:psgpu", 1));
  expect_error([&] { small("psgpu#3", 2); }, "psgpu#3 on 1 x 2 auxiliary devices; at most #2",
               "ask for fewer shards or more auxiliary devices (AUX_DEVICES, --aux-devices)");
  expect_error([&] { small("psgpu", -1); }, "-1 auxiliary devices");
}

TEST(Auxiliaries, AreUnusedWhereNoNodeIsPlacedOnThem) {
  const auto unused = [](const std::string& spec, int replicas, DataParallelOptions options = {}) {
    options.all_reduce = options_of(spec, 1, 3);
    return unused_auxiliaries(small_mlp(replicas, MomentumSgd{}, options));
  };
  EXPECT_EQ(unused("psgpu", 2), 0);
  EXPECT_EQ(unused("psgpu", 1), 3) << "nothing is summed";
  EXPECT_EQ(unused("psgpu", 2, {.forward_only = true}), 3);
  EXPECT_EQ(unused("psgpu:1:collective", 2), 3) << "no gradient fits this limit";
  EXPECT_EQ(unused_auxiliaries(small_mlp(2)), 0) << "no auxiliary devices";
}

}  // namespace
}  // namespace lockstep::testing
