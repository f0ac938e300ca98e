// Ranks that are stopped, for a while and for good, in the middle of a run and at its end.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

constexpr int kRanks = 3;
constexpr int kStop = 8;  // seconds

// Free a moment ago.
std::string free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  return std::to_string(ntohs(address.sin_port));
}

std::string over_tcp() { return "tcp://127.0.0.1:" + free_port(); }

// "rank 1 (host a, process 7) shows no life: ..", out of "step 5: no exchange of .., because .."
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
  };

  Run start(const std::string& name, int stopped, const std::string& iterations,
            const Meeting& meeting) {
    Run run{stopped, {}};
    for (int number = 0; number < meeting.size; ++number)
      run.ranks.push_back(rank(number, train(name, {"SOLVER.MAX_ITER", iterations}), meeting));
    return run;
  }

  // For each rank a run in which it stops when rank 0 has said that; the runs go on side by side.
  void expect_survival(const std::string& iterations, const std::string& stop_after) {
    std::vector<Run> runs;
    for (int stopped = 0; stopped < kRanks; ++stopped)
      runs.push_back(start(join("run", stopped), stopped, iterations, {over_tcp(), kRanks, 20}));
    for (Run& run : runs) {
      ASSERT_TRUE(run.ranks[0]->wait_for(stop_after));
      run.ranks[static_cast<std::size_t>(run.stopped)]->send_signal(SIGSTOP);
    }
    sleep(kStop);
    for (Run& run : runs) {
      run.ranks[static_cast<std::size_t>(run.stopped)]->send_signal(SIGCONT);
      for (auto& program : run.ranks) {
        const Outcome outcome = program->finish();
        EXPECT_EQ(outcome.exit_code, 0) << "rank " << run.stopped << " stopped: " << outcome.err;
      }
    }
    ASSERT_EQ(launch(kRanks, train("undisturbed", {"SOLVER.MAX_ITER", iterations})).exit_code, 0);
    for (const Run& run : runs)
      EXPECT_EQ(weights(join("run", run.stopped)), weights("undisturbed")) << run.stopped;
  }

  // One that wakes when all is over learns it too, where the store is still there.
  void expect_one_culprit(const std::function<std::string(int stopped)>& store,
                          const std::function<bool(int stopped)>& learns) {
    std::vector<Run> runs;
    for (int stopped = 0; stopped < kRanks; ++stopped)
      runs.push_back(start(join("run", stopped), stopped, "1000000", {store(stopped), kRanks, 4}));
    for (Run& run : runs) {
      ASSERT_TRUE(run.ranks[0]->wait_for("iter     50/"));
      run.ranks[static_cast<std::size_t>(run.stopped)]->send_signal(SIGSTOP);
    }
    for (Run& run : runs) {
      std::vector<std::string> reasons;
      for (int number = 0; number < kRanks; ++number) {
        if (number == run.stopped) continue;
        const Outcome outcome = run.ranks[static_cast<std::size_t>(number)]->finish();
        expect_refused(outcome, {"step ", "no exchange of '"});
        reasons.push_back(reason_in(outcome.err));
      }
      EXPECT_EQ(reasons[0], reasons[1]);
      EXPECT_EQ(reasons[0].rfind(join("rank ", run.stopped), 0), 0U) << reasons[0];
      EXPECT_NE(reasons[0].find("shows no life"), std::string::npos) << reasons[0];
      Program& stopped = *run.ranks[static_cast<std::size_t>(run.stopped)];
      stopped.send_signal(SIGCONT);
      const Outcome woken = stopped.finish();
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
  expect_one_culprit([](int) { return over_tcp(); }, [](int stopped) { return stopped == 0; });
}

TEST_F(StoppedRankTest, IsNamedAlikeByAllThatMeetInAFolder) {
  expect_one_culprit([&](int stopped) { return join("file://", folder / join("store", stopped)); },
                     [](int) { return true; });
}

}  // namespace
}  // namespace lockstep::testing
