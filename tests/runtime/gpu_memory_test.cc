// SPDX-License-Identifier: Apache-2.0
// A step on a GPU allocates no memory after the first two runs. The second run is recorded.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "runtime/cuda/accelerator.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TEST(GpuMemory, AHundredStepsTakeNone) {
  if (cuda_accelerator().devices() == 0) GTEST_SKIP() << "skipped: no GPU";
  const TrainingModel model = small_lenet(2);
  Session session(model, parse_devices("gpu:0*2"), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 16, 5, {1, 28, 28});
  int64_t taken = 0;
  for (int64_t step = 0; step < 102; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    if (step == 1) taken = cuda_allocations();
  }
  EXPECT_GT(taken, 0);
  EXPECT_EQ(cuda_allocations(), taken);
}

}  // namespace
}  // namespace lockstep::testing
