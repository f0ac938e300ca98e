// SPDX-License-Identifier: Apache-2.0
// Sums in two levels, within processes and across processes, and sums in subdivisions.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/group.h"
#include "graph/on_host.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

Graph graph_of(const std::string& spec, int replicas, int processes, const std::string& wire = "") {
  return sum_graph(
             {.spec = parse_all_reduce(spec), .wire = parse_wire(wire), .processes = processes},
             replicas, {{12}})
      .graph;
}

std::map<std::string, int> counts(const Graph& graph) {
  std::map<std::string, int> found;
  for (int i = 0; i < graph.node_count(); ++i) ++found[graph.node(i).type()];
  return found;
}

std::vector<std::vector<int>> groups(const Graph& graph, const std::string& type) {
  std::vector<std::vector<int>> found;
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).type() == type) found.push_back(group_of(graph.node(i)));
  return found;
}

TEST(Levels, TheReplicasOfAProcessMeetInNodesOfTheirOwn) {
  using Groups = std::vector<std::vector<int>>;
  for (const std::string across : {"rechd", "xring", "pscpu"}) {
    SCOPED_TRACE(across);
    const Graph two = graph_of("nccl/" + across, 6, 2);
    EXPECT_EQ(groups(two, "AllReduce"), (Groups{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(groups(two, "Broadcast"), (Groups{{0, 1, 2}, {3, 4, 5}}));
    for (int i = 0; i < two.node_count(); ++i) {
      const Node node = two.node(i);
      if (node.type() == "AllReduce") {
        EXPECT_EQ(read_all_reduce(node.attributes()).order, SumOrder::any);
      } else if (node.type() == "Broadcast") {
        EXPECT_EQ(read_broadcast(node.attributes()), BroadcastPath::any);
      } else if (node.type() == "Copy" || node.type() == "Add") {
        EXPECT_EQ(node.replica() % 3, 0) << "only first replicas exchange between processes";
      }
    }
    const Graph one = graph_of("nccl/" + across, 3, 1);
    EXPECT_EQ(groups(one, "AllReduce"), (Groups{{0, 1, 2}}));
    EXPECT_EQ(counts(one).count("Broadcast"), 0u) << "all have the sum";
    const Graph alone = graph_of("nccl/" + across, 3, 3);
    EXPECT_EQ(counts(alone).count("AllReduce") + counts(alone).count("Broadcast"), 0u);
    const Graph copies = graph_of("pscpu/" + across, 6, 2);
    EXPECT_EQ(counts(copies).count("AllReduce") + counts(copies).count("Broadcast"), 0u);
  }
}

// The replicas that sum for others by nodes with a host request.
std::vector<int> hosts(const Graph& graph) {
  std::set<int> found;
  for (int i = 0; i < graph.node_count(); ++i)
    if (asks_for_host(graph.node(i))) found.insert(graph.node(i).replica());
  return {found.begin(), found.end()};
}

TEST(Levels, ThoseOnCpusAskForTheHost) {
  using Ints = std::vector<int>;
  EXPECT_EQ(hosts(graph_of("pscpu", 3, 1)), (Ints{0}));
  EXPECT_EQ(hosts(graph_of("pscpu#2", 6, 3)), (Ints{0, 4}));
  EXPECT_EQ(hosts(graph_of("pscpu/pscpu", 6, 3)), (Ints{0, 2, 4}));
  EXPECT_EQ(hosts(graph_of("pscpu/rechd", 4, 2)), (Ints{0, 2}));
  EXPECT_EQ(hosts(graph_of("nccl/pscpu", 6, 3)), (Ints{0, 2, 4}));
  EXPECT_EQ(hosts(graph_of("nccl/pscpu#2", 6, 3)), (Ints{0, 4}));
  EXPECT_EQ(hosts(graph_of("nccl/pscpu#1", 6, 3)), (Ints{0}));
  for (const char* spec : {"collective", "nccl/rechd", "psgpu#2", "simple", "xring", "muji"})
    EXPECT_EQ(hosts(graph_of(spec, 6, 2)), Ints{}) << spec;
}

// The gatherers of three consecutive tensors.
TEST(Levels, ShardsOfTheSecondLevelTakeTurns) {
  const SumGraph sums =
      sum_graph({.spec = parse_all_reduce("nccl/pscpu#2"), .processes = 3}, 6, {{12}, {12}, {12}});
  std::map<std::string, std::set<int>> gatherers;
  for (int i = 0; i < sums.graph.node_count(); ++i) {
    const Node node = sums.graph.node(i);
    if (asks_for_host(node)) gatherers[node.name().substr(0, 2)].insert(node.replica());
  }
  EXPECT_EQ(gatherers,
            (std::map<std::string, std::set<int>>{{"w0", {0, 4}}, {"w1", {0, 2}}, {"w2", {0, 4}}}));
}

TEST(Levels, OnlySumsOfTheFirstReplicasAreNarrowedOnTheirWay) {
  const Graph narrow = graph_of("nccl/xring", 4, 2, "float16");
  for (int i = 0; i < narrow.node_count(); ++i) {
    const Node node = narrow.node(i);
    const DType made = narrow.dtype(node.outputs()[0]);
    if (node.type() == "AllReduce" || node.type() == "Add") {
      EXPECT_EQ(made, DType::float32);
    }
    if (node.type() == "Copy" || node.type() == "Broadcast") {
      EXPECT_EQ(made, DType::float16);
    }
  }
  const Graph one = graph_of("nccl/xring", 4, 1, "float16");
  EXPECT_EQ(counts(one).count("Cast"), 0u) << "the node narrows";
}

TEST(Subdivisions, AreACollectiveEach) {
  for (auto [shards, nodes] : {std::pair{1, 1}, {3, 3}, {12, 12}, {100, 12}}) {
    const Graph graph = graph_of(join("collective#", shards), 4, 2);
    EXPECT_EQ(counts(graph)["AllReduce"], nodes);
    EXPECT_EQ(counts(graph).count("Split"), nodes > 1 ? 1u : 0u);
  }
  const SumGraph uneven = sum_graph({.spec = parse_all_reduce("collective#3")}, 2, {{2, 4}});
  std::vector<Shape> shapes;
  for (int i = 0; i < uneven.graph.node_count(); ++i)
    if (uneven.graph.node(i).type() == "AllReduce")
      shapes.push_back(uneven.graph.shape(uneven.graph.node(i).outputs()[0]));
  EXPECT_EQ(shapes, (std::vector<Shape>{{2}, {2}, {4}}));
}

// -- on real workers

struct Form {
  std::string spec, wire = "";
  int pieces = 1;
  bool mean = false;
};

AllReduceOptions options_of(const Form& form, int processes) {
  AllReduceOptions options{.spec = parse_all_reduce((form.mean ? "mean:" : "") + form.spec),
                           .pieces = form.pieces,
                           .wire = parse_wire(form.wire),
                           .processes = processes};
  if (form.pieces > 1) options.packing = parse_packing("ready:1k:1k");
  return options;
}

const char* const kInLevels[] = {"nccl/rechd",  "nccl/xring",   "nccl/pscpu",  "nccl/pscpu#1",
                                 "pscpu/rechd", "pscpu/xring",  "pscpu/pscpu", "pscpu/pscpu#1",
                                 "pscpu",       "collective#2", "collective#5"};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const char* spec : kInLevels)
    for (const Form& form : {Form{spec},
                             {spec, "float16"},
                             {spec, "bfloat16", 1, true},
                             {spec, "", 3, true},
                             {spec, "bfloat16", 3}})
      all.push_back(form);
  return all;
}

TEST(Levels, AreTheNaiveSumOverProcesses) {
  for (int processes : {1, 2, 3})
    over_processes(processes, [&](int rank, Comm* comm) {
      for (int each : {1, 2, 3})
        for (const Form& form : forms()) {
          const int replicas = processes * each;
          if (replicas < 2 || replicas > 6) continue;
          SCOPED_TRACE(join(form.spec, " on ", processes, " x ", each, " ", form.wire, ", ",
                            form.pieces, " pieces", form.mean ? ", mean" : ""));
          const AllReduceOptions options = options_of(form, processes);
          const TrainingModel whole = sum_model(options, replicas, 13);
          const SumRun run{each * rank, 13, comm};
          const NaiveSum naive{replicas, form.wire, form.mean};
          if (processes == 1)
            expect_naive_sums(whole, naive, run);
          else
            expect_naive_sums(partition(whole, {rank, processes}), naive, run);
        }
    });
}

// On CPUs a process's node adds in the order of replicas, so the bits equal a sum on the first
// replica. A graph for several processes gives the same bits in a single process.
TEST(Levels, HaveTheBitsOfASumOnTheFirstReplica) {
  for (int processes : {1, 2, 3})
    for (int each : {1, 2, 4, 5})
      for (const std::string across : {"rechd", "xring", "pscpu"})
        for (int64_t length : {1, 7, 1000, 70000}) {
          const int replicas = processes * each;
          if (replicas < 2) continue;
          SCOPED_TRACE(join(across, " on ", processes, " x ", each, " of ", length));
          const auto sums = [&](const std::string& spec) {
            return sums_of(sum_model({.spec = parse_all_reduce(spec), .processes = processes},
                                     replicas, length),
                           {0, length});
          };
          const auto expected = sums("pscpu/" + across);
          EXPECT_EQ(sums("nccl/" + across), expected);
          if (across != "pscpu") continue;
          for (int shards = 1; shards <= processes; ++shards)
            for (const char* local : {"nccl", "pscpu"})
              EXPECT_EQ(sums(join(local, "/pscpu#", shards)), expected) << shards;
        }
  for (int processes : {2, 3})
    run_ranks(processes, [&](Comm& comm) {
      for (const char* spec : kInLevels)
        for (const char* wire : {"", "bfloat16"}) {
          SCOPED_TRACE(join(spec, " over ", processes, " ", wire));
          const TrainingModel whole =
              sum_model(options_of({spec, wire}, processes), 2 * processes, 1000);
          const TrainingModel part = partition(whole, {comm.rank(), processes});
          const auto found = sums_of(part, {2 * comm.rank(), 1000, &comm});
          for (const auto& sum : found) ASSERT_EQ(sum, found[0]);
          if (!std::string(spec).starts_with("collective")) {
            ASSERT_EQ(found[0], sums_of(whole, {0, 1000})[0]);
          }
        }
    });
}

// Subdivisions change no bit, with or without buckets.
TEST(Subdivisions, ChangeNoBit) {
  const auto trained = [](const std::string& spec, const char* packing, DType wire) {
    DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce(spec), .wire = wire}};
    options.all_reduce.packing = parse_packing(packing);
    return train(small_mlp(3, MomentumSgd{}, options), 12, 4, {1, 6, 6});
  };
  for (const char* packing : {"none", "ready:100:1k"})
    for (DType wire : {DType::undefined, DType::bfloat16}) {
      const StateValues expected = trained("collective", packing, wire);
      for (const char* spec : {"collective#2", "collective#7", "collective#1024"})
        EXPECT_TRUE(trained(spec, packing, wire) == expected) << spec << " " << packing;
    }
}

}  // namespace
}  // namespace lockstep::testing
