// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

// Sizes below and above the threshold at which memory gets separate pages and all cores fill it.
TEST(Memory, EveryByteIsFilledWhateverTheSize) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65},
                                  4 * kMebi - 1, 4 * kMebi, 33 * kMebi + 5, 65 * kMebi}) {
    for (const std::byte fill : {std::byte{0}, std::byte{0xFF}}) {
      const Memory memory = allocate(bytes, fill);
      ASSERT_NE(memory, nullptr) << bytes;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U) << bytes;
      EXPECT_EQ(std::count(memory.get(), memory.get() + bytes, fill),
                static_cast<std::ptrdiff_t>(bytes));
    }
  }
}

std::size_t address_space_in_pages() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(Memory, LargeBlocksAreGivenBack) {
  const std::size_t before = address_space_in_pages();
  for (int times = 0; times < 100; ++times) allocate(64 * kMebi);
  EXPECT_LT(address_space_in_pages(), before + 64 * kMebi / 4096);
}

TEST(Memory, MoreThanThereIsIsRefused) {
  expect_error([] { allocate(std::size_t{1} << 60); },
               "out of memory: cannot allocate 1152921504606846976 bytes");
}

}  // namespace
}  // namespace lockstep::testing
