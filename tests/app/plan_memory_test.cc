// SPDX-License-Identifier: Apache-2.0
// The memory that a plan needs against a limit, and advice on how to need less.
#include <gtest/gtest.h>

#include "app/pages/memory_advice.h"
#include "app/pages/memory_need.h"
#include "graph/file.h"
#include "graph/limits.h"
#include "tests/support/planned_case.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

TEST(MemoryNeed, IsOfTheProcessOrOfEachGpu) {
  PlannedMemory memory;
  const Plan plan = planned_for_page({"LeNet", small_lenet(2)}, &memory);
  const MemoryNeed need = need_of(plan, memory);
  EXPECT_EQ(need.bytes, memory.all());
  EXPECT_EQ(need.of, "the process");
  EXPECT_EQ(text_of({std::size_t{3} << 30U, "", 0}, std::size_t{2} << 30U),
            "needs 3 GiB, has 2 GiB: 1 GiB too little");
  EXPECT_EQ(text_of({std::size_t{1} << 30U, "", 0}, std::size_t{2} << 30U),
            "needs 1 GiB, has 2 GiB: 1 GiB to spare");
  EXPECT_EQ(text_of({std::size_t{1} << 30U, "", 0}, 0), "needs 1 GiB");

  const Plan on_gpus = planned_for_page({"MLP", small_mlp(2), true}, &memory);
  const MemoryNeed of_one = need_of(on_gpus, memory);
  EXPECT_TRUE(of_one.of == "gpu:0" || of_one.of == "gpu:1") << of_one.of;
  EXPECT_LT(of_one.bytes, memory.all());
  EXPECT_GE(2 * of_one.bytes, memory.all() - memory.scratch - memory.loader);

  const std::vector<LargeValue> largest = largest_values(plan, need.worker, 10);
  ASSERT_EQ(largest.size(), 10U);
  for (std::size_t i = 1; i < largest.size(); ++i)
    EXPECT_GE(largest[i - 1].bytes, largest[i].bytes);
  for (const Block& block : plan.blocks) {
    if (block.worker == need.worker) {
      EXPECT_LE(block.bytes, largest[0].bytes);
    }
  }
}

// The need as `lockstep plan` predicts it.
MemoryNeed need_with(const ModelRequest& request, const std::vector<KernelTable>& kernels,
                     PlannedMemory* memory = nullptr) {
  const SourcedModel source = model_from(request);
  const CompileRequest compiled = plan_request(source, false, devices_of(source, false), kernels);
  const Plan plan = compile(compiled);
  const PlannedMemory planned = memory_with_loader(source, compiled, plan);
  if (memory) *memory = planned;
  return need_of(plan, planned);
}

std::string lines_of(const std::vector<std::string>& advice) {
  std::string all;
  for (const std::string& each : advice) all += each + "\n";
  return all;
}

// Each piece of advice is planned; a step that fits needs none.
TEST(MemoryNeed, AdviceIsPlanned) {
  const ModelRequest request{.source = "lenet", .settings = {"DEVICES", "cpu*2"}, .batch = 64};
  const std::size_t needs = need_with(request, all_kernels()).bytes;
  EXPECT_TRUE(memory_advice(request, false, all_kernels(), needs, needs).empty());
  const std::string advice =
      lines_of(memory_advice(request, false, all_kernels(), needs, needs * 9 / 10));
  EXPECT_NE(advice.find("--batch 32: needs "), advice.npos) << advice;
  EXPECT_NE(advice.find("which fits"), advice.npos) << advice;
}

// Kernels of emulated GPUs, which all_kernels() does not have.
TEST(MemoryNeed, AdviceIsPlannedWithThePlansKernels) {
  const ModelRequest request{.source = "lenet", .settings = {"DEVICES", "gpu*2"}, .batch = 64};
  const std::vector<KernelTable>& kernels = queued_kernels();
  const std::size_t needs = need_with(request, kernels).bytes;
  ModelRequest smaller = request;
  smaller.batch = 32;
  const std::string advice =
      lines_of(memory_advice(request, false, kernels, needs, needs * 9 / 10));
  const std::string expected =
      join("--batch 32: needs ", text_of_bytes(need_with(smaller, kernels).bytes), ", ");
  EXPECT_NE(advice.find(expected), advice.npos) << expected << " is missing in " << advice;
}

// The loader of a configuration reads minibatches ahead, in the plan and in the advice.
TEST(MemoryNeed, NeedsTheMemoryOfItsLoader) {
  const TemporaryFolder folder;
  write_file(folder / "config.yaml", kTrainingConfig);
  const ModelRequest request{.source = folder / "config.yaml", .batch = 512};
  PlannedMemory memory;
  const std::size_t needs = need_with(request, all_kernels(), &memory).bytes;
  EXPECT_GT(memory.loader, needs / 3);
  const std::vector<std::string> advice =
      memory_advice(request, false, all_kernels(), needs, needs / 2);
  ModelRequest smaller = request, parts = request;
  smaller.batch = 256;
  parts.settings = {"TRAIN.MICRO_BATCHES", "2"};
  for (const auto& [name, changed] :
       {std::pair("--batch 256", smaller), std::pair("TRAIN.MICRO_BATCHES 2", parts)}) {
    const std::size_t needed = need_with(changed, all_kernels(), &memory).bytes;
    EXPECT_GT(memory.loader, std::size_t{0});
    const std::string expected = join(name, ": needs ", text_of_bytes(needed), ", ");
    EXPECT_NE(lines_of(advice).find(expected), std::string::npos)
        << expected << " is missing in " << lines_of(advice);
  }
}

}  // namespace
}  // namespace lockstep::testing
