// SPDX-License-Identifier: Apache-2.0
// Replays the seeds of fuzzing and every input that once broke a reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/fuzz/fuzz.h"

namespace lockstep::fuzz {
namespace {

namespace fs = std::filesystem;

class Replay : public ::testing::TestWithParam<Target> {};

// If a reader ends the process, the last printed name identifies the input.
void replay(const Target& target, const std::string& name, const std::string& bytes) {
  std::cerr << target.name << ": " << name << std::endl;
  EXPECT_NO_THROW(try_reading(target, bytes)) << name;
}

TEST_P(Replay, TakesItsSeeds) {
  const Target& target = GetParam();
  int number = 0, taken = 0;
  for (const std::string& seed : target.seeds()) {
    replay(target, join("seed ", number++), seed);
    taken += accepts([&] { target.read(seed); });
  }
  EXPECT_GT(taken, 0) << "no seed is valid";
}

TEST_P(Replay, WithstandsWhatWasFound) {
  const fs::path folder = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/fuzz/found" / GetParam().name;
  std::vector<std::string> found;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) replay(GetParam(), path, read_file(path));
}

TEST(Found, EveryFolderIsATargets) {
  int files = 0;
  for (const auto& folder :
       fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / "tests/fuzz/found")) {
    EXPECT_NO_THROW(target_named(folder.path().filename())) << folder.path();
    for (const auto& file : fs::directory_iterator(folder)) files += file.is_regular_file();
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, ::testing::ValuesIn(targets()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace lockstep::fuzz
