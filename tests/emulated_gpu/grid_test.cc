// SPDX-License-Identifier: Apache-2.0
// The guarantees of the emulated grid: the guarantees of a real grid, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "graph/print.h"
#include "tests/emulated_gpu/operators/kit/launch_cuda.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// The numbers of a launch's blocks, in the order of execution.
std::vector<unsigned> order_of(dim3 blocks) {
  std::vector<unsigned> order;
  run_grid(blocks, 1, [&] {
    order.push_back((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  });
  return order;
}

TEST(EmulatedGrid, RunsEachBlockOnceInAnOrderOfEachLaunch) {
  for (dim3 blocks : {dim3(12, 1, 1), dim3(5, 7, 1), dim3(2, 3, 4), dim3(1, 1, 1)}) {
    const unsigned count = blocks.x * blocks.y * blocks.z;
    std::set<std::vector<unsigned>> orders;
    for (int launch = 0; launch < 20; ++launch) {
      const std::vector<unsigned> order = order_of(blocks);
      EXPECT_EQ(std::set<unsigned>(order.begin(), order.end()).size(), count);
      EXPECT_EQ(order.size(), count);
      EXPECT_LT(*std::max_element(order.begin(), order.end()), count);
      orders.insert(order);
    }
    EXPECT_GE(orders.size(), std::min(count, 10U)) << "of " << count << " blocks";
  }
}

// As on a GPU. Other threads may then wait at a barrier.
TEST(EmulatedGrid, EndsWhereManyBytesAtOnceAreNotAligned) {
  alignas(16) const std::array<float, 8> data{};
  const auto touch = [&](std::size_t first, auto run, bool barriers) {
    run({1, 1, 1}, 32, [&] {
      expect_aligned(data.data() + first, 16);
      if (barriers) __syncthreads();
    });
  };
  for (int again = 0; again < 2; ++again) {
    touch(4, run_grid, false);
    expect_error([&] { touch(2, run_grid, false); },
                 "accesses 16 bytes at once, 8 bytes behind where it may");
    touch(4, run_grid_of_meetings, true);
    expect_error([&] { touch(7, run_grid_of_meetings, true); },
                 "accesses 16 bytes at once, 12 bytes behind where it may");
  }
}

// Catches kernels that assume a lower index runs earlier.
TEST(EmulatedGrid, IsSeldomInOrder) {
  int rising = 0;
  for (int launch = 0; launch < 20; ++launch) {
    const std::vector<unsigned> order = order_of(dim3(64, 1, 1));
    rising += std::is_sorted(order.begin(), order.end());
  }
  EXPECT_LE(rising, 1);
}

}  // namespace
}  // namespace lockstep::testing
