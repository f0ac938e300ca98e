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
    choices.keep("a convolution", 3);
    choices.keep("another one, x [1,2]", 0);
    EXPECT_EQ(choices.find("a convolution"), 3);
  }
  EngineChoices again(path);
  EXPECT_EQ(again.find("a convolution"), 3);
  EXPECT_EQ(again.find("another one, x [1,2]"), 0);
  EXPECT_EQ(again.find("a"), std::nullopt);
}

TEST(EngineChoices, AFileThatIsNoneIsNamed) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/engines.txt";
  std::ofstream(path) << "2 a convolution\nLR: 0.1\n";
  expect_error([&] { EngineChoices choices(path); }, path + ":2", "'LR: 0.1'");
  EngineChoices nowhere(folder.path() + "/no/such/folder.txt");
  expect_error([&] { nowhere.keep("a convolution", 1); }, "no/such/folder.txt",
               "cannot be written");
}

}  // namespace
}  // namespace lockstep::testing
