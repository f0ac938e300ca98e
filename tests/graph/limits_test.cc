// SPDX-License-Identifier: Apache-2.0
// The limit on memory, and its error texts.
#include "graph/limits.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(Limits, BytesAreReadAndWritten) {
  EXPECT_EQ(parse_bytes("4096", "X"), 4096U);
  EXPECT_EQ(parse_bytes("64K", "X"), 65536U);
  EXPECT_EQ(parse_bytes("1.5G", "X"), std::size_t{3} << 29);
  for (const char* bad : {"", "G", "-1", "1GB", "nan", "inf", "1e99", "12 "})
    expect_error([&] { parse_bytes(bad, "LOCKSTEP_MEMORY"); }, "LOCKSTEP_MEMORY '", bad,
                 "is not a number of bytes");
  EXPECT_EQ(text_of_bytes(std::size_t{32} << 30), "32 GiB");
  EXPECT_EQ(text_of_bytes(1023), "1023 bytes");
  EXPECT_EQ(text_of_bytes(1536), "1.5 KiB");
  EXPECT_GT(usable_memory(), std::size_t{1} << 26);
  check_memory(1 << 24, "a little");
  expect_error([] { check_memory(std::size_t{1} << 60, "'y' float32[..]"); },
               "'y' float32[..] needs", "1 EiB",
               "are free; LOCKSTEP_MEMORY=64G sets the limit to 64 GiB instead");
}

TEST(Limits, AreWhatTheUserSays) {
  setenv("LOCKSTEP_MEMORY", "1M", 1);
  expect_error([] { check_memory((1 << 20) + 1, "y"); }, "1 MiB are allowed by LOCKSTEP_MEMORY");
  setenv("LOCKSTEP_MEMORY", "much", 1);
  expect_error([] { check_memory(1, "y"); }, "LOCKSTEP_MEMORY 'much'");
  unsetenv("LOCKSTEP_MEMORY");
}

}  // namespace
}  // namespace lockstep::testing
