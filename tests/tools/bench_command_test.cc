// SPDX-License-Identifier: Apache-2.0
// The output of `lockstep bench`, and its comparison with a record.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "graph/file.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using BenchCommand = TrainingCommand;

TEST_F(BenchCommand, BenchPrintsATableOrJson) {
  auto rows = nlohmann::json::parse(run_lockstep({"bench", "build-graph", "--json"}).out);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[6]["replicas"], 64);
}

// The command fails if a sweep and the same rows as feeds train different bits.
TEST_F(BenchCommand, BenchSweepsAResidentBatch) {
  const std::vector<std::string> bench{"bench",     "resident", "--rows",    "130",
                                       "--batch",   "32",       "--epochs",  "1",
                                       "--devices", "cpu*2",    "--threads", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), bench.begin(), bench.end());
    return run_lockstep(more);
  };
  const Outcome table = with({});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* network : {"mlp", "lenet", "lstm"})
    EXPECT_NE(table.out.find(network), std::string::npos) << table.out;
  const auto rows = nlohmann::json::parse(with({"--model", "mlp", "--json"}).out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["rows"], 128);
  EXPECT_EQ(rows[0]["bytes"], 128 * (28 * 28 * 4 + 8));
  EXPECT_GT(rows[0]["fed_seconds"], 0);
  EXPECT_GT(rows[0]["feeding_seconds"], 0);
  expect_refused(run_lockstep({"bench", "resident", "--batch", "1", "--devices", "cpu*2"}),
                 {"a minibatch of 1 rows is too small for 2 devices"});
  expect_refused(run_lockstep({"bench", "resident", "--rows", "1", "--devices", "cpu*2"}),
                 {"does not suffice for 2 replicas"});
}

TEST_F(BenchCommand, BenchTrainsAnLstm) {
  const Outcome made = run_lockstep(
      {"bench", "train-step", "--model", "lstm", "--batch", "2", "--steps", "1", "--profile"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  for (const char* found : {"at best: ", "GFLOP/s", "  LSTMGrad", "  all kernels",
                            "outside kernels", "lstm, batch 2 on cpu", "examples/s"})
    EXPECT_NE(made.out.find(found), std::string::npos) << made.out;
  EXPECT_EQ(made.out.find("between two cores: ") != std::string::npos,
            std::thread::hardware_concurrency() > 1)
      << made.out;
}

TEST_F(BenchCommand, BenchFeedsBatchesOfFloatsOrBytes) {
  std::vector<std::string> bench{"bench",     "train-step", "--model", "lenet",
                                 "--batch",   "4",          "--steps", "2",
                                 "--devices", "cpu*2",      "--json",  "--feed"};
  for (const char* feed : {"resident", "in_turn", "ahead"})
    for (const bool bytes : {false, true}) {
      std::vector<std::string> words = bench;
      words.emplace_back(feed);
      if (bytes) words.emplace_back("--bytes");
      const Outcome made = run_lockstep(words);
      ASSERT_EQ(made.exit_code, 0) << made.err;
      const auto said = nlohmann::json::parse(made.out);
      EXPECT_EQ(said["feed"], feed);
      EXPECT_EQ(said["bytes"], bytes);
      EXPECT_GT(said["seconds"], 0);
    }
  bench.emplace_back("sometimes");
  expect_refused(run_lockstep(bench), {"--feed", "sometimes"});
}

TEST_F(BenchCommand, BenchSumsAnEmbedding) {
  const auto bench = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "embedding", "--words", "2000"});
    return run_lockstep(more);
  };
  const auto found = nlohmann::json::parse(bench({"--json"}).out);
  EXPECT_EQ(found["choice"],
            "by rows: as asked for; bytes to a replica: 270336 by rows, 512000 as a whole");
  EXPECT_GT(found["whole_seconds"], 0);
  EXPECT_GT(found["rows_seconds"], 0);
  const Outcome table = bench({"--devices", "cpu*3"});
  EXPECT_NE(table.out.find("a table of 2000 x 64"), std::string::npos) << table.err;
  EXPECT_NE(table.out.find("by rows "), std::string::npos);
  expect_refused(bench({"--devices", "cpu"}), {"one replica sums nothing"});
}

