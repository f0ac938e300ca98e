// What only a GPU can show. Without one, every test here is listed as skipped.
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const KernelTable& table : all_kernels())
      if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() > 0) return;
    GTEST_SKIP() << "skipped: no GPU";
  }
};

StateValues trained(const TrainingModel& model, const std::string& devices, const Dims& image) {
  Session session(model, parse_devices(devices), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 16, 5, image);
  for (int64_t step = 0; step < 10; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    EXPECT_EQ(find_drift(session), "");
  }
  return session.save();
}

// 1, 2 and 8 replicas on one GPU are the CPU's, and the same again in another run.
TEST_F(Gpu, ReplicasTrainLikeTheCpu) {
  const Dims image{1, 6, 6};
  for (int replicas : {1, 2, 8}) {
    const TrainingModel model = small_mlp(replicas);
    const std::string devices = join("gpu:0*", replicas);
    const StateValues on_gpu = trained(model, devices, image);
    const StateValues on_cpu = trained(model, join("cpu*", replicas), image);
    expect_close(on_cpu, on_gpu, model);
    const auto ours = on_gpu.at("cpu_0/fc1_w").values<float>();
    const auto theirs = on_cpu.at("cpu_0/fc1_w").values<float>();
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(theirs[i], ours[i], 1e-4) << i;
    EXPECT_TRUE(trained(model, devices, image) == on_gpu) << "another run, other bits";
  }
}

// The init graph's bits do not depend on the device.
TEST_F(Gpu, FirstValuesAreTheCpus) {
  const TrainingModel model = small_mlp(2);
  Session cpu(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  Session gpu(model, parse_devices("gpu:0*2"), all_kernels(), {1, 1, {}});
  cpu.initialise();
  gpu.initialise();
  EXPECT_TRUE(cpu.save() == gpu.save());
}

}  // namespace
}  // namespace lockstep::testing
