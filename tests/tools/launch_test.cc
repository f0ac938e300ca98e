// SPDX-License-Identifier: Apache-2.0
// Several processes as a user runs them, and the messages of the others when a process is lost,
// stopped, configured differently, or started twice.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "app/record/metrics.h"
#include "runtime/threads/cores.h"
#include "tests/support/ranks.h"
#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

TEST_F(LaunchTest, ProcessesTrainLikeReplicas) {
  Outcome four = launch(4, train("four"));
  ASSERT_EQ(four.exit_code, 0) << four.out << four.err;
  EXPECT_NE(four.out.find("[0] mlp on 4 processes of 1 x cpu"), std::string::npos) << four.out;
  EXPECT_NE(four.out.find("held-out accuracy"), std::string::npos);
  EXPECT_NE(four.out.find("[0] iter    151  learning rate 0.02 -> 0.002"), std::string::npos);
  EXPECT_EQ(four.out.find("[1]"), std::string::npos) << "only rank 0 prints";
  // With one replica per process, sums have the same order as in a single process.
  ASSERT_EQ(run_lockstep(train("one", {"--devices", "cpu*4"})).exit_code, 0);
  EXPECT_EQ(weights("four"), weights("one"));
  EXPECT_TRUE(fs::exists(folder / "four/report.html"));
  const auto of_four = read_metrics(folder / "four/metrics.jsonl");
  const auto of_one = read_metrics(folder / "one/metrics.jsonl");
  for (const char* name : {"loss", "accuracy"})
    EXPECT_NEAR(value_of(of_four[1], name), value_of(of_one[1], name), 1e-5) << name;
}

TEST_F(LaunchTest, ProcessesTrainOn16BitsLikeReplicas) {
  const std::vector<std::string> half{"PRECISION", "float16", "SOLVER.MAX_ITER", "20"};
  Outcome four = launch(4, train("four", half));
  ASSERT_EQ(four.exit_code, 0) << four.out << four.err;
  std::vector<std::string> one = half;
  one.insert(one.end(), {"--devices", "cpu*4"});
  ASSERT_EQ(run_lockstep(train("one", one)).exit_code, 0);
  EXPECT_EQ(weights("four"), weights("one"));
  EXPECT_EQ(weights("one").at("loss_scale").values<float>()[0], 65536);
}

TEST_F(LaunchTest, ProcessesTakeMeansLikeReplicas) {
  for (const char* spec : {"mean:collective", "mean:xring"}) {
    const std::vector<std::string> keys{"ALL_REDUCE", spec, "SOLVER.MAX_ITER", "20"};
    Outcome two = launch(2, train("two", keys));
    ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
    std::vector<std::string> one = keys;
    one.insert(one.end(), {"--devices", "cpu*2", "PACKING", "ready:1M:25M"});
    ASSERT_EQ(run_lockstep(train("one", one)).exit_code, 0);
    EXPECT_EQ(weights("two"), weights("one")) << spec;
  }
}

TEST_F(LaunchTest, UnequalSharesOverProcesses) {
  Outcome three = launch(3, train("three", {"SOLVER.MAX_ITER", "20", "ALL_REDUCE", "rechd"}));
  EXPECT_EQ(three.exit_code, 0) << three.out << three.err;
}

// Each piece is summed in the order of replicas, by any gathering worker.
TEST_F(LaunchTest, ASpecMayNeedAllProcesses) {
  Outcome two = launch(2, train("two", {"--devices", "cpu*2", "ALL_REDUCE", "pscpu#2"}));
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  ASSERT_EQ(run_lockstep(train("one", {"--devices", "cpu*4", "ALL_REDUCE", "pscpu"})).exit_code, 0);
  EXPECT_EQ(weights("two"), weights("one"));
}

TEST_F(LaunchTest, TheCommandIsPassedOnWordForWord) {
  const Outcome outcome =
      run_lockstep({"launch", "-n", "1", "--", "echo", "[0, 2]", "a,b", "--x", "--", "-n", ""});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "[0] [0, 2] a,b --x -- -n \n");
  EXPECT_EQ(launch(2, train("run", {"SOLVER.LR_POLICY", "steps_with_decay", "SOLVER.STEPS",
                                    "[0, 2]", "SOLVER.MAX_ITER", "3"}))
                .exit_code,
            0);
}

