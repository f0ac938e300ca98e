// SPDX-License-Identifier: Apache-2.0
// The check of all headers before a run: the faults that it names, and failures that are not a
// picture's fault.
#include "app/train/picture_check.h"

#include <gtest/gtest.h>

#include <new>

#include "graph/limits.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

void check_each(int64_t count, const std::function<void(int64_t)>& look) {
  check_pictures({{count, look}}, 2, [](const std::string&) {});
}

TEST(PictureCheck, NamesTheFirstOfAllThatAreBroken) {
  expect_error(
      [] { check_each(1000, [](int64_t i) { check(i % 10 != 3, "picture ", i, " is broken"); }); },
      "100 of 1,000 pictures cannot be read", "\n  picture 3 is broken\n  picture 13 is broken\n",
      "and 80 more");
}

// Memory may be available later, so no picture is blamed.
TEST(PictureCheck, ALackOfMemoryIsNoBrokenPicture) {
  const auto look = [](int64_t i) {
    check(i != 5, "picture 5 is broken");
    if (i == 700) throw NoMemory("picture 700 needs 32 GiB");
  };
  EXPECT_THROW(check_each(1000, look), NoMemory);
  EXPECT_THROW(check_each(1000,
                          [](int64_t i) {
                            if (i == 700) throw std::bad_alloc();
                          }),
               std::bad_alloc);
}

}  // namespace
}  // namespace lockstep::testing
