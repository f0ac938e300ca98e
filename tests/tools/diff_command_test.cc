// SPDX-License-Identifier: Apache-2.0
// `lockstep diff` and `lockstep report` from a user's view.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/file.h"
#include "runtime/state/safetensors.h"
#include "tests/support/golden.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class DiffCommand : public TrainingCommand {
 protected:
  std::string built(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"build", "lenet", "--devices", "cpu*2", "-o", folder / name};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_lockstep(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder / name;
  }
};

TEST_F(DiffCommand, TheExitCodeSaysIfSomethingDiffers) {
  const std::string a = built("a.onnx"), b = built("b.onnx"),
                    c = built("c.onnx", {"WIRE", "float16"});
  const Outcome equal = run_lockstep({"diff", a, b});
  EXPECT_EQ(equal.exit_code, 0) << equal.err;
  EXPECT_TRUE(equal.out.starts_with("equal: ")) << equal.out;
  const Outcome other = run_lockstep({"diff", a, c});
  EXPECT_EQ(other.exit_code, 1) << other.err;
  EXPECT_NE(other.out.find("step"), std::string::npos) << other.out;
  EXPECT_EQ(other.err, "");
  // A file and the model that it was built from.
  EXPECT_EQ(run_lockstep({"diff", a, "lenet", "--devices", "cpu*2"}).exit_code, 0);
}