TEST_F(LaunchTest, EachProcessHasCoresOfItsOwn) {
  const int cores = cpu_cores();
  const auto launched = [&](const char* processes, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"launch", "-n", processes};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(
        words.end(),
        {"--", "sh", "-c",
         "echo $(nproc) ${LOCKSTEP_OWN_CORES:-shared} $(taskset -cp $$ | sed 's/.*list//')"});
    return run_lockstep(words);
  };
  const Outcome apart = launched("2");
  ASSERT_EQ(apart.exit_code, 0) << apart.err;
  const bool equal = cores % 2 == 0;
  const std::string count = equal ? join(cores / 2, " 1 :") : join(cores, " shared :");
  std::set<std::string> places;
  for (const char* rank : {"[0] ", "[1] "}) {
    const auto line = apart.out.find(rank + count);
    ASSERT_NE(line, std::string::npos) << apart.out;
    places.insert(apart.out.substr(line + 4, apart.out.find('\n', line) - line));
  }
  EXPECT_EQ(places.size(), equal ? 2U : 1U) << apart.out;
  const std::string all = join(cores, " shared :");
  EXPECT_NE(launched("2", {"--all-cores"}).out.find("[1] " + all), std::string::npos);
  EXPECT_NE(launched(std::to_string(cores + 1).c_str()).out.find("[0] " + all), std::string::npos);
  // An equal share of the cores is divided among the replicas of its own process only.
  const Outcome trained = launch(2, train("two", {"SOLVER.MAX_ITER", "2", "THREADS", "0"}));
  const std::string threads = join(threads_per_replica(2), " thread");
  EXPECT_NE(trained.out.find(join("[0] mlp on 2 processes of 1 x cpu, ", threads)),
            std::string::npos)
      << trained.out;
}

