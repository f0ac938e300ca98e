// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(SharedLibrary, GivesItsFunctionsToATable) {
  struct {
    const SharedLibrary loaded{"the C library", {"libabsent.so.9", "libc.so.6"}};
    decltype(getppid)* parent = loaded["getppid"];
  } table;
  EXPECT_TRUE(table.loaded.found());
  EXPECT_EQ(table.parent(), getppid());
}

TEST(SharedLibrary, ThatIsAbsentIsNamed) {
  const SharedLibrary absent("cuNothing 9.1", {"libabsent.so.9", "libabsent.so.8"});
  EXPECT_FALSE(absent.found());
  expect_error(
      [&] { absent["create"]; },
      "cuNothing 9.1 was not found (libabsent.so.9: cannot open shared object file: No such "
      "file or directory; libabsent.so.8: cannot open shared object file: No such file or "
      "directory); install it, or add its folder to LD_LIBRARY_PATH; see `lockstep doctor`");
}

TEST(SharedLibrary, ThatIsTooOldIsNamed) {
  const SharedLibrary old("the C library 9.1", {"libc.so.6"});
  expect_error([&] { old["of_tomorrow"]; },
               "libc.so.6 has no function of_tomorrow: it is older than the version that Lockstep "
               "was built with; install the C library 9.1 or later");
}

}  // namespace
}  // namespace lockstep::testing
