// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/engine_choices.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(EngineChoices, AreKeptInTheirFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/engines.txt";
  {
    EngineChoices choices(path);
    EXPECT_EQ(choices.find("a convolution"), std::nullopt);
    choices.keep("a convolution", "62:2=4,13=-1");
    choices.keep("another one, x [1,2]", "alone/0");
    EXPECT_EQ(choices.find("a convolution"), "62:2=4,13=-1");
  }
  EngineChoices again(path);
  EXPECT_EQ(again.find("a convolution"), "62:2=4,13=-1");
  EXPECT_EQ(again.find("another one, x [1,2]"), "alone/0");
  EXPECT_EQ(again.find("a"), std::nullopt);
}

TEST(EngineChoices, OneProcessWritesTheFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/engines.txt";
  EngineChoices first(path), other(path, false);
  other.keep("a convolution", "3");
  EXPECT_EQ(other.find("a convolution"), "3");
  EXPECT_EQ(EngineChoices(path).find("a convolution"), std::nullopt);
  first.keep("a convolution", "62:2=4");
  EXPECT_EQ(EngineChoices(path, false).find("a convolution"), "62:2=4");
}

TEST(EngineChoices, AFileThatIsNoneIsNamed) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/engines.txt";
  for (const char* line : {"LR: 0.1", "2", "2:3 a convolution", "apart/2 a convolution", ""}) {
    std::ofstream(path) << "2:1=3 a convolution\n" << line << "\n";
    expect_error([&] { EngineChoices choices(path); }, path + ":2", join("'", line, "'"));
  }
  EngineChoices nowhere(folder.path() + "/no/such/folder.txt");
  expect_error([&] { nowhere.keep("a convolution", "1"); }, "no/such/folder.txt",
               "cannot be written");
}

}  // namespace
}  // namespace lockstep::testing
