// SPDX-License-Identifier: Apache-2.0
// Ranks that stop, temporarily and permanently, in the middle of a run and at its end.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/support/ranks.h"
#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

constexpr int kRanks = 3;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kStop(8);

// Extracts "rank 1 (host a, process 7) does not respond: .." from "step 5: cannot exchange ..,
// because ..".
std::string reason_in(const std::string& error) {
  const std::string before = ", because ";
  const auto at = error.find(before);
  return at == error.npos ? "no reason in: " + error : error.substr(at + before.size());
}

class StoppedRankTest : public LaunchTest {
 protected:
  struct Run {
    int stopped;
    std::vector<std::unique_ptr<Program>> ranks;
    Clock::time_point since = Clock::time_point();

    Program& the_stopped() { return *ranks[stopped]; }
  };

  // Starts a run for each rank. The rank stops once rank 0 has printed the text. All runs are
  // stopped at the same time.
  std::vector<Run> stopped_runs(const std::vector<std::string>& settings,
                                const std::string& stop_after, int timeout,
                                const std::function<std::string(int)>& store) {
    std::vector<Run> runs;
    for (int stopped = 0; stopped < kRanks; ++stopped) {
      Run& run = runs.emplace_back(Run{stopped, {}});
      const Meeting meeting{store(stopped), kRanks, timeout};
      const auto command = train(join("run", stopped), settings);
      for (int number = 0; number < kRanks; ++number)
        run.ranks.push_back(rank(number, command, meeting));
      EXPECT_TRUE(run.ranks[0]->wait_for(stop_after));
      run.the_stopped().send_signal(SIGSTOP);
      run.since = Clock::now();
    }
    return runs;
  }

  void expect_survival(const std::string& iterations, const std::string& stop_after) {
    auto runs = stopped_runs({"SOLVER.MAX_ITER", iterations}, stop_after, 20,
                             [](int) { return tcp_store_here(); });
    for (Run& run : runs) {
      std::this_thread::sleep_until(run.since + kStop);
      run.the_stopped().send_signal(SIGCONT);
      for (auto& program : run.ranks) {
        const Outcome outcome = program->finish();
        EXPECT_EQ(outcome.exit_code, 0) << "rank " << run.stopped << " stopped: " << outcome.err;
      }
    }
    ASSERT_EQ(launch(kRanks, train("undisturbed", {"SOLVER.MAX_ITER", iterations})).exit_code, 0);
    for (const Run& run : runs)
      EXPECT_EQ(weights(join("run", run.stopped)), weights("undisturbed")) << run.stopped;
  }

  // A rank that wakes after the end also learns the outcome if the store is still running.
  void expect_one_culprit(const std::function<std::string(int stopped)>& store,
                          const std::function<bool(int stopped)>& learns) {
    // Without intermediate checkpoints. On a busy machine, a rank may stop while the others save
    // one, so the error could correctly offer to resume or not.
    auto runs = stopped_runs({"SOLVER.MAX_ITER", "1000000", "TRAIN.SNAPSHOT_ITERS", "1000000"},
                             "iter     50/", 4, store);
    for (Run& run : runs) {
      std::vector<std::string> reasons;
      for (int number = 0; number < kRanks; ++number) {
        if (number == run.stopped) continue;
        const Outcome outcome = run.ranks[number]->finish();
        expect_refused(outcome, {"step ", "cannot exchange '"});
        reasons.push_back(reason_in(outcome.err));
      }
      EXPECT_EQ(reasons[0], reasons[1]);
      EXPECT_EQ(reasons[0].rfind(join("rank ", run.stopped), 0), 0U) << reasons[0];
      EXPECT_NE(reasons[0].find("is stopped or unreachable"), std::string::npos) << reasons[0];
      run.the_stopped().send_signal(SIGCONT);
      const Outcome woken = run.the_stopped().finish();
      EXPECT_EQ(woken.exit_code, 2);
      if (learns(run.stopped)) {
        EXPECT_EQ(reason_in(woken.err), reasons[0]);
      }
    }
  }
};

TEST_F(StoppedRankTest, MayStopForAWhile) { expect_survival("600", "iter     50/"); }

TEST_F(StoppedRankTest, MayStopForAWhileInItsLastSteps) { expect_survival("200", "iter    200/"); }

TEST_F(StoppedRankTest, IsNamedAlikeByAllWhenStoppedForGood) {
  expect_one_culprit([](int) { return tcp_store_here(); },
                     [](int stopped) { return stopped == 0; });
}

TEST_F(StoppedRankTest, IsNamedAlikeByAllThatMeetInAFolder) {
  expect_one_culprit([&](int stopped) { return join("file://", folder / join("store", stopped)); },
                     [](int) { return true; });
}

}  // namespace
}  // namespace lockstep::testing
