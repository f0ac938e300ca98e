// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <gtest/gtest.h>

namespace lockstep::testing {
namespace {

TEST(Driver, ThatIsTooOldIsNamed) {
  const std::string too_old = why_no_gpu(12080, 13000, "CUDA driver version is insufficient");
  EXPECT_NE(
      too_old.find(
          "it is for CUDA 12.8, but this build needs a driver for CUDA 13.0: version 580 or later"),
      std::string::npos)
      << too_old;
  EXPECT_NE(why_no_gpu(11070, 12040, "").find("525 or later"), std::string::npos);
  EXPECT_EQ(why_no_gpu(12010, 12040, "all GPUs are taken"), "all GPUs are taken");
  EXPECT_EQ(why_no_gpu(13010, 13000, "none"), "none");
  EXPECT_EQ(why_no_gpu(0, 13000, "CUDA driver version is insufficient"), "no driver");
}

}  // namespace
}  // namespace lockstep::testing
