// SPDX-License-Identifier: Apache-2.0
// `lockstep plan --format html` as users write it: traces, rates, links, and the report's command.
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/file.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class PlanPageCommand : public TrainingCommand {
 protected:
  std::string page() const { return folder / "plan.html"; }
  // Plans LeNet as a page, or the sources in `words`.
  Outcome plan(std::vector<std::string> words) const {
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"--format", "html", "-o", page()});
    return run_lockstep(words);
  }
  void expect_no_page(const std::vector<std::string>& words,
                      const std::vector<std::string>& parts) const {
    expect_refused(plan(words), parts);
    EXPECT_FALSE(fs::exists(page()));
  }
};

// The run tests between its steps; these predictions are not steps.
TEST_F(PlanPageCommand, TakesTheTraceOfItsRunAlone) {
  const std::string trace = folder / "trace.json";
  ASSERT_EQ(train("run", {"TEST.ITERS", "4", "SOLVER.MAX_ITER", "9", "--trace", trace,
                          "--trace-steps", "3:8"})
                .exit_code,
            0);
  ASSERT_NE(read_file(trace).find("\"name\":\"prediction\""), std::string::npos);
  const Outcome planned = plan({config(), "--trace", trace});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("(measured)"), std::string::npos) << planned.out;
  EXPECT_NE(read_file(page()).find("the median of 6 runs in "), std::string::npos);
  fs::remove(page());
  expect_no_page({config(), "TRAIN.BATCH_SIZE", "8", "--trace", trace},
                 {trace, "another step", "float32[4,", "in the trace", "float32[8,"});
  expect_no_page({config(), "MODEL.HIDDEN", "[32]", "--trace", trace}, {trace, "another step"});
  expect_no_page({config(), "--trace-rank", "0", "--trace", trace}, {"--trace-rank"});
}

TEST_F(PlanPageCommand, RefusesRatesThatNoWorkerHas) {
  for (const char* rates : {"1e-300:15", "80:1e11", "0:1", "-3:5", "inf:1", "1:nan", "1e999:1"})
    expect_no_page({"mlp", "--rates", rates}, {"--rates", rates, "from 0.001 to 1e9"});
  for (const char* rates : {"80", "80:", "80:15:3", "a:b", "80;15"})
    expect_no_page({"mlp", "--rates", rates}, {"--rates", rates, "GFLOP/s:GB/s"});
  for (const char* rates : {"0.001:0.001", "1e9:1e9"})
    EXPECT_EQ(plan({"mlp", "--rates", rates}).exit_code, 0) << rates;
}

TEST_F(PlanPageCommand, LinksToAPageOfTheGraphThatExists) {
  expect_no_page({"mlp", "--graph", folder / "none.html"}, {"--graph", "none.html"});
  fs::create_directory(folder / "the graphs");
  const std::string graph = folder / "the graphs/a#1.html";
  ASSERT_EQ(run_lockstep({"inspect", "mlp", "--format", "html", "-o", graph}).exit_code, 0);
  ASSERT_EQ(plan({"mlp", "--graph", graph}).exit_code, 0);
  EXPECT_NE(read_file(page()).find("\"graph\": \"the%20graphs/a%231.html\""), std::string::npos);
}

// The command that the report of a run prints, in a folder whose name a shell would split.
TEST_F(PlanPageCommand, IsMadeByTheCommandOfAReport) {
  const std::string run = "it's a run";
  ASSERT_EQ(train(run, {"SOLVER.MAX_ITER", "3"}).exit_code, 0);
  const std::string report = read_file(folder / (run + "/report.html"));
  const std::string begin = "<code>lockstep plan ";
  const std::size_t at = report.find(begin);
  ASSERT_NE(at, report.npos);
  const std::string words =
      report.substr(at + begin.size(), report.find("</code>", at) - at - begin.size());
  EXPECT_EQ(words, join(shell_word(folder / (run + "/config.yaml")), " --format html -o ",
                        shell_word(folder / (run + "/plan.html"))));
  const Outcome planned = run_lockstep({"plan", folder / (run + "/config.yaml"), "--format", "html",
                                        "-o", folder / (run + "/plan.html")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  // Both say the same of the memory, with the loader.
  const std::size_t memory = planned.out.find("Memory: ");
  ASSERT_NE(memory, planned.out.npos);
  const std::string sentence = planned.out.substr(memory, planned.out.find('\n', memory) - memory);
  EXPECT_NE(report.find(sentence), report.npos) << sentence;
  EXPECT_EQ(sentence.find("loader 0 bytes"), sentence.npos) << sentence;
}

}  // namespace
}  // namespace lockstep::testing
