// SPDX-License-Identifier: Apache-2.0
// Sums on auxiliary devices by command: AUX_DEVICES, --aux-devices.
#include <gtest/gtest.h>

#include "graph/auxiliaries.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using SumsOnAuxiliaries = TrainingCommand;

TEST_F(SumsOnAuxiliaries, SumForReplicas) {
  const std::vector<std::string> psgpu{"ALL_REDUCE", "psgpu", "SOLVER.MAX_ITER", "12"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), psgpu.begin(), psgpu.end());
    return more;
  };
  ASSERT_EQ(train("without", psgpu).exit_code, 0);
  const Outcome beside = train("beside", with({"--aux-devices", "cpu*2", "PRECISION", "float32"}));
  ASSERT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_NE(beside.out.find("mlp on 2 x cpu"), std::string::npos) << beside.out;
  const auto tensors = [&](const std::string& run) {
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  };
  EXPECT_EQ(tensors("beside"), tensors("without"));
  // Resumed without the devices, and tested with them.
  ASSERT_EQ(
      train("cut", {"ALL_REDUCE", "psgpu", "AUX_DEVICES", "cpu", "SOLVER.MAX_ITER", "7"}).exit_code,
      0);
  const Outcome resumed = train("cut", with({"--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed after iteration 7"), std::string::npos) << resumed.out;
  EXPECT_EQ(resumed.out.find("AUX_DEVICES"), std::string::npos) << resumed.out;
  EXPECT_EQ(tensors("cut"), tensors("without"));
  const Outcome tested = run_lockstep({"test", folder / "beside/config.yaml"});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  // Over several processes.
  const std::vector<std::string> words{"launch", "-n",      "2",       "--",  "lockstep",
                                       "train",  config(),  "DEVICES", "cpu", "AUX_DEVICES",
                                       "cpu",    "PACKING", "none"};
  auto over = words;
  const auto more = with({"OUTPUT_DIR", folder / "over"});
  over.insert(over.end(), more.begin(), more.end());
  const Outcome launched = run_lockstep(over);
  ASSERT_EQ(launched.exit_code, 0) << launched.err;
  EXPECT_EQ(tensors("over"), tensors("without"));
}

