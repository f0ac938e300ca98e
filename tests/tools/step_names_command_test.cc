// SPDX-License-Identifier: Apache-2.0
// A step under another framework's names, by command.
#include <gtest/gtest.h>

#include <filesystem>

#include "lockstep/error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using StepNamesCommand = TrainingCommand;

TEST_F(StepNamesCommand, AreThoseOfKerasForItsResNet) {
  const std::string step = folder / "step.onnx";
  const std::string yaml = config("MODEL: {TYPE: resnet50_keras}\nDATA: {NAME: cifar10}\n");
  for (const std::string& source : {std::string("resnet50_keras"), yaml}) {
    const Outcome built = run_lockstep({"build", source, "--names", "keras", "-o", step});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const std::string names = "\n" + run_lockstep({"inspect", step, "--format", "names"}).out;
    for (const char* name : {"resnet50/conv1_conv/Conv2D/ReadVariableOp",
                             "resnet50/conv1_conv/Conv2D", "resnet50/conv1_conv/BiasAdd", "AddN_15",
                             "SGD/SGD/update/ResourceApplyGradientDescent"}) {
      const std::size_t at = names.find(std::string("\n") + name + "\n");
      EXPECT_NE(at, names.npos) << name << " of " << source;
      EXPECT_EQ(names.find(std::string("\n") + name + "\n", at + 1), names.npos) << "only once";
    }
  }
  EXPECT_EQ(run_lockstep({"plan", step, "--devices", "cpu", "--threads", "1"}).exit_code, 0);
  const Outcome summary = run_lockstep({"inspect", step, "--all"});
  EXPECT_NE(summary.out.find("conv1_conv/kernel"), std::string::npos) << "a state keeps its name";
}

// Auxiliary devices have no replica's scope, so their nodes get no names there.
TEST_F(StepNamesCommand, LeaveOutAuxiliaryDevices) {
  const std::string step = folder / "step.onnx";
  const Outcome built =
      run_lockstep({"build", "resnet50_keras", "--names", "keras", "--devices", "cpu*2",
                    "--aux-devices", "cpu*2", "--all-reduce", "psgpu#2", "-o", step});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const std::string names = run_lockstep({"inspect", step, "--format", "names"}).out;
  for (const char* scope : {"cpu_0/", "cpu_1/"})
    EXPECT_NE(names.find(join("\n", scope, "resnet50/conv1_conv/Conv2D\n")), names.npos) << scope;
}

TEST_F(StepNamesCommand, OtherModelsAndNamesAreRefused) {
  const std::string step = folder / "step.onnx";
  const auto refused = [&](const std::string& source, const std::string& names,
                           const std::vector<std::string>& parts) {
    expect_refused(run_lockstep({"build", source, "--names", names, "-o", step}), parts);
    EXPECT_FALSE(std::filesystem::exists(step)) << source;
  };
  refused("lenet", "keras",
          {"--names keras: 'lenet' has no names of this set",
           "models with names of this set: resnet50_keras"});
  refused("resnet50_keras", "kears", {"--names 'kears'", "did you mean 'keras'?"});
  refused("resnet50_keras", "", {"--names ''", "known: keras"});
  const std::string yaml = config();
  refused(yaml, "keras", {"'" + yaml + "' has no names of this set"});
  const std::string other = folder / "other.onnx";
  ASSERT_EQ(run_lockstep({"build", "lenet", "-o", other}).exit_code, 0);
  refused(other, "keras", {"'" + other + "' has no names of this set"});
}

}  // namespace
}  // namespace lockstep::testing