TEST_F(BenchCommand, BenchSumsOverReplicas) {
  const auto bench = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "all-reduce", "--devices", "cpu*2"});
    return run_lockstep(more);
  };
  const Outcome made = bench({"--megabytes", "0.5", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto found = nlohmann::json::parse(made.out);
  EXPECT_EQ(found["megabytes"], 0.5);
  EXPECT_EQ(found["title"], "2 replicas in one process");
  ASSERT_EQ(found["rows"].size(), 6U);
  for (const auto& row : found["rows"]) EXPECT_GT(row["seconds"], 0) << row;
  for (const char* size : {"-1", "0", "nan", "inf", "1e30"})
    expect_refused(bench({"--megabytes", size}), {"--megabytes is ", "from 0.001 to 100000"});
  expect_refused(run_lockstep({"bench", "all-reduce", "--devices", "cpu*2", "--megabytes", "0.5"},
                              {.environment = {{"LOCKSTEP_MEMORY", "1M"}}}),
                 {"copying --megabytes 0.5 for each replica needs 1.91 MiB"});
}

TEST_F(BenchCommand, BenchSumsOverProcesses) {
  const Outcome made = run_lockstep({"launch", "-n", "2", "--", "lockstep", "bench", "all-reduce",
                                     "--devices", "cpu", "--megabytes", "0.5"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  for (const char* part : {"2 processes of 1 replicas", "Gloo's ring", "collective", "xring"})
    EXPECT_NE(made.out.find(part), std::string::npos) << made.out;
}

TEST_F(BenchCommand, BenchPlansLongerGraphs) {
  const Outcome made = run_lockstep({"bench", "plan-growth", "--nodes", "1000", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto rows = nlohmann::json::parse(made.out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["nodes"], 1000);
  EXPECT_GT(rows[0]["plan_seconds"], 0);
}

TEST_F(BenchCommand, BenchTimesADetectorsOperators) {
  const Outcome made = run_lockstep({"bench", "detection-operators", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto rows = nlohmann::json::parse(made.out);
  ASSERT_EQ(rows.size(), 8U);
  for (const auto& row : rows) EXPECT_GT(row["milliseconds"], 0) << row;
}

TEST_F(BenchCommand, BenchComputesAConvolutionByEachImplementation) {
  const auto bench = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "conv", "--runs", "1", "--shape"});
    return run_lockstep(more);
  };
  const auto rows = [&](std::vector<std::string> more) {
    more.emplace_back("--json");
    const Outcome made = bench(more);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return nlohmann::json::parse(made.out);
  };
  for (const char* pass : {"forward", "grad_x", "grad_w"})
    for (const std::vector<std::string>& shape : std::vector<std::vector<std::string>>{
             {"2x64x14x12,32,3"},
             {"2x20x12x9,50,5x3", "--pad", "0"},
             {"2x32x9x9,64,3", "--stride", "2", "--dilation", "2"},
             {"2x32x8x8,32,3", "--groups", "4"},
             {"2x64x14x12,32,3", "--isa", "avx2"}}) {
      std::vector<std::string> words = shape;
      words.insert(words.end(), {"--pass", pass});
      int measured = 0;
      for (const auto& row : rows(words)) {
        if (row.contains("refusal")) continue;
        ++measured;
        EXPECT_GT(row["seconds"], 0) << row;
        EXPECT_LT(row["error"], 1e-5) << row << " of " << shape[0];
        EXPECT_GT(row["operations"], 0) << row;
      }
      EXPECT_GE(measured, 1) << shape[0] << ", " << pass;
    }
  const auto one = rows({"2x64x14x12,32,3", "--implementation", "onednn"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["operations"], 2.0 * 2 * 14 * 12 * 32 * 64 * 9);
  expect_refused(bench({"1x5x3x3,7,3", "--implementation", "winograd"}),
                 {"no implementation accepts --shape 1x5x3x3,7,3", "Winograd: "});
  const auto zeros = rows({"1x1x4x4,1,1", "--pad", "10", "--stride", "100"});
  EXPECT_EQ(zeros.back()["error"], 0) << zeros;
  for (const char* shape :
       {"", "2x64x14x12", "2x64x14,32,3", "0x64x14x12,32,3", "2x64x14x12,32,3x"})
    expect_refused(bench({shape}), {"--shape is '", "16x64x56x56,64,3"});
  expect_refused(bench({"1x3x4x4,5,9", "--pad", "1"}), {"9 pixels does not fit into 4"});
  expect_refused(bench({"1x3x4x4,5,3", "--groups", "2"}), {"--groups 2 should divide"});
  expect_refused(bench({"1x3x4x4,5,3", "--implementation", "magic"}), {"--implementation"});
}

TEST_F(BenchCommand, BenchRefusesWhatItDoesNotRead) {
  const auto bench = [](std::vector<std::string> more) {
    more.insert(more.begin(), "bench");
    return run_lockstep(more);
  };
  expect_refused(bench({"train-step", "--rows", "5"}),
                 {"unknown option '--rows'", "lockstep bench train-step --help"});
  expect_refused(bench({"all-reduce", "--threads", "1"}), {"unknown option '--threads'"});
  expect_refused(bench({"train-stp"}), {"unknown subcommand 'train-stp'", "'train-step'"});
  expect_refused(bench({"xyz"}), {"lockstep bench --help lists them"});
  expect_refused(bench({"--json"}), {"unknown option '--json'; lockstep bench --help lists"});
  expect_refused(bench({}), {"lockstep bench --help"});
  for (const char* name : {"train-step", "resident"}) {
    for (const char* rows : {"-1", "0"})
      expect_refused(bench({name, "--batch", rows}), {"--batch", "1 to 16777216"});
    for (const char* threads : {"-1", "5000"})
      expect_refused(bench({name, "--threads", threads}), {"--threads", "0 to 1024"});
  }
}

// The recorded times are a thousand times too large or small, so a busy machine does not matter.
TEST_F(BenchCommand, BenchComparesWithWhatWasRecorded) {
  const std::vector<std::string> bench{"bench", "train-step", "--steps", "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), bench.begin(), bench.end());
    return run_lockstep(more);
  };
  auto recorded = nlohmann::json::parse(
      with({"--model", "mlp", "--batch", "8", "--threads", "1", "--json"}).out);
  EXPECT_GT(recorded["first_step_seconds"], 0);
  EXPECT_GT(recorded["most_bytes"], 1 << 20);
  const std::string file = folder / "before.json";
  const double seconds = recorded["seconds"];
  const auto write = [&](double factor) {
    recorded["seconds"] = factor * seconds;
    write_file(file, recorded.dump() + "\n");
  };
  write(1000);
  const Outcome faster = with({"--against", file});
  EXPECT_EQ(faster.exit_code, 0) << faster.err;
  EXPECT_NE(faster.out.find("mlp, batch 8 on cpu, 1 threads each, float32"), std::string::npos)
      << faster.out;
  write(0.001);
  const Outcome slower = with({"--against", file});
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_NE(slower.out.find("SLOWER"), std::string::npos) << slower.out;
  EXPECT_NE(slower.err.find("1 step is slower by more than a tenth"), std::string::npos);
  write(-1);
  expect_refused(with({"--against", file}), {"before.json:1", "\"seconds\" is -"});
  write_file(file, "\n");
  expect_refused(with({"--against", file}), {"before.json", "has no line"});
  write_file(file, "{\"model\": \"mlp\"}\n");
  const std::string no_line = "before.json:1: is no line of `lockstep bench train-step --json`";
  expect_refused(with({"--against", file}), {no_line + ": it has no \"seconds\"\n"});
  write_file(file, "{\"seconds\": 1, \"model\": [7]}\n");
  expect_refused(with({"--against", file}), {no_line + ": \"model\" is [7]\n"});
  for (const char* text : {"# Lockstep\n", "[1, 2]\n"}) {
    write_file(file, text);
    expect_refused(with({"--against", file}), {no_line + "\n"});
  }
  expect_refused(with({"--against", folder / "none.json"}), {"none.json"});
  expect_refused(with({"--against", file, "--json"}), {"--json excludes --against"});
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"feed", "x"}, {"threads", -1}, {"threads", 1e300}, {"batch", -1}, {"batch", 1.5}}) {
    nlohmann::json other = recorded;
    other["seconds"] = 1;
    other[key] = value;
    write_file(file, other.dump() + "\n");
    expect_refused(with({"--against", file}), {no_line, "\"" + key + "\" is "});
  }
  expect_refused(run_lockstep({"bench", "plan-growth", "--against", file}),
                 {"unknown option '--against'"});
}

}  // namespace
}  // namespace lockstep::testing