// Every term sent to them is rounded. A gathering replica rounds all terms but its own.
TEST_F(SumsOnAuxiliaries, ChangeBitsBesideAWireOnly) {
  const auto trained = [&](const std::string& run, const std::string& auxiliaries,
                           const std::string& last, bool resumes = false) {
    std::vector<std::string> words{"ALL_REDUCE",      "psgpu",       "WIRE",
                                   "bfloat16",        "AUX_DEVICES", auxiliaries,
                                   "SOLVER.MAX_ITER", last};
    if (resumes) words.emplace_back("--resume");
    const Outcome outcome = train(run, words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const auto tensors = [&](const std::string& run) {
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  };
  trained("one", "cpu", "12");
  trained("none", "", "12");
  EXPECT_NE(tensors("one"), tensors("none"));
  for (const char* now : {"cpu*2", "cpu:0", ""}) {
    const std::string run = join("cut", std::string(now).size());
    trained(run, "cpu", "7");
    const std::string said = trained(run, now, "12", true);
    EXPECT_NE(said.find("resumed after iteration 7"), std::string::npos) << said;
    const bool differs = *now == 0;
    EXPECT_EQ(said.find("AUX_DEVICES '' instead of cpu: bits may differ") != said.npos, differs)
        << said;
    EXPECT_EQ(said.find("AUX_DEVICES") != said.npos, differs) << said;
    EXPECT_EQ(tensors(run) == tensors("one"), !differs) << now;
  }
}

TEST_F(SumsOnAuxiliaries, AreInTheFileAndThePlan) {
  const std::string step = folder / "step.onnx";
  const std::vector<std::string> build{"build",        "mlp",     "--devices", "cpu*3",
                                       "--all-reduce", "psgpu#2", "-o",        step};
  auto beside = build;
  beside.insert(beside.end(), {"--aux-devices", "cpu*2"});
  ASSERT_EQ(run_lockstep(beside).exit_code, 0);
  const Outcome order = run_lockstep({"inspect", step, "--format", "order"});
  EXPECT_NE(order.out.find(" 4 "), std::string::npos) << order.out;
  const Outcome plan = run_lockstep({"plan", step, "--devices", "cpu*3", "--aux-devices", "cpu*2"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(run_lockstep({"plan", step}).out, plan.out);
  expect_refused(
      run_lockstep({"plan", step, "--devices", "cpu*3"}),
      {"has 3 replicas and 2 auxiliary devices (--aux-devices), but there are 3 devices; "
       "use --devices cpu*3 --aux-devices cpu*2"});

  const auto refused = [&](const std::string& devices, const std::string& auxiliaries,
                           const std::string& spec, const std::vector<std::string>& parts) {
    expect_refused(run_lockstep({"build", "mlp", "--devices", devices, "--aux-devices", auxiliaries,
                                 "--all-reduce", spec, "-o", step}),
                   parts);
  };
  refused("gpu*2", "cpu*2", "psgpu", {"AUX_DEVICES: cpu", "for replicas on gpu", "host's CPU"});
  refused("cpu*2", "gpu", "psgpu", {"AUX_DEVICES: gpu", "for replicas on cpu"});
  refused("cpu*2", "cpu", "xring", {"'xring' has no algorithm that gathers", "pscpu, psgpu"});
  refused("cpu*2", "cpu", "psgpu#2",
          {"psgpu#2 on 1 x 1 auxiliary devices; at most #1 is possible: ask for fewer shards or "
           "more auxiliary devices (AUX_DEVICES, --aux-devices)"});
  refused("cpu*2", "tpu", "psgpu", {"--aux-devices", "tpu"});
  // A GPU with a replica, for a step that is built and for a step from a file.
  const std::string holds = " holds a replica (DEVICES gpu*2)", other = "name another GPU";
  refused("gpu*2", "gpu:2,gpu:1", "psgpu", {"AUX_DEVICES: gpu:1" + holds, other});
  ASSERT_EQ(run_lockstep({"build", "mlp", "--devices", "gpu*2", "--aux-devices", "gpu:2",
                          "--all-reduce", "psgpu", "-o", step})
                .exit_code,
            0);
  for (const std::string& source : {step, config()})
    expect_refused(run_lockstep({"plan", source, "--devices", "gpu*2", "--aux-devices", "gpu:0"}),
                   {"AUX_DEVICES: gpu:0" + holds, other});
  expect_refused(train("run", {"AUX_DEVICES", "cpu"}),
                 {"ALL_REDUCE", "'collective' has no algorithm that gathers", "AUX_DEVICES"});
}

// A network predicts on a single device, regardless of the devices of its training.
TEST_F(SumsOnAuxiliaries, AreNoneOfATrainedNetworks) {
  const Outcome trained =
      train("run", {"ALL_REDUCE", "psgpu", "AUX_DEVICES", "cpu*2", "SOLVER.MAX_ITER", "2"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(auxiliaries_of(load_model(all_ops(), folder / "run/step.onnx").model), 2);
  const std::string plain = folder / "plain.onnx", portable = folder / "portable.onnx";
  ASSERT_EQ(run_lockstep({"export", folder / "run", "-o", plain}).exit_code, 0);
  ASSERT_EQ(run_lockstep({"export", folder / "run", "--portable", "-o", portable}).exit_code, 0);
  for (const std::string& file :
       {folder / "run/model.onnx", folder / "run/best.onnx", plain, portable}) {
    SCOPED_TRACE(file);
    const TrainingModel network = load_model(all_ops(), file).model;
    EXPECT_EQ(auxiliaries_of(network), 0);
    EXPECT_NO_THROW(Session(network, cpu_devices(1), all_kernels()));
    EXPECT_EQ(run_lockstep({"inspect", file}).out.find("auxiliary"), std::string::npos);
  }
}

TEST_F(SumsOnAuxiliaries, AreAsManyAsTheFileHas) {
  const std::string beside = folder / "beside.onnx", without = folder / "without.onnx";
  ASSERT_EQ(run_lockstep({"build", "mlp", "--devices", "cpu*2", "--aux-devices", "cpu*2",
                          "--all-reduce", "psgpu", "-o", beside})
                .exit_code,
            0);
  ASSERT_EQ(run_lockstep({"build", "mlp", "--devices", "cpu*2", "-o", without}).exit_code, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--devices", "cpu*2"},
                                                {"--aux-devices", "cpu*2"},
                                                {"--devices", "cpu*2", "--aux-devices", "cpu*2"}}) {
    std::vector<std::string> inspect{"inspect", beside};
    inspect.insert(inspect.end(), words.begin(), words.end());
    EXPECT_EQ(run_lockstep(inspect).exit_code, 0) << words.size() << words[0];
  }
  expect_refused(
      run_lockstep({"inspect", beside, "--devices", "cpu*2", "--aux-devices", "cpu*1"}),
      {beside, "the step has 2 auxiliary devices, but AUX_DEVICES names 1; name 2 or none"});
  expect_refused(run_lockstep({"inspect", without, "--aux-devices", "cpu*1"}),
                 {without, "the step has 0 auxiliary devices, but AUX_DEVICES names 1; name none"});
}

// A configuration may serve one replica or several, so unused devices are no error.
TEST_F(SumsOnAuxiliaries, WithNothingToDoAreNoted) {
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"build", "mlp", "--aux-devices", "cpu*2", "-o", folder / "s"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome built = run_lockstep(words);
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return built.err;
  };
  const auto note = [](int unused, const std::string& why) {
    return join("lockstep: AUX_DEVICES: ", unused, " of 2 auxiliary devices ",
                unused == 1 ? "has" : "have", " nothing to do: ", why,
                "; name fewer (AUX_DEVICES, --aux-devices)\n");
  };
  const std::string alone = "a step of one replica sums no gradients";
  EXPECT_EQ(said({"--devices", "cpu", "--all-reduce", "psgpu"}), note(2, alone));
  EXPECT_EQ(said({"--devices", "cpu*2", "--all-reduce", "psgpu", "--forward-only"}),
            note(2, "a forward pass alone has no gradients to sum"));
  EXPECT_EQ(said({"--devices", "cpu*2", "--all-reduce", "psgpu", "--packing", "ready:1G:1G"}),
            note(1, "no tensor of this step is summed there"));
  EXPECT_EQ(said({"--devices", "cpu*2", "--all-reduce", "psgpu"}), "");
  const std::vector<std::string> one{"DEVICES",    "cpu",   "AUX_DEVICES",     "cpu*2",
                                     "ALL_REDUCE", "psgpu", "SOLVER.MAX_ITER", "2"};
  const Outcome trained = train("run", one);
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.err.find(note(2, alone)), std::string::npos) << trained.err;
}

}  // namespace
}  // namespace lockstep::testing
