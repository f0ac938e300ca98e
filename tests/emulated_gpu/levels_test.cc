// SPDX-License-Identifier: Apache-2.0
// Sums in two levels on GPUs: by NCCL within a process, and on the host's CPU if the spec says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/on_host.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "tests/emulated_gpu/nccl_calls.h"
#include "tests/emulated_gpu/node_run.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

struct Form {
  std::string spec, wire = "";
  bool mean = false;
  int pieces = 1;
};

TrainingModel model_of(const Form& form, int replicas, int processes, int64_t length) {
  AllReduceOptions options{.spec = parse_all_reduce((form.mean ? "mean:" : "") + form.spec),
                           .pieces = form.pieces,
                           .wire = parse_wire(form.wire),
                           .processes = processes};
  if (form.pieces > 1) options.packing = parse_packing("ready:1k:1k");
  return sum_model(options, replicas, length);
}

TrainingModel part_of(const Form& form, int replicas, int processes, int rank, int64_t length) {
  if (processes == 1) return model_of(form, replicas, 1, length);
  return partition(model_of(form, replicas, processes, length), {rank, processes});
}

// The NCCL calls of `processes` processes with `each` GPUs.
std::vector<NcclCall> calls_of(const Form& form, int processes, int each, int64_t length) {
  const NcclCalls calls;
  over_processes(processes, [&](int rank, Comm* comm) {
    const TrainingModel part = part_of(form, processes * each, processes, rank, length);
    sums_of(part, {each * rank, length, comm, parse_devices(join("gpu*", each))});
  });
  return calls.so_far();
}

// A list may not repeat a device, but two lists may.
std::vector<Device> joined(const std::string& first, const std::string& second) {
  std::vector<Device> devices = parse_devices(first);
  for (const Device& device : parse_devices(second)) devices.push_back(device);
  return devices;
}

int count(const std::vector<NcclCall>& calls, const NcclCall& call) {
  return static_cast<int>(std::ranges::count(calls, call));
}

TEST(ExchangeInLevels, SumsByNcclWithinAProcessAndBroadcastsBack) {
  for (const char* spec : {"nccl/xring", "nccl/rechd", "nccl/pscpu"})
    for (const char* wire : {"", "bfloat16"}) {
      SCOPED_TRACE(join(spec, " ", wire));
      const auto calls = calls_of({spec, wire}, 2, 3, 7);
      const std::string bytes = join(*wire ? 14 : 28, " bytes of 0");
      const int times = count(calls, {"sum", 0, 3, "7 float32"});
      EXPECT_GE(times, 2) << "once in each process";
      for (int rank : {0, 1, 2}) {
        EXPECT_EQ(count(calls, {"sum", rank, 3, "7 float32"}), times) << rank;
        EXPECT_EQ(count(calls, {"broadcast", rank, 3, bytes}), times) << rank;
      }
      EXPECT_EQ(static_cast<int>(calls.size()), 6 * times) << "no other calls";
    }
}

TEST(ExchangeInLevels, OfOneProcessIsASumByNccl) {
  for (const char* wire : {"", "float16"}) {
    const auto calls = calls_of({"nccl/xring", wire}, 1, 3, 7);
    const int times = count(calls, {"sum", 0, 3, *wire ? "7 float16" : "7 float32"});
    EXPECT_GE(times, 1);
    EXPECT_EQ(static_cast<int>(calls.size()), 3 * times);
  }
}

TEST(ExchangeInLevels, OthersCallNoNcclWithinAProcess) {
  for (const char* spec : {"pscpu/xring", "pscpu/pscpu", "pscpu", "collective#2", "psgpu"})
    EXPECT_TRUE(calls_of({spec}, 1, 3, 7).empty()) << spec;
}

