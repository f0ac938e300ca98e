// SPDX-License-Identifier: Apache-2.0
// The user's keys and flags for the sums of gradients.
#include <gtest/gtest.h>

#include "runtime/state/safetensors.h"
#include "tests/support/occurrences.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using AllReduceCommand = TrainingCommand;

TEST_F(AllReduceCommand, BucketsArePrintedEditedAndReplayed) {
  ASSERT_EQ(run_lockstep({"build", "lenet", "--devices", "gpu*2", "--packing", "ready:1k:1M", "-o",
                          folder / "step.onnx"})
                .exit_code,
            0);
  Outcome plan = run_lockstep({"inspect", folder / "step.onnx", "--format", "buckets"});
  EXPECT_EQ(plan.out,
            "bucket 20040 bytes: pred_b pred_w\n"
            "bucket 1602000 bytes: fc3_b fc3_w\n"
            "bucket 102280 bytes: conv2_b conv2_w conv1_b conv1_w\n"
            "# before packing: 8 gradients, mean 210 KiB, median 1.95 KiB, total 1.64 MiB\n"
            "# after packing: 3 buckets, mean 561 KiB, median 99.9 KiB, total 1.64 MiB\n");
  write_file(folder / "as_printed.txt", plan.out);
  EXPECT_EQ(run_lockstep({"inspect", "lenet", "--devices", "gpu*2", "--buckets",
                          folder / "as_printed.txt", "--format", "buckets"})
                .out,
            plan.out);
  write_file(folder / "plan.txt",
             "# everything but the first layer\n"
             "bucket 0 bytes: pred_b pred_w fc3_b fc3_w conv2_b conv2_w\n"
             "bucket 0 bytes: conv1_b conv1_w\n");
  ASSERT_EQ(run_lockstep({"build", "lenet", "--devices", "gpu*2", "--buckets", folder / "plan.txt",
                          "-o", folder / "step.onnx"})
                .exit_code,
            0);
  Outcome order = run_lockstep({"inspect", folder / "step.onnx", "--format", "order"});
  EXPECT_NE(order.out.find("gpu_0/bucket_1/whole_sum"), std::string::npos) << order.out;
  EXPECT_EQ(train("packed", {"PACKING", "ready:1k:1M", "SOLVER.MAX_ITER", "7"}).exit_code, 0);
  EXPECT_EQ(train("single", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  EXPECT_EQ(read_safetensors(folder / "packed/checkpoint.safetensors").tensors,
            read_safetensors(folder / "single/checkpoint.safetensors").tensors);
  expect_refused(train("run", {"PACKING", "ready"}), {"packing 'ready'"});
  write_file(folder / "plan.txt", "bucket 0 bytes: pred_b\n");
  expect_refused(train("run", {"BUCKETS", folder / "plan.txt"}),
                 {"BUCKETS " + folder / "plan.txt", "is in no bucket"});
}

TEST_F(AllReduceCommand, AllReduceIsASpecInTheFileOrOnTheCommandLine) {
  Outcome built = run_lockstep({"build", "lenet", "--devices", "gpu*4", "--all-reduce",
                                "simple:100:xring", "-o", folder / "step.onnx"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  Outcome order = run_lockstep({"inspect", folder / "step.onnx", "--format", "order"});
  EXPECT_EQ(order.out.find("AllReduce"), std::string::npos) << "rings are made of Copy and Add";
  EXPECT_NE(order.out.find("conv1_w_grad_all_reduce/3/sum"), std::string::npos) << order.out;
  expect_refused(run_lockstep({"build", "lenet", "--all-reduce", "xrung"}),
                 {"xrung", "did you mean 'xring'"});
  expect_refused(train("run", {"ALL_REDUCE", "xring#7"}), {"ALL_REDUCE", "at most #2"});
  expect_refused(train("run", {"ALL_REDUCE", "pscpu#2/pscpu"}), {"ALL_REDUCE", "second level"});
  expect_refused(train("run", {"ALL_REDUCE", "nccl/rechd#2"}), {"cannot have a number of shards"});
  expect_refused(train("run", {"ALL_REDUCE", "pscpu/pscpu#2"}), {"ALL_REDUCE", "at most #1"});
  expect_refused(train("run", {"ALL_REDUCE", "collective#1025"}), {"at most #1024"});
  for (const char* spec : {"collective#3", "nccl/pscpu", "pscpu/rechd"})
    EXPECT_EQ(train("run", {"ALL_REDUCE", spec, "SOLVER.MAX_ITER", "3"}).exit_code, 0) << spec;
  EXPECT_EQ(train("run", {"ALL_REDUCE", "rechd", "SOLVER.MAX_ITER", "3"}).exit_code, 0);
  EXPECT_EQ(train("run", {"ALL_REDUCE", "mean:rechd", "SOLVER.MAX_ITER", "3"}).exit_code, 0);
  expect_refused(train("run", {"ALL_REDUCE", "mean:rechd", "TRAIN.BATCH_SIZE", "17"}),
                 {"command line: ALL_REDUCE mean:rechd", "equal shares", "TRAIN.BATCH_SIZE 17",
                  "2 replicas of DEVICES cpu*2"});
  expect_refused(train("run", {"ALL_REDUCE", "mean:rechd", "TRAIN.BATCH_SIZE", "18",
                               "TRAIN.MICRO_BATCHES", "2"}),
                 {"TRAIN.BATCH_SIZE 18", "and their TRAIN.MICRO_BATCHES"});
}

TEST_F(AllReduceCommand, APackingIsSummedUpForDebugging) {
  const std::string before = "before packing: 6 gradients, ";
  const std::vector<std::string> words{"SOLVER.MAX_ITER", "1", "PACKING", "ready:1k:1M"};
  const auto said = [&](const std::string& run, std::vector<std::string> more) {
    more.insert(more.end(), words.begin(), words.end());
    const Outcome trained = train(run, more);
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    return trained.out + trained.err;
  };
  const std::string debugged = said("debugged", {"--debug"});
  EXPECT_EQ(occurrences(debugged, before), 1) << debugged;
  EXPECT_EQ(occurrences(debugged, "after packing: 2 buckets, "), 1) << debugged;
  EXPECT_EQ(occurrences(said("plain", {}), before), 0);
  EXPECT_EQ(occurrences(said("alone", {"--debug", "DEVICES", "cpu"}), before), 0)
      << "nothing is packed";
}

TEST_F(AllReduceCommand, SumsOfConsecutiveGradientsHaveOneScope) {
  const auto names = [&](const std::string& source, std::vector<std::string> more) {
    more.insert(more.begin(), {"build", source, "--devices", "cpu*2", "-o", folder / "step.onnx"});
    const Outcome built = run_lockstep(more);
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return "\n" + run_lockstep({"inspect", folder / "step.onnx", "--format", "names"}).out;
  };
  const std::string last = "\nallreduce_1/fc1_b_grad_all_reduce\n";
  EXPECT_EQ(names("mlp", {}).find("allreduce_"), std::string::npos);
  EXPECT_EQ(names("mlp", {}), names("mlp", {"--merge-scope", "1"}));
  EXPECT_NE(names("mlp", {"--merge-scope", "4"}).find(last), std::string::npos);
  const std::string path = config("MODEL: {TYPE: mlp}\nMERGE_SCOPE: 4\n");
  EXPECT_NE(names(path, {}).find(last), std::string::npos);
  EXPECT_EQ(names(path, {"MERGE_SCOPE", "1"}).find("allreduce_"), std::string::npos);

  EXPECT_EQ(train("merged", {"MERGE_SCOPE", "3", "SOLVER.MAX_ITER", "7"}).exit_code, 0);
  EXPECT_EQ(train("single", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  EXPECT_EQ(read_safetensors(folder / "merged/checkpoint.safetensors").tensors,
            read_safetensors(folder / "single/checkpoint.safetensors").tensors);
  // A resumed run may use another value.
  EXPECT_EQ(train("merged", {"--resume", "MERGE_SCOPE", "2", "SOLVER.MAX_ITER", "14"}).exit_code,
            0);
  EXPECT_EQ(train("single", {"--resume", "SOLVER.MAX_ITER", "14"}).exit_code, 0);
  EXPECT_EQ(read_safetensors(folder / "merged/checkpoint.safetensors").tensors,
            read_safetensors(folder / "single/checkpoint.safetensors").tensors);
  expect_refused(train("run", {"MERGE_SCOPE", "0"}),
                 {"MERGE_SCOPE is '0'", "should be at least 1"});
  expect_refused(train("run", {"--merge-scope", "few"}), {"--merge-scope", "'few'"});
}

// Replicas may differ if nothing is summed.
TEST_F(AllReduceCommand, AStepWithoutSumsTrains) {
  const std::vector<std::string> words{"--all-reduce",      "trivial", "SOLVER.MAX_ITER", "5",
                                       "TRAIN.DRIFT_ITERS", "2"};
  const std::string said =
      "lockstep: ALL_REDUCE trivial sums no gradients, so the replicas will differ: they are not "
      "compared\n";
  const Outcome several = train("several", words);
  EXPECT_EQ(several.exit_code, 0) << several.err;
  EXPECT_NE(several.err.find(said), std::string::npos) << several.err;
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--devices", "cpu"});
  const Outcome alone = train("alone", more);
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.err.find("sums no gradients"), std::string::npos) << "there is nothing to sum";
}

// The first rank that sends to replica 1: its predecessor in the ring.
TEST_F(AllReduceCommand, TheOrderOfARingIsAKeyOrAFlag) {
  auto heard_by_1 = [&](const std::string& source, std::vector<std::string> more) {
    more.insert(more.begin(), {"build", source, "--devices", "gpu*4", "--all-reduce", "xring", "-o",
                               folder / "step.onnx"});
    Outcome built = run_lockstep(more);
    EXPECT_EQ(built.exit_code, 0) << built.err;
    const std::string text =
        run_lockstep({"inspect", folder / "step.onnx", "--format", "text"}).out;
    const std::string before = "pred_b_grad_all_reduce/1/copy = ai.lockstep.Copy(";
    const auto at = text.find(before);
    return at == text.npos ? "nobody" : text.substr(at + before.size(), 24);
  };
  EXPECT_EQ(heard_by_1("mlp", {}), "pred_b_grad_all_reduce/0");
  EXPECT_EQ(heard_by_1("mlp", {"--ring-order", "0,2,1,3"}), "pred_b_grad_all_reduce/2");
  const std::string path = config("MODEL: {TYPE: mlp}\nRING_ORDER: [0, 3, 1, 2]\nDEVICES: cpu\n");
  EXPECT_EQ(heard_by_1(path, {}), "pred_b_grad_all_reduce/3");
  EXPECT_EQ(heard_by_1(path, {"--ring-order", "3,2,1,0"}), "pred_b_grad_all_reduce/2");

  expect_refused(run_lockstep({"build", "mlp", "--devices", "gpu*4", "--ring-order", "0,x"}),
                 {"--ring-order", "'0,x'"});
  expect_refused(run_lockstep({"build", "mlp", "--devices", "gpu*4", "--ring-order", "0,1"}),
                 {"ring order [0,1]", "replicas 0 to 3"});
  expect_refused(run_lockstep({"train", config("DEVICES: cpu*2\nRING_ORDER: [0, 2]\n")}),
                 {"config.yaml:2: RING_ORDER", "[0,2]", "replicas 0 to 1 once each"});
  expect_refused(run_lockstep({"train", config("DEVICES: cpu*2\nRING_ORDER: [0, 4294967297]\n")}),
                 {"RING_ORDER is '[0, 4294967297]'", "should be at most 4095"});
  for (const char* key : {"CLIP_NORM", "CLIP_EACH_NORM", "CLIP_VALUE"})
    expect_refused(train("run", {std::string("SOLVER.") + key, ".inf"}),
                   {std::string("SOLVER.") + key + " is '.inf', should be finite"});
  expect_refused(run_lockstep({"train", config("RING_ORDER: [-1]\n")}),
                 {"config.yaml:1: RING_ORDER is '[-1]'", "should be at least 0"});
}

TEST_F(AllReduceCommand, FlagsOfBuildReplaceAConfigurationsKeys) {
  const std::string path = config("MODEL: {TYPE: mlp}\nDEVICES: cpu*4\nPACKING: none\n");
  auto built = [&](std::vector<std::string> more, const char* format) {
    more.insert(more.begin(), {"build", path, "-o", folder / "step.onnx"});
    Outcome outcome = run_lockstep(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return run_lockstep({"inspect", folder / "step.onnx", "--format", format}).out;
  };
  auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  };
  EXPECT_FALSE(has(built({}, "text"), "float16"));
  EXPECT_TRUE(has(built({"--wire", "float16"}, "text"), "float16"));
  EXPECT_TRUE(has(built({"--precision", "bfloat16"}, "text"), "bfloat16"));
  EXPECT_TRUE(has(built({"--all-reduce", "rechd"}, "text"), "ai.lockstep.Copy"));
  EXPECT_FALSE(has(built({"--devices", "cpu"}, "text"), "AllReduce"));
  EXPECT_TRUE(has(built({"--packing", "ready:1G:1G"}, "buckets"), "pred_b pred_w fc2_b"));
  EXPECT_TRUE(has(built({"--all-reduce", "auto", "--topology", "1000ms:1G"}, "buckets"), " 2e+03"));
  write_file(folder / "plan.txt", built({"--packing", "ready:1G:1G"}, "buckets"));
  EXPECT_TRUE(has(built({"--buckets", folder / "plan.txt"}, "buckets"), "pred_b pred_w fc2_b"));
}

TEST_F(AllReduceCommand, ARingInAnotherOrderTrainsAlike) {
  const std::vector<std::string> plain{"--devices", "cpu*4",           "ALL_REDUCE",
                                       "xring",     "SOLVER.MAX_ITER", "10"};
  std::vector<std::string> other = plain;
  other.insert(other.end(), {"RING_ORDER", "[0, 2, 1, 3]"});
  ASSERT_EQ(train("plain", plain).exit_code, 0);
  Outcome outcome = train("other", other);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto a = read_safetensors(folder / "plain/checkpoint.safetensors").tensors,
             b = read_safetensors(folder / "other/checkpoint.safetensors").tensors;
  EXPECT_NE(a, b) << "another order of sums";
  for (const auto& [name, value] : a) {
    const auto ours = value.values<float>(), theirs = b.at(name).values<float>();
    for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 1e-5) << name;
  }
}

}  // namespace
}  // namespace lockstep::testing
