// SPDX-License-Identifier: Apache-2.0
// Copies of rows (operators/shape/rows_cuda.h) over an emulated runtime with CUDA's limit on the
// pitch.
#include "operators/shape/rows_cuda.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

namespace lockstep::testing {
namespace {

constexpr std::size_t kFar = std::size_t{3} << 30U;

class EmulatedRows : public ::testing::Test {
 protected:
  EmulatedRows() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~EmulatedRows() override { cudaStreamDestroy(stream_); }

  void copy(const RowCopy& rows, void* to, const void* from) {
    rows.run(stream_, to, from);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

TEST_F(EmulatedRows, LieAPitchApart) {
  std::string to = "........";
  copy({2, 3, 5, 4}, to.data(), "abc-def-");
  EXPECT_EQ(to, "abc..def");
}

TEST_F(EmulatedRows, OneRowHasNoPitch) {
  std::string to = "...";
  copy({1, 3, kFar, kFar}, to.data(), "abc");
  EXPECT_EQ(to, "abc");
}

// Reserved memory that is mostly unused.
TEST_F(EmulatedRows, MayBeFartherApartThanOneCopyTakes) {
  const std::size_t bytes = kFar + 8;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const to = static_cast<char*>(memory);
  copy({2, 3, kFar, 4}, to, "abc-def-");
  EXPECT_EQ(std::string(to, 3) + std::string(to + kFar, 3), "abcdef");
  munmap(memory, bytes);
}

}  // namespace
}  // namespace lockstep::testing