TEST(ExchangeInLevels, IsTheNaiveSumOnAnyGpus) {
  for (int processes : {1, 2, 3})
    over_processes(processes, [&](int rank, Comm* comm) {
      for (int each : {1, 2, 3})
        for (const char* spec :
             {"nccl/rechd", "nccl/xring", "nccl/pscpu", "nccl/pscpu#1", "pscpu/rechd",
              "pscpu/xring", "pscpu/pscpu", "pscpu/pscpu#1", "pscpu", "collective#2"})
          for (const Form& form : {Form{spec},
                                   {spec, "float16"},
                                   {spec, "bfloat16", true},
                                   {spec, "", true, 3},
                                   {spec, "bfloat16", false, 3}}) {
            const int replicas = processes * each;
            if (replicas < 2) continue;
            const TrainingModel part = part_of(form, replicas, processes, rank, 13);
            std::vector<std::string> lists{join("gpu*", each), join("gpu:0*", each)};
            if (each == 3) lists.push_back("gpu:0,gpu:1*2");
            for (const std::string& devices : lists) {
              SCOPED_TRACE(join(spec, " on ", processes, " x ", devices, " ", form.wire, ", ",
                                form.pieces, " pieces", form.mean ? ", mean" : ""));
              expect_naive_sums(part, {replicas, form.wire, form.mean},
                                {each * rank, 13, comm, parse_devices(devices)});
            }
          }
    });
}

// A whole step of several processes on the GPUs of one process, in groups that are independent of
// each other.
TEST(ExchangeInLevels, GroupsOfOneProcessDoNotMeet) {
  for (const char* spec : {"nccl/rechd", "nccl/pscpu#2"})
    for (const auto& [first, second] : {std::pair{"gpu:0,gpu:1,gpu:2", "gpu:3,gpu:4,gpu:5"},
                                        {"gpu:0*2,gpu:1", "gpu:0,gpu:2*2"}}) {
      SCOPED_TRACE(join(spec, " on ", first, " and ", second));
      expect_naive_sums(model_of({spec}, 6, 3, 13), {6}, {0, 13, nullptr, joined(first, second)});
    }
}

// GPUs without a replica.
TEST(ExchangeInLevels, AuxiliaryGpusGather) {
  for (int processes : {1, 2})
    over_processes(processes, [&](int rank, Comm* comm) {
      for (const char* spec : {"psgpu", "psgpu#2", "pscpu", "nccl/pscpu", "pscpu/pscpu#1"})
        for (const char* wire : {"", "float16"})
          for (const char* auxiliaries : {"gpu:3,gpu:4", "gpu:0*2"}) {
            const std::string name = spec;
            if (name.find('/') != name.npos && processes == 1) continue;
            SCOPED_TRACE(join(spec, " on ", auxiliaries, " ", wire, " over ", processes));
            const AllReduceOptions options{.spec = parse_all_reduce(spec),
                                           .wire = parse_wire(wire),
                                           .processes = processes,
                                           .auxiliaries = 2};
            TrainingModel model = sum_model(options, 2 * processes, 13);
            if (processes > 1) model = partition(model, {rank, processes});
            expect_naive_sums(model, {2 * processes, wire},
                              {2 * rank, 13, comm, joined("gpu*2", auxiliaries)});
          }
    });
}

TEST(ExchangeInLevels, GatherersLeaveTheirSumsToTheHost) {
  for (const char* spec : {"pscpu", "pscpu/xring", "pscpu/pscpu#2", "nccl/pscpu"}) {
    const Graph graph = sum_graph({.spec = parse_all_reduce(spec), .processes = 2}, 6, {{7}}).graph;
    int asked = 0;
    for (int i = 0; i < graph.node_count(); ++i) {
      const Node node = graph.node(i);
      if (node.type() != "Add" && node.type() != "Sum") continue;
      const std::string how = NodeRun{}.description(node);
      EXPECT_EQ(how.ends_with("on the host"), asks_for_host(node)) << node.name() << ": " << how;
      asked += asks_for_host(node);
    }
    EXPECT_GT(asked, 0) << spec;
  }
}

}  // namespace
}  // namespace lockstep::testing
