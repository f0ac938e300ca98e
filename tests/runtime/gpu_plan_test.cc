// Plans for GPUs, made by the GPU's own kernels, without one.
#include <gtest/gtest.h>

#include "builders/data_parallel.h"
#include "models/models.h"
#include "operators/all.h"
#include "runtime/compile.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

Plan plan_of(const std::string& name, int replicas, DType precision, int64_t batch) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), model_named(name, published_options(name)), {},
                                {.replicas = replicas, .precision = precision});
  std::vector<std::string> feeds, fetches;
  std::vector<Dims> dims;
  for (const Replicated& input : model.inputs)
    for (const std::string& value : input.values) {
      feeds.push_back(value);
      Shape shape = model.step.shape(model.step.at(value));
      if (!shape.empty() && !shape[0].known()) shape[0] = batch;
      dims.push_back(to_dims(shape));
    }
  for (const Replicated& loss : model.losses)
    fetches.insert(fetches.end(), loss.values.begin(), loss.values.end());
  return compile({model.step,
                  feeds,
                  dims,
                  fetches,
                  model.state_values(),
                  model.updates,
                  parse_devices(join("gpu*", replicas)),
                  all_kernels(),
                  {}});
}

TEST(GpuPlan, OfEightGpusNeedsNone) {
  Plan plan = plan_of("lenet", 8, DType::bfloat16, 4);
  for (const PlanStep& step : plan.steps)
    ASSERT_EQ(step.kernel->describe().find("on the host"), std::string::npos) << step.name;
  for (const KernelTable& table : all_kernels())  // a GPU would put its choice of engines in
    if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() > 0) return;
  expect_golden("lenet_8_gpus_bfloat16.plan.txt", text_of(plan));
}

TEST(GpuPlan, OfEveryModelHasNoStepOnTheHost) {
  for (const std::string& name : model_names()) {
    const Plan plan = plan_of(name, 1, DType::float32, 2);
    for (const PlanStep& step : plan.steps)
      ASSERT_EQ(step.kernel->describe().find("on the host"), std::string::npos)
          << name << ": " << step.name;
  }
}

// On 16-bit floats channels lie together from the first convolution to the last pool: what is
// reordered is the batch, each convolution's weight on its way in, and its gradient on its way out.
TEST(GpuPlan, OfResNet50KeepsChannelsTogether) {
  for (DType precision : {DType::bfloat16, DType::float16, DType::float32}) {
    const Plan plan = plan_of("resnet50", 1, precision, 64);
    int reorders = 0, convolutions = 0;
    for (const PlanStep& step : plan.steps) {
      reorders += step.type == "Reorder";
      convolutions += step.type == "Conv";
      EXPECT_EQ(step.kernel->describe().find("on the host"), std::string::npos) << step.name;
    }
    EXPECT_EQ(convolutions, 53);
    if (precision == DType::float32)
      EXPECT_EQ(reorders, 0);
    else
      EXPECT_LE(reorders, 2 * convolutions + 3) << precision;
  }
}

// Clip and its gradient go on with 16 bits and channels together too.
TEST(GpuPlan, OfMobileNetStaysNarrow) {
  const Plan plan = plan_of("mobilenet_v2", 1, DType::bfloat16, 8);
  int casts = 0, reorders = 0;
  for (const PlanStep& step : plan.steps) {
    casts += step.type == "Cast";
    reorders += step.type == "Reorder";
  }
  EXPECT_LE(casts, 2 * 52 + 6);  // weights of 52 convolutions and their gradients; the classifier
  EXPECT_LE(reorders, 2 * 52 + 4);
}

}  // namespace
}  // namespace lockstep::testing
