// SPDX-License-Identifier: Apache-2.0
// The class of a run's failure: an error of a process, or the loss of a process. The class does not
// depend on the text.
#include "runtime/dist/watch.h"

#include <gtest/gtest.h>

#include "lockstep/processes.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

const std::vector<Member> kTwo{{0, "a", 11}, {1, "b", 12}};

// Two processes in one.
struct TwoWatches {
  TemporaryFolder folder;
  std::unique_ptr<Store> stores[2] = {file_store(folder / "store"), file_store(folder / "store")};
  Watch first{*stores[0], 0, kTwo, Milliseconds(20'000)};
  Watch second{*stores[1], 1, kTwo, Milliseconds(20'000)};
};

struct Told {
  bool is_loss = false;
  std::string text;
};
Told told_by(Watch& watch, int peer, const std::string& seen = "") {
  try {
    watch.stop("sums", peer, seen);
  } catch (const LostRank& lost) {
    return {true, lost.what()};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

TEST(Watch, AnErrorOfAProcessIsNoLoss) {
  TwoWatches pair;
  pair.second.give_up("its disk is full");
  const Told told = told_by(pair.first, 1);
  EXPECT_FALSE(told.is_loss);
  EXPECT_EQ(told.text,
            "step 0: cannot exchange 'sums' with rank 1 (host b, process 12), because rank 1 (host "
            "b, process 12) gave up: its disk is full");
  EXPECT_FALSE(told_by(pair.second, 0).is_loss) << "all processes end with the first reason";
}

TEST(Watch, ALossIsOneWhateverItsTextSays) {
  TwoWatches pair;
  const Told told = told_by(pair.first, 1, "the other side gave up: no route");
  EXPECT_TRUE(told.is_loss);
  EXPECT_EQ(told.text,
            "step 0: cannot exchange 'sums' with rank 1 (host b, process 12), because the other "
            "side gave up: no route");
  EXPECT_TRUE(told_by(pair.second, 0).is_loss);
}

}  // namespace
}  // namespace lockstep::testing
