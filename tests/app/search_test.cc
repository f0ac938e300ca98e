// SPDX-License-Identifier: Apache-2.0
// A loss that is not finite: the report of the run, and the culprit that it names.
#include "app/train/search.h"

#include <filesystem>

#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "tests/support/pictures.h"
#include "tests/support/ranks.h"
#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

class SearchTest : public LaunchTest {
 protected:
  // Diverges within a few steps.
  Outcome diverge(const std::string& run, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"SOLVER.BASE_LR", "1e6"});
    return run_lockstep(train(run, more));
  }
};

int times_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The last message of rank `rank` of a launch: its error.
std::string error_of(int rank, const Outcome& outcome) {
  const std::string start = join("[", rank, "] lockstep: ");
  const auto at = outcome.out.rfind(start);
  if (at == outcome.out.npos) return "";
  const auto from = at + start.size();
  return outcome.out.substr(from, outcome.out.find('\n', from) - from);
}

TEST_F(SearchTest, OneLineSaysWhatIsRepeatedAndFromWhere) {
  Outcome outcome = diverge("run");
  expect_refused(
      outcome, {"the loss is nan at iteration ", "; the first value that is not finite is 'cpu_0/",
                " on cpu:0): ", "The learning rate was 1e+06; lower SOLVER.BASE_LR",
                "No checkpoint was written yet."});
  EXPECT_EQ(times_in(outcome.out, " are repeated from the start, with every value checked"), 1)
      << outcome.out;
  outcome = diverge("run", {"TRAIN.SNAPSHOT_ITERS", "1"});
  expect_refused(outcome, {"The last checkpoint, " + folder.path(), " is intact."});
  EXPECT_EQ(times_in(outcome.out, "1 iteration is repeated from the checkpoint after iteration "),
            1)
      << outcome.out;
}

TEST_F(SearchTest, SeesReplicasMicroBatchesAnd16Bits) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--devices", "cpu*2", "TRAIN.MICRO_BATCHES", "2"},
        {"PRECISION", "bfloat16"},
        {"SOLVER.DEFERRED", "true"}})
    expect_refused(diverge("run", more), {"the first value that is not finite is 'cpu_"});
}

// The ratio of the two rates overflows a float, though each rate is finite.
TEST_F(SearchTest, WhatIsFedIsNamedAndNothingRepeated) {
  Outcome outcome =
      run_lockstep(train("run", {"SOLVER.LR_POLICY", "steps_with_lrs", "SOLVER.STEPS", "[0, 1]",
                                 "SOLVER.LRS", "[2e-7, 1e38]", "SOLVER.WEIGHT_DECAY", "1e38"}));
  expect_refused(outcome, {"the loss is nan at iteration 2; input 'momentum_correction' of replica "
                           "0 is fed inf at [0], at iteration 2."});
  EXPECT_EQ(times_in(outcome.out, "repeated"), 0) << outcome.out;
}

