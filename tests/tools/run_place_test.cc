// Which folder a run works in: one that is busy, a link, one whose newest checkpoint is gone.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class RunPlaceTest : public TrainingCommand {
 protected:
  Outcome quick(const std::string& run, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "7"});
    return train(run, more);
  }
  // A run that goes on until a signal, after its first steps; without a checkpoint until then.
  std::unique_ptr<Program> long_run(const std::string& run, std::vector<std::string> more = {}) {
    std::vector<std::string> words{
        "train",   config(),          "OUTPUT_DIR", folder / run, "TRAIN.SNAPSHOT_ITERS",
        "1000000", "SOLVER.MAX_ITER", "1000000"};
    words.insert(words.end(), more.begin(), more.end());
    auto program = std::make_unique<Program>(words);
    EXPECT_TRUE(program->wait_for("iter     20"));
    return program;
  }
};

// Another program, or a full disk, may empty the file that names the process. An older run is not
// resumed instead.
TEST_F(RunPlaceTest, IsHeldByAProcessWithoutANumberToo) {
  ASSERT_EQ(quick("run").exit_code, 0);
  const auto run = long_run("run");
  fs::resize_file(folder / "run.2/.lock", 0);
  for (const char* resume : {"auto", ""}) {
    std::vector<std::string> more{"--resume"};
    if (*resume != 0) more.emplace_back(resume);
    expect_refused(train("run", more), {"/run.2' is in use by another run; --resume FOLDER"});
  }
  EXPECT_FALSE(fs::exists(folder / "run.3"));
  run->send_signal(SIGTERM);
  EXPECT_EQ(run->finish().exit_code, 143);
}

}  // namespace
}  // namespace lockstep::testing