TEST_F(LaunchTest, AConfigurationIsCheckedForAllProcesses) {
  auto refused = [&](const std::vector<std::string>& keys, const std::vector<std::string>& parts) {
    next_meeting();
    std::vector<std::string> more{"--devices", "cpu*2"};
    more.insert(more.end(), keys.begin(), keys.end());
    std::vector<std::unique_ptr<Program>> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.push_back(rank(r, train("run", more), {"file://" + store(), 2, 4}));
    for (auto& program : ranks) expect_refused(program->finish(), parts);
  };
  refused({"ALL_REDUCE", "pscpu#3"}, {"command line: ALL_REDUCE", "on 2 x 2 replicas; at most #2"});
  refused({"TRAIN.BATCH_SIZE", "3"},
          {"command line: TRAIN.BATCH_SIZE 3", "4 replicas of 2 processes", "DEVICES cpu*2"});
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// Rank 1 finds another file of the same name in its folder.
TEST_F(LaunchTest, FirstWeightsAreRank0s) {
  ASSERT_EQ(run_lockstep(train("first", {"SOLVER.MAX_ITER", "1"})).exit_code, 0);
  ASSERT_EQ(run_lockstep(train("other", {"SOLVER.MAX_ITER", "1", "RNG_SEED", "8"})).exit_code, 0);
  const std::vector<std::string> keys{"SOLVER.MAX_ITER", "3", "MODEL.WEIGHTS"};
  const auto with = [&](std::string run, const std::string& weights) {
    std::vector<std::string> more = keys;
    more.push_back(weights);
    return train(run, more);
  };
  for (const auto& [rank, run] : {std::pair("0", "first"), {"1", "other"}}) {
    fs::create_directory(folder / rank);
    fs::copy_file(folder / (std::string(run) + "/checkpoint.safetensors"),
                  folder / (std::string(rank) + "/w.safetensors"));
  }
  std::vector<std::string> words{
      "launch",      "-n",      "2", "--", "sh", "-c", "cd \"$0/$RANK\" && exec \"$@\"",
      folder.path(), run_path()};
  for (const std::string& word : with("two", "w.safetensors")) words.push_back(word);
  const Outcome two = run_lockstep(words);
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_NE(two.out.find("[0] weights: 6 of 6 tensors from w.safetensors"), std::string::npos)
      << two.out;
  std::vector<std::string> one = with("one", folder / "0/w.safetensors");
  one.insert(one.end(), {"--devices", "cpu*2"});
  ASSERT_EQ(run_lockstep(one).exit_code, 0);
  EXPECT_EQ(weights("two"), weights("one"));

  fs::remove(folder / "1/w.safetensors");  // rank 1 needs no file
  EXPECT_EQ(run_lockstep(words).exit_code, 0);
}

// Rank 2 is killed. All others end in time and name rank 2. The resumed run has the bits of an
// undisturbed run from its last checkpoint.
TEST_F(LaunchTest, ARankThatIsKilledIsNamedAndTheRunGoesOn) {
  ASSERT_EQ(launch(4, train("whole")).exit_code, 0);
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back(rank(r, train("run", {"SOLVER.MAX_ITER", "100000"})));
  ASSERT_TRUE(ranks[0]->wait_for("iter    100/"));
  const auto start = Clock::now();
  ranks[2]->send_signal(SIGKILL);
  for (int r : {0, 1, 3}) {
    const Outcome outcome = ranks[r]->finish();
    expect_refused(outcome, {"step ", "cannot exchange '", "rank 2 (host ", "process ",
                             "; start all ranks again to continue from the last checkpoint",
                             ":  lockstep train " + folder / "run/config.yaml" + " --resume " +
                                 folder / "run\n"});
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  // A run to step 100 recreates the checkpoint at 100, in case the killed run was past it.
  fs::remove_all(folder / "run");
  ASSERT_EQ(launch(4, train("run", {"SOLVER.MAX_ITER", "100"})).exit_code, 0);
  ASSERT_EQ(launch(4, train("run", {"--resume"})).exit_code, 0);
  EXPECT_EQ(weights("run"), weights("whole"));
}

TEST_F(LaunchTest, ResumeAfterKillGivesTheSameBits) {
  ASSERT_EQ(launch(4, train("whole")).exit_code, 0);
  for (int wait_for : {50, 100}) {
    next_meeting();
    std::vector<std::unique_ptr<Program>> ranks;
    for (int r = 0; r < 4; ++r) ranks.push_back(rank(r, train("run")));
    ranks[0]->wait_for(join("iter ", wait_for < 100 ? "    " : "   ", wait_for, "/"));
    ranks[3]->send_signal(SIGKILL);
    for (auto& program : ranks) program->finish();
    ASSERT_EQ(launch(4, train("run", {"--resume", "auto"})).exit_code, 0);
    EXPECT_EQ(weights("run"), weights("whole")) << wait_for;
    fs::remove_all(folder / "run");
  }
}

TEST_F(LaunchTest, ACheckpointFitsAnotherNumberOfRanks) {
  ASSERT_EQ(launch(4, train("run", {"SOLVER.MAX_ITER", "100"})).exit_code, 0);
  Outcome two = launch(2, train("run", {"--resume"}));
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_NE(two.out.find("resumed after iteration 100; the number of processes was 4 and is 2 now, "
                         "the number of replicas was 4 and is 2 now"),
            std::string::npos)
      << two.out;
  EXPECT_NE(two.out.find("now: bits may differ from an uninterrupted run's\n"), std::string::npos)
      << two.out;
  // The same replicas in a single process; only the number of processes differs.
  ASSERT_EQ(launch(2, train("same", {"SOLVER.MAX_ITER", "10"})).exit_code, 0);
  const Outcome one =
      run_lockstep(train("same", {"--resume", "--devices", "cpu*2", "SOLVER.MAX_ITER", "20"}));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_NE(one.out.find("iteration 10; the number of processes was 2 and is 1 now: bits may"),
            std::string::npos)
      << one.out;
  const Outcome again =
      run_lockstep(train("same", {"--resume", "--devices", "cpu*2", "SOLVER.MAX_ITER", "30"}));
  EXPECT_NE(again.out.find("resumed after iteration 20\n"), std::string::npos) << again.out;
}

// A rank that ends by its own error is not lost: the error would repeat.
TEST_F(LaunchTest, ARunThatFailedByItselfIsNotOfferedToBeResumed) {
  const Outcome outcome = launch(2, train("run", {"SOLVER.BASE_LR", "1e6"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out.find("start all ranks again"), std::string::npos) << outcome.out;
}

TEST_F(LaunchTest, TheTimeoutIsTheOptionsOrTheEnvironmentsOrTheUsual) {
  const auto timeout = [&](const std::string& variable, std::vector<std::string> options) {
    ProgramOptions surroundings;
    if (!variable.empty()) surroundings.environment["LOCKSTEP_TIMEOUT"] = variable;
    std::vector<std::string> words{"launch", "-n", "1"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "printenv", "LOCKSTEP_TIMEOUT"});
    return run_lockstep(words, surroundings);
  };
  EXPECT_EQ(timeout("", {}).out, "[0] 60\n");
  EXPECT_EQ(timeout("7", {}).out, "[0] 7\n");
  EXPECT_EQ(timeout("7", {"--timeout", "9"}).out, "[0] 9\n");
  EXPECT_EQ(timeout("", {"--timeout", "9"}).out, "[0] 9\n");
  for (const std::string bad : {"soon", "0", "3000000000"})
    expect_refused(timeout(bad, {}), {"LOCKSTEP_TIMEOUT is '" + bad +
                                      "', should be a number of seconds from 1 to 1000000"});
  EXPECT_EQ(timeout("soon", {"--timeout", "9"}).out, "[0] 9\n");
  expect_refused(timeout("", {"--timeout", "0"}), {"--timeout"});
}

TEST_F(LaunchTest, EveryRankSaysWhatACheckpointWasSavedWith) {
  ASSERT_EQ(launch(2, train("run", {"SOLVER.MAX_ITER", "3"})).exit_code, 0);
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 2; ++r)
    ranks.push_back(
        rank(r, train("run", {"--resume", "PRECISION", "float16"}), {"file://" + store(), 2, 4}));
  for (auto& program : ranks)
    expect_refused(program->finish(), {"saved with PRECISION float32", "now it is float16"});
}

TEST_F(LaunchTest, ARankThatStopsIsNamedWithinTheTimeout) {
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back(rank(r, train("run", {"SOLVER.MAX_ITER", "100000"})));
  ASSERT_TRUE(ranks[0]->wait_for("iter     50/"));
  ranks[1]->send_signal(SIGSTOP);
  const auto start = Clock::now();
  for (int r : {0, 2, 3})
    expect_refused(ranks[r]->finish(), {"step ", "cannot exchange '", "rank 1 (host ",
                                        "is stopped or unreachable", "waited 4 s"});
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  ranks[1]->send_signal(SIGCONT);  // the rank learns the outcome of the run
  expect_refused(ranks[1]->finish(), {"rank 1 (host "});
}

// Rank 0 serves the store of a run over TCP, so its end is a separate case.
TEST_F(LaunchTest, TheKeeperOfTheStoreMayBeLostToo) {
  auto over_tcp = [&](int number, const std::string& port) {
    return std::make_unique<Program>(
        train("run", {"SOLVER.MAX_ITER", "100000"}),
        ProgramOptions{.environment = {{"RANK", std::to_string(number)},
                                       {"WORLD_SIZE", "3"},
                                       {"MASTER_ADDR", "127.0.0.1"},
                                       {"MASTER_PORT", port},
                                       {"LOCKSTEP_TOKEN", kTestToken},
                                       {"LOCKSTEP_TIMEOUT", "5"}}});
  };
  for (int lost : {0, 2}) {
    const std::string port = std::to_string(21000 + getpid() % 9000 + lost);
    std::vector<std::unique_ptr<Program>> ranks;
    for (int r = 0; r < 3; ++r) ranks.push_back(over_tcp(r, port));
    ASSERT_TRUE(ranks[0]->wait_for("iter     50/"));
    ranks[lost]->send_signal(SIGKILL);
    for (int r = 0; r < 3; ++r) {
      if (r == lost) continue;
      expect_refused(ranks[r]->finish(), {"step ", "cannot exchange '", join("rank ", lost)});
    }
  }
}

TEST_F(LaunchTest, ARankOfAnotherMindIsNamedWithTheKey) {
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.push_back(rank(r, train("run", {"SOLVER.BASE_LR", r == 3 ? "0.1" : "0.02"})));
  for (auto& program : ranks)
    expect_refused(program->finish(), {"rank 3 has SOLVER.BASE_LR '0.1", "rank 0 has '0.02"});
  EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors"));
}

// Each rank names the devices and threads of its own host.
TEST_F(LaunchTest, RanksMayHaveDevicesAndThreadsOfTheirOwn) {
  auto both = [&](const std::string& run, const std::vector<std::string>& first,
                  const std::vector<std::string>& second) {
    next_meeting();
    std::vector<std::unique_ptr<Program>> ranks;
    ranks.push_back(rank(0, train(run, first), {"file://" + store(), 2, 4}));
    ranks.push_back(rank(1, train(run, second), {"file://" + store(), 2, 4}));
    std::vector<Outcome> outcomes;
    for (auto& program : ranks) outcomes.push_back(program->finish());
    return outcomes;
  };
  const std::string number = "SOLVER.MAX_ITER";
  for (const Outcome& outcome : both("own", {"DEVICES", "cpu:0,cpu:1", number, "20"},
                                     {"DEVICES", "cpu*2", "THREADS", "2", number, "20"}))
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // Bits depend on a rank's threads, but not on the spelling of its devices.
  both("same", {"DEVICES", "cpu*2", number, "20"},
       {"DEVICES", "cpu*2", "THREADS", "2", number, "20"});
  EXPECT_EQ(weights("own"), weights("same"));
  // A rank without its own THREADS continues with the number that rank 0 began with.
  for (const Outcome& outcome : both("own", {"--resume", "THREADS", "0", "DEVICES", "cpu*2"},
                                     {"--resume", "THREADS", "2", "DEVICES", "cpu*2"}))
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const Outcome& outcome : both("run", {"DEVICES", "cpu*2"}, {"DEVICES", "cpu*3"}))
    expect_refused(outcome, {"rank 1 has DEVICES '3 x cpu'", "rank 0 has '2 x cpu'"});
  for (const Outcome& outcome : both("run", {"DEVICES", "cpu"}, {"DEVICES", "gpu:1"}))
    expect_refused(outcome, {"rank 1 has DEVICES '1 x gpu'", "rank 0 has '1 x cpu'"});
  EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors"));
}

TEST_F(LaunchTest, ARankThatIsThereTwiceOrNotAtAll) {
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r : {0, 1, 3}) ranks.push_back(rank(r, train("run", {"SOLVER.MAX_ITER", "5"})));
  const Clock::time_point start = Clock::now();
  while (!fs::exists(store() + "/member.1") && Clock::now() - start < std::chrono::seconds(3))
    usleep(5000);
  expect_refused(rank(1, train("run"))->finish(), {"rank 1 joined twice: rank 1 (host "});
  for (auto& program : ranks)
    expect_refused(program->finish(), {"of 4 ranks these did not join within 4 s: 2"});
}

