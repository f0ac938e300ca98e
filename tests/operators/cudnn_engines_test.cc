// SPDX-License-Identifier: Apache-2.0
// The engines that Lockstep requests from cuDNN, and their order, for GPUs that this machine need
// not have.
#include "operators/conv/cudnn_engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "operators/conv/engine_choices.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

class CudnnEnginesOf : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!cudnn_is_there()) GTEST_SKIP() << "skipped: no cuDNN, the oracle here";
    gpu_.emplace(gpu_named(GetParam()));
  }
  CudnnEngines ask(const Convolution& c) const { return {c, *gpu_, true}; }
  const CudnnGpu& gpu() const { return *gpu_; }

 private:
  std::optional<CudnnGpu> gpu_;
};

// 3x3, 64 channels, the output as large as the input.
Convolution usual(DType type, bool tf32 = false) {
  return {.type = type,
          .channels_last = type != DType::float32 || tf32,
          .x = {8, 64, 28, 28},
          .w = {64, 64, 3, 3},
          .y = {8, 64, 28, 28},
          .strides = {1, 1},
          .dilations = {1, 1},
          .pads_before = {1, 1},
          .pads_after = {1, 1},
          .tf32 = tf32};
}

std::vector<Convolution> for_tensor_cores() {
  std::vector<Convolution> all;
  for (const Convolution& c :
       {usual(DType::bfloat16), usual(DType::float16), usual(DType::float32, true)})
    for (unsigned what = 0; what < 6; ++what) {
      Convolution& made = all.emplace_back(c);
      if (what == 4) made.pass = ConvPass::grad_x;
      if (what == 5) made.pass = ConvPass::grad_w;
      if (what > 3) continue;
      made.bias = what & 1U;
      made.relu = what & 2U;
    }
  Convolution& with_sums = all.emplace_back(usual(DType::bfloat16));
  with_sums.statistics = true;
  Convolution& residual = all.emplace_back(usual(DType::bfloat16));
  residual.bias = residual.addition = residual.relu = true;
  return all;
}

CudnnEnginePtr first_made(CudnnEngines& engines) {
  for (const CudnnEnginePtr& engine : engines.all())
    if (engines.plan_of(engine)) return engine;
  return nullptr;
}

std::string text_of_problem(const Convolution& c) {
  return join(c.type, c.tf32 ? " tf32" : "", " kind ", static_cast<int>(c.pass),
              c.bias ? " bias" : "", c.relu ? " ReLU" : "", c.statistics ? " statistics" : "");
}

// For a ReLU that keeps NaN, cuDNN has a single engine, without tensor cores.
TEST_P(CudnnEnginesOf, TheFirstIsOnTensorCoresWhereTheTypeAsksForThem) {
  for (const Convolution& c : for_tensor_cores()) {
    CudnnEngines engines = ask(c);
    const CudnnEnginePtr first = first_made(engines);
    ASSERT_NE(first, nullptr) << text_of_problem(c) << ": " << engines.refusals();
    EXPECT_TRUE(first->tensor_cores) << text_of_problem(c) << ": " << first->name;
    EXPECT_FALSE(first->fallback) << text_of_problem(c) << ": " << first->name;
    EXPECT_TRUE(first->leaves_epilogue || !c.relu) << text_of_problem(c) << ": " << first->name;
    EXPECT_FALSE(first->compiles && !first->does.only_convolves())
        << text_of_problem(c) << ": " << first->name;
  }
}

// Padded channels of this many images would fill the GPU.
TEST_P(CudnnEnginesOf, NoneIsTakenWhoseWorkspaceIsHuge) {
  Convolution c = usual(DType::bfloat16);
  c.x = c.y = {512, 64, 224, 224};
  c.w[1] = 1;
  CudnnEngines engines = ask(c);
  int made = 0;
  for (const CudnnEnginePtr& engine : engines.all()) {
    const auto plan = engines.plan_of(engine);
    if (!plan) continue;
    ++made;
    EXPECT_LE(plan->workspace, kMostWorkspace) << engine->name;
  }
  EXPECT_GT(made, 0);
  EXPECT_NE(engines.refusals().find("with a workspace of over 4 GiB"), std::string::npos)
      << engines.refusals();
}

TEST_P(CudnnEnginesOf, ExactFloat32HasNoneOnTensorCores) {
  for (bool relu : {false, true}) {
    Convolution c = usual(DType::float32);
    c.bias = c.relu = relu;
    CudnnEngines engines = ask(c);
    EXPECT_NE(first_made(engines), nullptr) << engines.refusals();
    for (const CudnnEnginePtr& engine : engines.all())
      EXPECT_FALSE(engine->tensor_cores) << engine->name;
    EXPECT_NE(engines.refusals().find("reduce float32 to 19 bits"), std::string::npos);
  }
}

