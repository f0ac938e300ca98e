// SPDX-License-Identifier: Apache-2.0
// Plans for a GPU that this machine lacks.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "operators/conv/cudnn_convolution.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

int lines_with(const std::string& text, const std::string& what, const std::string& also = "") {
  std::istringstream lines(text);
  int found = 0;
  for (std::string line; std::getline(lines, line);)
    found += line.find(what) != std::string::npos && line.find(also) != std::string::npos;
  return found;
}

// On a machine with GPUs, CUDA hides them.
const ProgramOptions no_gpus{.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}}};

Outcome planned(const std::vector<std::string>& more) {
  std::vector<std::string> words{"plan", "lenet", "--devices", "gpu", "--precision", "bfloat16"};
  words.insert(words.end(), more.begin(), more.end());
  return run_lockstep(words, no_gpus);
}

// Five: two forward, two by weights, one by data.
TEST(GpuPlanCommand, SaysWhereEnginesComeFrom) {
  const Outcome h200 = planned({"--gpu", "h200"}), a100 = planned({"--gpu", "a100"});
  ASSERT_EQ(h200.exit_code, 0) << h200.err;
  ASSERT_EQ(a100.exit_code, 0) << a100.err;
  if (!cudnn_is_there()) {
    EXPECT_NE(h200.out.find("cuDNN was not found (libcudnn.so.9)"), std::string::npos);
    EXPECT_EQ(lines_with(h200.out, "cudnn, engine chosen on a device"), 5) << h200.out;
    return;
  }
  EXPECT_EQ(h200.out.rfind("engines of convolutions: cuDNN's for an NVIDIA H200", 0), 0u);
  EXPECT_EQ(lines_with(h200.out, "cudnn engine ", " on tensor cores, by cuDNN's heuristics"), 5)
      << h200.out;
  EXPECT_EQ(a100.out.rfind("engines of convolutions: cuDNN's for an NVIDIA A100", 0), 0u);
  EXPECT_NE(a100.out.find("published figures"), std::string::npos);
  EXPECT_EQ(lines_with(a100.out, "cudnn engine ", " on tensor cores"), 5) << a100.out;
}

TEST(GpuPlanCommand, SaysHowManyBytesEachKindOfStepMoves) {
  const Outcome outcome = planned({});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "kind  ConvGradW: 2 steps, ", " bytes read and written"), 1)
      << outcome.out;
}

TEST(GpuPlanCommand, LeavesEnginesToTheGpuWithoutItsName) {
  const Outcome outcome = planned({});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "engines of convolutions"), 0);
  EXPECT_EQ(lines_with(outcome.out, "cudnn, engine chosen on a device"), 5) << outcome.out;
}

TEST(GpuPlanCommand, BadGpusAreRefused) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/gpu.json";
  std::ofstream(path) << "{\"warpSize\": 32}";
  expect_refused(planned({"--gpu", "h2000"}), {"'h2000' is no known GPU (h200, h100, a100)"});
  expect_refused(planned({"--gpu", path}), {path, "is missing, or not a"});
  expect_refused(run_lockstep({"plan", "lenet", "--gpu", "h200"}),
                 {"--gpu h200 is for plans for GPUs", "cpu:0", "--devices gpu"});
}

TEST(GpuPlanCommand, DoctorSaysWhyThereIsNoGpu) {
  const Outcome properties = run_lockstep({"doctor", "--device-properties"}, no_gpus);
  expect_refused(properties, {"there is no GPU here ("});
  const std::string why = properties.err.substr(properties.err.find("here ("));
  const Outcome doctor = run_lockstep({"doctor"}, no_gpus);
  EXPECT_EQ(lines_with(doctor.out, "GPUs       0: "), 1) << doctor.out;
  EXPECT_EQ(lines_with(doctor.out, "NVRTC      "), 1) << doctor.out;
  EXPECT_NE(doctor.out.find(why.substr(6, why.rfind(')') - 6)), std::string::npos) << doctor.out;
}

}  // namespace
}  // namespace lockstep::testing