TEST_F(LaunchTest, BadSurroundingsAreNamed) {
  auto with = [&](std::map<std::string, std::string> environment) {
    return run_lockstep(train("run"), {.environment = std::move(environment)});
  };
  expect_refused(with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), {"RANK is 'x'"});
  expect_refused(with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), {"RANK is 2, but WORLD_SIZE is 2"});
  expect_refused(with({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), {"set MASTER_ADDR and MASTER_PORT"});
  expect_refused(with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"LOCKSTEP_STORE", "ftp://x"}}),
                 {"store 'ftp://x' should be tcp://HOST:PORT, unix://JOB or file://FOLDER"});
  expect_refused(with({{"OMPI_COMM_WORLD_RANK", "1"},
                       {"OMPI_COMM_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "127.0.0.1"},
                       {"MASTER_PORT", "1"},
                       {"LOCKSTEP_TOKEN", kTestToken},
                       {"LOCKSTEP_TIMEOUT", "1"}}),
                 {"rank 0 does not answer at tcp://127.0.0.1:1"});
  EXPECT_EQ(run_lockstep({"launch", "-n", "2"}).exit_code, 2);
  Outcome unknown = run_lockstep({"launch", "-n", "2", "--", "no_such_command"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.out.find("[1] cannot run no_such_command"), std::string::npos) << unknown.out;
  // A name with colour codes is printed escaped.
  const Outcome coloured = run_lockstep({"launch", "-n", "1", "--", "\x1b[31mX"});
  expect_refused(coloured, {});
  EXPECT_NE(coloured.out.find(R"(cannot run \x1b[31mX: No such file)"), std::string::npos)
      << coloured.out;
  EXPECT_EQ(coloured.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace lockstep::testing
