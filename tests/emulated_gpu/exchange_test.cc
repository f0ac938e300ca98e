// SPDX-License-Identifier: Apache-2.0
// Sums over GPUs and processes by the GPU's kernels, over an emulated NCCL.
#include <gtest/gtest.h>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

// Bits equal the CPU's, except for sums in NCCL's order and for 16 bits on NCCL's wire.
double tolerance(const std::string& spec, const std::string& wire, int replicas) {
  const double rounding = wire.empty() ? 1e-6 : wire == "float16" ? 1e-3 : 1e-2;
  return spec.rfind("nccl", 0) == 0 ? rounding * replicas : 0;
}

void expect_near(const std::vector<std::vector<float>>& found,
                 const std::vector<std::vector<float>>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k], found[0]) << "replicas differ";
    for (std::size_t i = 0; i < found[k].size(); ++i)
      ASSERT_NEAR(found[k][i], expected[k][i], tolerance) << i;
  }
}

TEST(Exchange, OfGpusOfOneProcess) {
  for (const char* wire : {"", "float16", "bfloat16"})
    for (const std::string& spec : kAlgorithms)
      for (int64_t length : {0, 1, 7, 1000, 65537}) {
        SCOPED_TRACE(join(spec, " of ", length, " ", wire));
        const TrainingModel model = sum_model(spec, 4, length, wire);
        const auto expected = sums_of(model, {0, length});
        for (const char* devices : {"gpu*4", "gpu:0*4", "gpu:1*3,gpu:0", "gpu:2,gpu:5*2,gpu:0"})
          expect_near(sums_of(model, {0, length, nullptr, parse_devices(devices)}), expected,
                      tolerance(spec, wire, 4));
      }
}

TEST(Exchange, OfGpusOfSeveralProcesses) {
  for (int processes : {2, 3})
    run_ranks(processes, [&](Comm& comm) {
      const ProcessShare own{comm.rank(), processes};
      for (const char* wire : {"", "float16", "bfloat16"})
        for (const std::string& spec : kAlgorithms)
          for (int64_t length : {0, 1, 7, 1000}) {
            SCOPED_TRACE(join(spec, " of ", length, " ", wire));
            const int replicas = 2 * processes;
            const TrainingModel part = partition(sum_model(spec, replicas, length, wire), own);
            const auto expected = sums_of(part, {2 * own.rank, length, &comm});
            for (const char* devices : {"gpu*2", "gpu:0*2"})
              expect_near(sums_of(part, {2 * own.rank, length, &comm, parse_devices(devices)}),
                          expected, tolerance(spec, wire, replicas));
          }
    });
}

// A part that fails ends its exchange. Earlier calls of NCCL must not become a part of the next
// exchange.
TEST(Exchange, AFailureBetweenPartsLeavesTheNextOneWhole) {
  Graph graph(all_ops(), "sum");
  const TensorType type{DType::float32, {7}};
  all_reduce(graph, {graph.input("a", type), graph.input("b", type)},
             {Reduction::sum, DType::undefined, SumOrder::any}, {"x", "y"});
  const Node node = graph.node(0);
  const std::vector<Device> devices = parse_devices("gpu*2");
  const TensorDesc desc{DType::float32, {7}};
  const KernelTable& table = table_for(all_kernels(), devices[0]);
  const auto kernel = table
                          .choose({.node = node,
                                   .in = {desc, desc},
                                   .out = {desc, desc},
                                   .parts = 2,
                                   .device = devices[0],
                                   .part_devices = devices})
                          .kernel;
  EXPECT_EQ(kernel->describe(), "NCCL over 2 GPUs");
  Accelerator& gpu = *table.accelerator();
  const Memory memory = gpu.allocate(devices[0], desc.bytes(), std::byte{0});
  const std::vector<Tensor> both(2, Tensor{desc, memory.get()});
  const auto queue = gpu.queue(devices[0]);
  const RunContext context;
  kernel->run({both, both, nullptr, context, queue.get()});  // skips the other parts

  const TrainingModel model = sum_model("nccl", 2, 7);
  expect_near(sums_of(model, {0, 7, nullptr, devices}), sums_of(model, {0, 7}),
              tolerance("nccl", "", 2));
}

// A GPU with a queue that waits for another process is notified when the process is lost. The wait
// is aborted, and the error names the process.
TEST(Exchange, ALostProcessIsNamed) {
  for (const std::string spec : {"collective", "nccl", "xring"}) {
    SCOPED_TRACE(spec);
    expect_error(
        [&] {
          run_ranks(2, [&](Comm& comm) {
            const TrainingModel part = partition(sum_model(spec, 2, 1000), {comm.rank(), 2});
            const SumRun run{comm.rank(), 1000, &comm, parse_devices("gpu:0")};
            sums_of(part, run);
            check(comm.rank() == 0, "its GPU fell off the bus");
            sums_of(part, run);
          });
        },
        "cannot exchange '", "with all others", "rank 1 (host ",
        "gave up: its GPU fell off the bus");
  }
}

// The process is lost after several plans recorded exchanges. An abort waits for their recordings.
TEST(Exchange, AProcessLostBehindRecordingsIsNamed) {
  const TrainingModel whole =
      small_mlp(2, MomentumSgd{}, {.all_reduce = {.spec = parse_all_reduce("nccl")}});
  expect_error(
      [&] {
        run_ranks(2, [&](Comm& comm) {
          const TrainingModel part = partition(whole, {comm.rank(), 2});
          Session session(part, parse_devices("gpu:0"), all_kernels(), {1, 1, {}, &comm});
          session.initialise();
          StepFeeds large(part, 8, 5, kSmall, 2), small(part, 4, 5, kSmall, 2);
          for (int64_t step = 0; step < 8; ++step) {
            check(comm.rank() == 0 || step < 7, "its GPU fell off the bus");
            StepFeeds& feeds = step % 2 == 0 ? large : small;
            session.step().run(feeds.at(step, 0.05F),
                               session.run_options(static_cast<uint64_t>(step)));
          }
        });
      },
      "rank 1 (host ", "gave up: its GPU fell off the bus");
}

}  // namespace
}  // namespace lockstep::testing
