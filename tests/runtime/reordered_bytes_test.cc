// SPDX-License-Identifier: Apache-2.0
// Steps of published networks reorder less than a hundredth of the bytes that they read and write.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "operators/kit/simd/isa.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"

namespace lockstep::testing {
namespace {

struct PublishedStep {
  const char* name;
  ModelFn (*network)(const ClassifierOptions&);
  int64_t batch;
  bool exact = false;
  int replicas = 1;
  DType precision = DType::float32;
};

Plan plan_of_published(const PublishedStep& step) {
  const ClassifierOptions options{.image = {3, 224, 224}, .classes = 1000};
  const TrainingModel model =
      build_data_parallel_model(all_ops(), step.network(options), MomentumSgd{},
                                {.replicas = step.replicas,
                                 .scope = "cpu",
                                 .rules = {.weight_decay = 0.0001F},
                                 .precision = step.precision});
  return compile(step_request(model,
                              [&](const std::string& feed) {
                                Shape shape = model.step.shape(model.step.at(feed));
                                if (!shape[0].known()) shape[0] = step.batch;
                                return to_dims(shape);
                              },
                              cpu_devices(step.replicas), all_kernels(), {.exact = step.exact}));
}

bool reads_tiles(const Plan& plan) {
  return std::ranges::any_of(plan.slots,
                             [](const Slot& slot) { return slot.desc.layout.is_tiles(); });
}

const std::vector<PublishedStep> kSteps{
    {"ResNet-50", resnet50, 16},
    {"ResNet-50", resnet50, 8},
    {"ResNet-50", resnet50, 16, true},
    {"ResNet-50", resnet50, 16, false, 2},
    {"ResNet-18", resnet18, 16},
    {"ResNet-18", resnet18, 16, true},
    {"VGG16", vgg16, 4},
    {"VGG16", vgg16, 4, true},
    {"MobileNetV2", mobilenet_v2, 16},
    {"ResNet-50", resnet50, 16, false, 1, DType::bfloat16},
    {"ResNet-50", resnet50, 16, false, 2, DType::bfloat16},
    {"ResNet-18", resnet18, 16, false, 1, DType::bfloat16},
    {"VGG16", vgg16, 4, false, 1, DType::bfloat16},
    {"MobileNetV2", mobilenet_v2, 16, false, 1, DType::bfloat16}};

// With `exact`, convolutions are direct, so 3x3 filters are in tiles as well. Small batches have
// some filters in tiles anyway.
TEST(ReorderedBytes, OfPublishedNetworksAreFew) {
  if (!reads_tiles(plan_of_published(kSteps[0]))) {
    ASSERT_NE(isa_here(), Isa::avx512) << "AVX-512's convolutions read tiles";
    GTEST_SKIP() << "skipped: no AVX-512 here, and convolutions read no tiles";
  }
  for (const PublishedStep& step : kSteps) {
    const Plan plan = plan_of_published(step);
    const Traffic traffic = traffic_of(plan);
    EXPECT_LT(100 * traffic.reordered, traffic.bytes)
        << step.name << ", batch " << step.batch << (step.exact ? ", exact" : "") << ", "
        << step.replicas << " replicas, " << name_of(step.precision) << ": " << text_of(traffic);
  }
}

}  // namespace
}  // namespace lockstep::testing
