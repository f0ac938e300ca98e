// SPDX-License-Identifier: Apache-2.0
// Timing (runtime/cuda/stopwatch.h) over an emulated runtime.
#include "runtime/cuda/stopwatch.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "runtime/cuda/check.h"

namespace lockstep::testing {
namespace {

std::vector<int> bytes_of(const DeviceBuffer& buffer, std::size_t count) {
  std::vector<std::byte> bytes(count);
  cudaMemcpy(bytes.data(), buffer.data(), count, cudaMemcpyDefault);
  std::vector<int> numbers;
  for (std::byte byte : bytes) numbers.push_back(static_cast<int>(byte));
  return numbers;
}

TEST(EmulatedStopwatch, MemoryRepeatsAPattern) {
  const std::array<std::byte, 3> pattern{std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_EQ(bytes_of(DeviceBuffer(8, pattern), 8), (std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(bytes_of(DeviceBuffer(2, pattern), 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(bytes_of(DeviceBuffer(3), 3), (std::vector<int>{0, 0, 0}));
}

// Two marks around a short run would measure the marks.
TEST(EmulatedStopwatch, ShortWorkIsRunManyTimesInARow) {
  int runs = 0;
  const double seconds = seconds_on_device([&](cudaStream_t) { ++runs; });
  EXPECT_GT(runs, 1 + 1 + 5);
  EXPECT_LT(seconds, 1.0);
}

// Neither the candidate's error nor CUDA's stored error remains.
TEST(EmulatedStopwatch, ACandidateThatCannotRunLeavesNoTrace) {
  const std::size_t more_than_there_is = std::size_t{1} << 45U;
  EXPECT_FALSE(seconds_if_it_runs(more_than_there_is, [](cudaStream_t, void*) {}));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_FALSE(seconds_if_it_runs(1, [](cudaStream_t stream, void* workspace) {
    check_cuda(cudaMemcpy2DAsync(workspace, 1, workspace, 1, 2, 1, cudaMemcpyDefault, stream),
               "a copy wider than its pitch");
  }));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(seconds_if_it_runs(1, [](cudaStream_t, void*) {}));
}

}  // namespace
}  // namespace lockstep::testing