TEST_F(DiffCommand, JsonHasEveryDifference) {
  const std::string a = built("a.onnx"), c = built("c.onnx", {"SOLVER.WEIGHT_DECAY", "0.5"});
  const Outcome outcome = run_lockstep({"diff", a, c, "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "lockstep.diff/1");
  EXPECT_EQ(document["a"], a);
  EXPECT_EQ(document["equal"], false);
  ASSERT_EQ(document["differences"].size(), 4U) << outcome.out;  // a constant for each weight
  for (const auto& difference : document["differences"]) {
    EXPECT_EQ(difference["part"], "step");
    EXPECT_EQ(difference["kind"], "changed");
    EXPECT_EQ(difference["a"], "1e-04");
    EXPECT_EQ(difference["b"], "0.5");
    EXPECT_EQ(difference["replicas"], nlohmann::json({0, 1}));
  }
  EXPECT_EQ(nlohmann::json::parse(run_lockstep({"diff", a, a, "--json"}).out)["equal"], true);
}

TEST_F(DiffCommand, KeysMayApplyToBothSidesOrToOne) {
  const Outcome one =
      run_lockstep({"diff", "mlp", "mlp", "--devices", "cpu*2", "--in-b", "SOLVER.CLIP_NORM", "1"});
  EXPECT_EQ(one.exit_code, 1) << one.err;
  EXPECT_NE(one.out.find("only in B"), std::string::npos) << one.out;
  const Outcome both =
      run_lockstep({"diff", "mlp", "mlp", "--devices", "cpu*2", "SOLVER.CLIP_NORM", "1"});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  expect_refused(run_lockstep({"diff", "mlp", "mlp", "--in-b", "SOLVER.CLIP_NROM", "1"}),
                 {"SOLVER.CLIP_NROM", "did you mean SOLVER.CLIP_NORM?"});
}

TEST_F(DiffCommand, RunsAreComparedByKeysStepsWeightsAndNumbers) {
  ASSERT_EQ(train("one").exit_code, 0);
  ASSERT_EQ(train("two").exit_code, 0);
  const Outcome again = run_lockstep({"diff", folder / "one", folder / "two", "--weights"});
  EXPECT_EQ(again.exit_code, 1) << again.err;
  EXPECT_EQ(again.out,
            "configuration  OUTPUT_DIR: " + (folder / "one") + " -> " + (folder / "two") + "\n")
      << again.err;
  ASSERT_EQ(train("three", {"SOLVER.BASE_LR", "0.03", "SOLVER.MAX_ITER", "40"}).exit_code, 0);
  const Outcome other = run_lockstep({"diff", folder / "one", folder / "three", "--weights"});
  EXPECT_EQ(other.exit_code, 1) << other.err;
  for (const char* part :
       {"SOLVER.BASE_LR: 0.02 -> 0.03\n", "SOLVER.MAX_ITER: 60 -> 40\n", "iterations: 60 -> 40\n",
        "loss: ", ", differs from iteration 5 on\n", "values of ", " tensors: "})
    EXPECT_NE(other.out.find(part), std::string::npos) << part << "\n" << other.out;
  // Times differ between any two runs.
  for (const char* part : {"images_per_second", "memory_mib", "data_time", "eta"})
    EXPECT_EQ(other.out.find(part), std::string::npos) << other.out;
  // A run and its network, by the names of the parameters.
  const Outcome exported = run_lockstep(
      {"diff", folder / "one/checkpoint.safetensors", folder / "one/model.onnx", "--weights"});
  EXPECT_EQ(exported.exit_code, 1) << exported.err;
  EXPECT_EQ(exported.out.find("values of"), std::string::npos) << exported.out;
  EXPECT_NE(exported.out.find("6 tensors only in A: fc1_b_momentum"), std::string::npos)
      << exported.out;
}

TEST_F(DiffCommand, WeightsAreNamedWithTheirLargestDifference) {
  const auto file = [&](const std::string& name, float value, const std::string& second) {
    Literal w = Literal::of<float>(std::vector<float>{1, 2, 3, value}, {2, 2});
    Literal same = Literal::of<float>(std::vector<float>{5, 6}, {2});
    write_safetensors(folder / name, {{"w", view_of(w)}, {second, view_of(same)}}, {});
    return folder / name;
  };
  const std::string a = file("a.safetensors", 4, "v"), b = file("b.safetensors", 4.5F, "v"),
                    c = file("c.safetensors", 4, "other");
  EXPECT_EQ(run_lockstep({"diff", a, b, "--weights"}).out,
            "weights  values of tensor w: (4 -> 4.5; 1 of 4 differ, most at [1,1] by 0.5)\n");
  EXPECT_EQ(run_lockstep({"diff", a, c, "--weights"}).out,
            "weights  other name of tensor v: v -> other\n");
  EXPECT_EQ(run_lockstep({"diff", a, a, "--weights"}).exit_code, 0);
  expect_refused(run_lockstep({"diff", a, b}), {"nothing in common", "--weights compares"});
  expect_refused(run_lockstep({"diff", built("step.onnx"), a, "--weights"}),
                 {"step.onnx has no weights to compare: its step is not initialised"});
}

TEST_F(DiffCommand, PlansAreCompared) {
  const std::string a = built("a.onnx");
  EXPECT_EQ(run_lockstep({"diff", a, a, "--plan"}).exit_code, 0);
  const Outcome outcome =
      run_lockstep({"diff", a, built("b.onnx", {"WIRE", "float16"}), "--plan", "--threads", "1"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("plan  "), std::string::npos) << outcome.out;
}

// The page has commands, and below each command the whole output.
TEST_F(DiffCommand, ThePageHasRealOutput) {
  const std::string page = read_file(source_path("docs/diff.md"));
  const std::size_t begin = page.find("```\n", page.find("The lines are from these commands"));
  ASSERT_NE(begin, page.npos);
  std::istringstream block(page.substr(begin + 4, page.find("```", begin + 4) - begin - 4));
  std::vector<std::pair<std::vector<std::string>, std::string>> examples;
  for (std::string line; std::getline(block, line);) {
    if (!line.starts_with("lockstep ")) {
      if (!line.empty()) examples.at(examples.size() - 1).second += line + "\n";
      continue;
    }
    std::erase(line, '\'');  // quotes are the shell's
    std::istringstream words(line);
    std::vector<std::string>& command = examples.emplace_back().first;
    for (std::string word; words >> word;)
      command.push_back(word.starts_with("configs/") ? source_path(word) : word);
    command.erase(command.begin());
  }
  EXPECT_GE(examples.size(), 5U);
  for (const auto& [command, expected] : examples)
    EXPECT_EQ(run_lockstep(command).out, expected) << command.back();
}

TEST_F(DiffCommand, BadInputIsRefused) {
  const std::string a = built("a.onnx");
  expect_refused(run_lockstep({"diff", a}), {"other is required"});
  expect_refused(run_lockstep({"diff", a, folder / "none.onnx"}), {"none.onnx"});
  expect_refused(run_lockstep({"diff", a, "lenett"}), {"lenett", "lenet"});
  fs::create_directories(folder / "empty");
  expect_refused(run_lockstep({"diff", folder / "empty", a}), {"is the folder of no run"});
  write_file(folder / "cut.onnx", read_file(a).substr(0, 4000));
  expect_refused(run_lockstep({"diff", a, folder / "cut.onnx"}), {"cut.onnx"});
  expect_refused(run_lockstep({"diff", folder / "empty", a, "THREADS", "1"}),
                 {"is the folder of a run, to which the key THREADS does not apply"});
}

TEST_F(DiffCommand, ReportComparesRunsOnOnePage) {
  ASSERT_EQ(train("one").exit_code, 0);
  ASSERT_EQ(train("two", {"SOLVER.BASE_LR", "0.03"}).exit_code, 0);
  const std::string page = folder / "page.html";
  const Outcome outcome = run_lockstep({"report", folder / "one", folder / "two", "-o", page});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, page + ": 2 runs compared, 2 keys differ\n");
  const std::string html = read_file(page);
  for (const char* part : {"2 runs compared", "SOLVER.BASE_LR", "<td>0.02</td><td>0.03</td>",
                           "waiting for data", "computing", "images per second", "peak memory",
                           "60 of 60", "largest test accuracy", "<svg", "class=\"line orange\""})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  for (const char* from_elsewhere : {" src=\"http", "<link", "@import", "url("})
    EXPECT_EQ(html.find(from_elsewhere), std::string::npos) << from_elsewhere;
  expect_refused(run_lockstep({"report", folder / "none"}), {"is not the folder of a run"});
  expect_refused(run_lockstep({"report", folder / "one", "-o", folder / "one/metrics.jsonl"}),
                 {"metrics.jsonl"});
  fs::remove(folder / "two/metrics.jsonl");
  expect_refused(run_lockstep({"report", folder / "one", folder / "two"}),
                 {"contains no metrics.jsonl"});
}

// Names in files of a run may be anybody's.
TEST_F(DiffCommand, ReportShowsHostileNamesAsText) {
  ASSERT_EQ(train("one").exit_code, 0);
  const std::string bad = folder / "<img src=x onerror=alert(1)>";
  fs::create_directories(bad);
  std::string rows;
  for (int i = 1; i < 200; ++i)
    rows += "{\"iter\":" + std::to_string(i) + ",\"loss\":1e308,\"</svg><script>alert(" +
            std::to_string(i) + ")</script>\":" + std::to_string(i) +
            ",\"\\u001b[31m\":-1e308,\"time\":1e308,\"x_per_second\":-5}\n";
  write_file(bad + "/metrics.jsonl",
             rows + "{\"iter\":\n[[[[\n" + std::string(1 << 20, '[') + "\n");
  const std::string page = folder / "page.html";
  const Outcome outcome = run_lockstep({"report", folder / "one", bad, "-o", page});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string html = read_file(page);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("The first 40 of "), std::string::npos);
  EXPECT_NE(html.find("no config.yaml in "), std::string::npos);
}

}  // namespace
}  // namespace lockstep::testing