// cuDNN's tensor-core engines for a depthwise convolution pad its channels, in a workspace of
// several times the result's size.
TEST_P(CudnnEnginesOf, ADepthwiseConvolutionTakesNoFallback) {
  for (auto pass : {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w}) {
    Convolution c = usual(DType::bfloat16);
    c.w[1] = 1;
    c.pass = pass;
    CudnnEngines engines = ask(c);
    const CudnnEnginePtr first = first_made(engines);
    ASSERT_NE(first, nullptr) << engines.refusals();
    EXPECT_FALSE(first->fallback) << first->name;
  }
}

TEST_P(CudnnEnginesOf, AnEngineIsFoundByItsName) {
  Convolution c = usual(DType::bfloat16);
  c.bias = true;
  CudnnEngines engines = ask(c);
  std::set<std::string> names;
  int whole = 0;
  for (const CudnnEnginePtr& engine : engines.all()) {
    EXPECT_TRUE(names.insert(engine->name).second) << engine->name << " twice";
    EXPECT_EQ(engines.named(engine->name), engine);
    EXPECT_EQ(engine->name.rfind("alone/", 0) == 0, engine->leaves_epilogue) << engine->name;
    EXPECT_EQ(engine->does.bias, !engine->leaves_epilogue);
    whole += !engine->leaves_epilogue;
  }
  EXPECT_GT(names.size(), 20u) << "knobs distinguish the configurations of an engine";
  EXPECT_GT(whole, 0);
  EXPECT_EQ(engines.named("9999:1=2"), nullptr);
  // A second request offers the same engines in the same order.
  CudnnEngines again = ask(c);
  ASSERT_EQ(again.all().size(), engines.all().size());
  for (std::size_t i = 0; i < again.all().size(); ++i)
    EXPECT_EQ(again.all()[i]->name, engines.all()[i]->name);
}

TEST_P(CudnnEnginesOf, AConvolutionSaysWhichEngineItTook) {
  Convolution c = usual(DType::bfloat16);
  c.bias = c.relu = true;
  const Epilogue epilogue{[](cudaStream_t, const ConvolutionData&, void*) {}, 1U << 30U};
  const ConvolutionGpu where{.planned =
                                 std::make_shared<const GpuProperties>(gpu_named(GetParam()))};
  CudnnConvolution own(c, where, epilogue);
  const std::string said = own.describe();
  EXPECT_NE(said.find(" on tensor cores, by cuDNN's heuristics among "), std::string::npos) << said;
  EXPECT_NE(said.find("may lose a NaN in ReLU"), std::string::npos) << said;
  EXPECT_NE(said.find(", then bias, ReLU"), std::string::npos) << said;
  EXPECT_EQ(own.workspace_bytes(), epilogue.workspace_bytes);
  EXPECT_EQ(CudnnConvolution(c, where, epilogue).describe(), said);
  // Without an epilogue, a single engine does everything, even if it is slow.
  const std::string whole = CudnnConvolution(c, where).describe();
  EXPECT_NE(whole.find(", with bias, ReLU"), std::string::npos) << whole;
  expect_error([&] { own.run(nullptr, {}, nullptr); }, "this plan was made without a GPU");
}

TEST_P(CudnnEnginesOf, AKeptEngineIsTaken) {
  TemporaryFolder folder;
  EngineChoices choices(folder.path() + "/engines.txt");
  const auto gpu = std::make_shared<const GpuProperties>(gpu_named(GetParam()));
  Convolution c = usual(DType::bfloat16);
  c.x[0] = c.y[0] = 3;  // a problem that no other test uses
  const std::string taken = ask(c).all().at(7)->name;
  choices.keep(problem_text(c, gpu->name), taken);
  const std::string said = CudnnConvolution(c, {.planned = gpu}, {}, &choices).describe();
  EXPECT_EQ(said, "cudnn engine " + taken.substr(0, taken.find(':')) + " on tensor cores, kept");
  c.x[0] = c.y[0] = 5;
  EXPECT_NE(CudnnConvolution(c, {.planned = gpu}, {}, &choices).describe().find("by cuDNN's"),
            std::string::npos);
  c.x[0] = c.y[0] = 7;
  choices.keep(problem_text(c, gpu->name), "9999:1=2");
  expect_error([&] { CudnnConvolution(c, {.planned = gpu}, {}, &choices); }, choices.path(),
               "cuDNN does not offer engine 9999:1=2 for 'cudnn ", gpu->name, "remove that line");
}

TEST_P(CudnnEnginesOf, AGpusPropertiesAreRead) {
  const std::string json = gpu().json();
  EXPECT_NE(json.find(gpu_named(GetParam()).name), std::string::npos) << json;
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnEnginesOf, ::testing::Values("h200", "a100"),
                         [](const auto& gpu) { return std::string(gpu.param); });

}  // namespace
}  // namespace lockstep::testing
