// SPDX-License-Identifier: Apache-2.0
// The GPU's accelerator (runtime/cuda) over an emulated runtime that delays each operation as long
// as CUDA may.
#include "runtime/cuda/accelerator.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/accelerator.h"
#include "runtime/memory.h"

namespace lockstep::testing {
namespace {

constexpr Device kGpu{DeviceKind::gpu, 0};

// Queues do not wait for copies outside the queues.
TEST(EmulatedAccelerator, ACopyHasLandedWhenItReturns) {
  Accelerator& gpu = cuda_accelerator();
  const std::vector<float> values{1, 2, 3};
  const std::size_t bytes = values.size() * sizeof(float);
  const Memory there = gpu.allocate(kGpu, bytes, std::byte{0});
  const Memory back = gpu.allocate_host(bytes);
  gpu.copy(there.get(), values.data(), bytes);
  const auto queue = gpu.queue(kGpu);
  queue->copy(back.get(), there.get(), bytes);
  queue->finish();
  const auto* found = reinterpret_cast<const float*>(back.get());
  EXPECT_EQ(std::vector<float>(found, found + 3), values);
}

}  // namespace
}  // namespace lockstep::testing