TEST_F(SearchTest, AllProcessesNameTheSame) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--devices", "cpu*2", "TRAIN.MICRO_BATCHES", "2"},
                                               {"SOLVER.DEFERRED", "true"},
                                               {"TRAIN.SNAPSHOT_ITERS", "1"}}) {
    std::vector<std::string> words = more;
    words.insert(words.end(), {"SOLVER.BASE_LR", "1e6"});
    const Outcome outcome = launch(2, train("run", words));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(error_of(0, outcome).find("the first value that is not finite is 'cpu_"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(error_of(0, outcome).find("on rank "), std::string::npos) << outcome.out;
    EXPECT_EQ(error_of(0, outcome), error_of(1, outcome)) << outcome.out;
    EXPECT_EQ(times_in(outcome.out, "with every value checked"), 1) << outcome.out;
  }
}

TEST_F(SearchTest, ProcessesThatSkipGoOn) {
  const Outcome outcome =
      launch(2, train("run", {"SOLVER.BASE_LR", "1e30", "SOLVER.SKIP_NON_FINITE", "true",
                              "SOLVER.MAX_ITER", "5"}));
  // All five steps are skipped or done. The last test reports that the first step ruined the
  // network.
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(error_of(0, outcome).find("the held-out loss is nan after iteration 5"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(times_in(outcome.out, "with every value checked"), 0) << outcome.out;
}

// Divides each channel by the range of its values, which is 0 in flat pictures.
void write_dividing_network(const std::string& path) {
  Graph graph(all_ops(), "dividing");
  Value x = graph.input("pixels", {DType::float32, {"batch", 3, "H", "W"}});
  auto extreme = [&](const char* type) {
    return graph.add_value(
        {.type = type, .inputs = {x}, .attributes = {{"axes", std::vector<int64_t>{2, 3}}}}, type);
  };
  Value y = div(graph, x, sub(graph, extreme("ReduceMax"), extreme("ReduceMin"), "range"), "even");
  y = flatten(graph, global_average_pool(graph, y, "mean"), 1, "features");
  Value w = graph.constant("fc.weight", Literal::of<float>(std::vector<float>(15, 0.1F), {5, 3}));
  Value b = graph.constant("fc.bias", Literal::of<float>(std::vector<float>(5, 0.F), {5}));
  graph.output(gemm(graph, y, w, b, {.trans_b = true}, "scores"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

TEST_F(SearchTest, TheProcessWhereItBeginsIsNamedByAll) {
  write_dividing_network(folder / "net.onnx");
  for (const char* root : {"varied", "flat"})
    for (const char* part : {"train", "val"})
      for (int c = 0; c < 2; ++c) {
        const std::string place = folder / join(root, "/", part, "/kind", c);
        std::filesystem::create_directories(place);
        for (int i = 0; i < 4; ++i) {
          Image image{32, 32, std::vector<uint8_t>(32 * 32 * 3, 77)};
          if (root == std::string("varied"))
            for (std::size_t at = 0; at < image.rgb.size(); ++at)
              image.rgb[at] = static_cast<uint8_t>(37 * at % 251);
          write_png(place + "/" + std::to_string(i) + ".png", image);
        }
      }
  write_file(folder / "config.yaml", R"(DEVICES: cpu
THREADS: 1
MODEL: {NUM_CLASSES: 5}
DATA: {NAME: image_folder, IMAGE_SIZE: 16, RESIZE: 18}
TRAIN: {BATCH_SIZE: 4}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 20}
)");
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 2; ++r)
    ranks.push_back(rank(r,
                         train("run", {"MODEL.ONNX", folder / "net.onnx", "DATA.ROOT",
                                       folder / (r == 0 ? "varied" : "flat")}),
                         {"file://" + store(), 2, 20}));
  for (auto& program : ranks)
    expect_refused(program->finish(),
                   {"the loss is nan on rank 1 at iteration 1; the first value that is not finite "
                    "is 'cpu_1/",
                    "(Div on cpu:0): ", " on rank 1, at iteration 1."});
}

TEST(Search, WhoReceivedWhatIsNotFiniteIsNotToBlame) {
  const Suspect received{Suspect::Kind::received, 3, "received"};
  const Suspect early{Suspect::Kind::computed, 40, "early"}, late{Suspect::Kind::computed, 41, ""};
  const Suspect fed{Suspect::Kind::fed, 0, "fed"};
  auto foremost_of = [](const std::vector<Suspect>& all) {
    std::vector<std::string> texts(all.size());
    run_ranks(static_cast<int>(all.size()), [&](Comm& comm) {
      const auto rank = static_cast<std::size_t>(comm.rank());
      texts[rank] = foremost(&comm, all[rank]).text;
    });
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
    return texts[0];
  };
  EXPECT_EQ(foremost_of({received, {}, early, late}), "early on rank 2");
  EXPECT_EQ(foremost_of({early, early, {}}), "early on rank 0");
  EXPECT_EQ(foremost_of({{}, received, {}, {}, {}}), "received on rank 1");
  EXPECT_EQ(foremost_of({early, fed}), "fed on rank 1");
  EXPECT_EQ(foremost_of({{}, {}, {}}), "");
}

TEST(Search, AProcessThatIsAloneHearsAtOnce) {
  LossWatch alone(nullptr);
  alone.note(3, 0.5F);
  ASSERT_TRUE(alone.is_time(3));
  EXPECT_FALSE(alone.agree(3));
  alone.note(4, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(alone.agree(4)->value, std::string("-inf"));
}

TEST(Search, TheFirstLossThatIsNotFiniteIsHeardOfByAll) {
  for (int size : {2, 3, 5, 8})
    run_ranks(size, [&](Comm& comm) {
      LossWatch losses(&comm);
      losses.note(0, 1.F);
      EXPECT_TRUE(losses.is_time(0));
      EXPECT_FALSE(losses.agree(0));
      if (comm.rank() == 0) losses.note(7, std::numeric_limits<float>::quiet_NaN());
      if (comm.rank() == size - 1) losses.note(6, std::numeric_limits<float>::infinity());
      const auto bad = losses.agree(9);
      ASSERT_TRUE(bad);
      EXPECT_EQ(bad->step, 6);
      EXPECT_EQ(bad->rank, size - 1);
      EXPECT_EQ(bad->value, std::string("inf"));
    });
}

// Ranks do not agree after each quick step, and all ranks agree after the same steps.
TEST(Search, AllAskAfterTheSameSteps) {
  std::vector<std::vector<int64_t>> asked(3);
  run_ranks(3, [&](Comm& comm) {
    LossWatch losses(&comm);
    for (int64_t step = 0; step < 100'000; ++step) {
      if (!losses.is_time(step)) continue;
      asked[comm.rank()].push_back(step);
      losses.agree(step);
    }
  });
  EXPECT_EQ(asked[1], asked[0]);
  EXPECT_EQ(asked[2], asked[0]);
  EXPECT_LT(asked[0].size(), 1000u);
}

}  // namespace
}  // namespace lockstep::testing
