// SPDX-License-Identifier: Apache-2.0
// `lockstep train`, `test` and `infer` with language models, as a user runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/record/metrics.h"
#include "graph/file.h"
#include "graph/passes/predict.h"
#include "lockstep/data_parallel.h"
#include "lockstep/error.h"
#include "lockstep/model_files.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/random.h"
#include "lockstep/text.h"
#include "tests/support/program.h"
#include "tests/support/witten_bell.h"

namespace lockstep::testing {
namespace {

constexpr const char* kConfig = R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: char_lstm, EMBEDDING: 8, HIDDEN: 24}
DATA: {FILES: ['*.txt'], LENGTH: 24}
TRAIN: {BATCH_SIZE: 8, SNAPSHOT_ITERS: 7, LOG_ITERS: 5}
TEST: {ITERS: 20, SAMPLE_LENGTH: 60}
SOLVER: {TYPE: Adam, BASE_LR: 0.01, MAX_ITER: 40, WEIGHT_DECAY: 0}
)";

// Returns random words of a small language; a seed gives the same words each time.
std::string written_text(int64_t characters, uint64_t seed = 1) {
  const std::vector<std::string> words{"one",  "step",  "of",        "many", "replicas",
                                       "sums", "their", "gradients", "and",  "ends"};
  PhiloxSequence random(seed, 0);
  std::string text;
  while (static_cast<int64_t>(text.size()) < characters)
    text += words[static_cast<std::size_t>(random.below(10))] + (random.below(9) ? " " : ".\n");
  text.resize(static_cast<std::size_t>(characters));
  return text;
}

class TextCommand : public ::testing::Test {
 protected:
  TextCommand() {
    write_file(folder / "a.txt", written_text(13'000));
    write_file(folder / "b.txt", written_text(9'000, 2));
    write_file(folder / "config.yaml", kConfig);
  }
  std::vector<std::string> of_run(const char* command, const std::string& run) const {
    return {command,     folder / "config.yaml", "OUTPUT_DIR", folder / run,
            "DATA.ROOT", folder.path()};
  }
  Outcome lockstep(const char* command, const std::string& run, std::vector<std::string> more = {},
                   const ProgramOptions& options = {}) const {
    std::vector<std::string> arguments = of_run(command, run);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments, options);
  }
  Outcome train(const std::string& run, std::vector<std::string> more = {},
                const ProgramOptions& options = {}) const {
    return lockstep("train", run, std::move(more), options);
  }
  std::string read(const std::string& name) const { return read_file(folder / name); }
  std::string checkpoint(const std::string& run) const {
    return read(run + "/checkpoint.safetensors");
  }
  MetricRow last_test(const std::string& run) const {
    MetricRow last;
    for (const MetricRow& row : read_metrics(folder / (run + "/metrics.jsonl")))
      if (std::isfinite(value_of(row, "test_loss"))) last = row;
    return last;
  }
  TemporaryFolder folder;
};

TEST_F(TextCommand, TrainsTestsAndContinuesAText) {
  const Outcome trained = train("run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("2 files, 20,000 characters to train on, 2,000 held out"),
            std::string::npos)
      << trained.out;
  EXPECT_NE(trained.out.find("characters/s"), std::string::npos);
  EXPECT_NE(trained.out.find("bits per character after 40 iterations"), std::string::npos);

  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_FALSE(rows.empty());
  for (const char* name : {"loss", "bits_per_character", "perplexity", "characters_per_second"})
    EXPECT_TRUE(std::isfinite(value_of(rows[0], name))) << name;
  EXPECT_NEAR(value_of(rows[0], "perplexity"), std::exp(value_of(rows[0], "loss")), 1e-6);
  const MetricRow tested = last_test("run");
  const double bits = value_of(tested, "test_bits_per_character");
  EXPECT_NEAR(bits, value_of(tested, "test_loss") / std::log(2.0), 1e-9);
  EXPECT_NEAR(value_of(tested, "test_perplexity"), std::exp2(bits), 1e-6);
  EXPECT_LT(bits, 0.9 * std::log2(20)) << "no better than chance over some 20 characters";
  const std::string events = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
      if (entry.path().filename().string().find("tfevents") != std::string::npos)
        return read_file(entry.path().string());
    return std::string();
  }();
  for (const char* tag : {"train/perplexity", "test/bits_per_character", "test/perplexity"})
    EXPECT_NE(events.find(tag), std::string::npos) << tag;
  const std::string report = read("run/report.html");
  for (const char* part : {"Sampled text", "<pre class=\"written\">", "Bits per character",
                           "Characters per second", "<th>held out</th><td>2,000 characters</td>"})
    EXPECT_NE(report.find(part), std::string::npos) << part;

  const TrainingModel exported = load_model(all_ops(), folder / "run/model.onnx").model;
  for (int i = 0; i < exported.inference.node_count(); ++i)
    EXPECT_EQ(exported.inference.node(i).domain(), "") << exported.inference.node(i).name();

  const Outcome scored = lockstep("test", "run", {"--out", folder / "scores"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  const auto scores = nlohmann::json::parse(read("scores/scores.json"));
  EXPECT_EQ(scores.at("characters"), 2000);
  EXPECT_NEAR(scores.at("bits_per_character").get<double>(), bits, 1e-6);
  write_file(folder / "scores/scores.json", "my own");
  expect_refused(lockstep("test", "run", {"--out", folder / "scores"}),
                 {"scores/scores.json' would be overwritten"});
  EXPECT_EQ(read("scores/scores.json"), "my own");

  write_file(folder / "prompt", "one step of ");
  const auto infer = [&](const std::string& source, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"infer", source, folder / "prompt", "--length", "50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  };
  const Outcome continued = infer(folder / "run/model.onnx", {"--out", folder / "seen"});
  ASSERT_EQ(continued.exit_code, 0) << continued.err;
  EXPECT_EQ(
      nlohmann::json::parse(read("seen/predictions.json"))[0].at("text").get<std::string>().size(),
      50U);
  EXPECT_EQ(infer(folder / "run").out, continued.out) << "a run stands for its network";
  EXPECT_NE(infer(folder / "run", {"--seed", "2"}).out, continued.out);
  EXPECT_EQ(infer(folder / "run", {"--temperature", "0", "--seed", "2"}).out,
            infer(folder / "run", {"--temperature", "0"}).out);
  expect_refused(infer(folder / "run", {"--top", "2"}),
                 {"--top does not apply to " + (folder / "run"), "which is a language model"});
  const Outcome exported_again =
      run_lockstep({"export", folder / "run/best.safetensors", "-o", folder / "best.onnx"});
  ASSERT_EQ(exported_again.exit_code, 0) << exported_again.err;
  EXPECT_NE(exported_again.out.find("best.onnx: 2"), std::string::npos) << exported_again.out;
  EXPECT_EQ(infer(folder / "best.onnx").out, infer(folder / "run/best.onnx").out);
  write_file(folder / "prompt", "one\nst\xC3\xBCp");
  expect_refused(infer(folder / "run/model.onnx"),
                 {"prompt:2: contains byte 0xC3, which is not in the vocabulary",
                  "1 of 1 texts could not be continued"});
}

TEST_F(TextCommand, ResumedAfterKillsItHasTheSameBits) {
  ASSERT_EQ(train("whole", {"SOLVER.MAX_ITER", "120"}).exit_code, 0);
  int killed = 0;
  for (long delay : {60, 90, 120, 150})
    killed += train("cut", {"SOLVER.MAX_ITER", "120", "--resume", "auto"}, {.kill_after_ms = delay})
                  .exit_code == 128 + 9;
  EXPECT_GE(killed, 1) << "the run ended before it could be killed";
  ASSERT_EQ(train("cut", {"SOLVER.MAX_ITER", "120", "--resume", "auto"}).exit_code, 0);
  EXPECT_TRUE(checkpoint("whole") == checkpoint("cut"));
  EXPECT_EQ(last_test("whole"), last_test("cut"));
}

TEST_F(TextCommand, TwoProcessesHaveTheBitsOfTwoReplicas) {
  // Includes unequal shares.
  for (const char* batch : {"8", "7"}) {
    SCOPED_TRACE(batch);
    const std::string two = join("two", batch), apart = join("apart", batch);
    ASSERT_EQ(train(two, {"TRAIN.BATCH_SIZE", batch}).exit_code, 0);
    std::vector<std::string> arguments{"launch", "-n", "2", "--", run_path()};
    for (const std::string& word : of_run("train", apart)) arguments.push_back(word);
    arguments.insert(arguments.end(), {"TRAIN.BATCH_SIZE", batch, "DEVICES", "cpu"});
    const Outcome launched = run_lockstep(arguments);
    ASSERT_EQ(launched.exit_code, 0) << launched.err;
    for (const char* file : {"/best.safetensors", "/model.onnx"})
      EXPECT_TRUE(read(two + file) == read(apart + file)) << file;
    EXPECT_EQ(last_test(two), last_test(apart));
  }
}

TEST_F(TextCommand, OneReplicaOrThreeTrainAlike) {
  ASSERT_EQ(train("one", {"DEVICES", "cpu", "SOLVER.MAX_ITER", "10"}).exit_code, 0);
  ASSERT_EQ(train("three", {"DEVICES", "cpu*3", "SOLVER.MAX_ITER", "10"}).exit_code, 0);
  EXPECT_NEAR(value_of(last_test("one"), "test_loss"), value_of(last_test("three"), "test_loss"),
              1e-4);
}

TEST_F(TextCommand, OtherCellsLayersAndDropoutTrain) {
  for (const std::vector<std::string>& keys : std::vector<std::vector<std::string>>{
           {"MODEL.TYPE", "char_gru", "MODEL.LAYERS", "2", "MODEL.DROPOUT", "0.1"},
           {"MODEL.TYPE", "char_rnn", "TRAIN.MICRO_BATCHES", "2"}}) {
    SCOPED_TRACE(keys[1]);
    const Outcome trained = train(keys[1], keys);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_LT(value_of(last_test(keys[1]), "test_bits_per_character"), 4.2);
  }
}

TEST_F(TextCommand, OtherFilesMayBeTestedOn) {
  write_file(folder / "other", written_text(500, 3));
  const std::vector<std::string> keys{"DATA.FILES", "['a.txt']", "TEST.FILES", "['other']"};
  const Outcome trained = train("run", keys);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("13,000 characters to train on, 500 held out"), std::string::npos)
      << trained.out;
  // The text has changed since the run began; the vocabulary is the run's.
  write_file(folder / "other", "one step\nof $");
  expect_refused(lockstep("test", "run", keys),
                 {"TEST.FILES", "other:2: contains '$', which is not in the vocabulary",
                  "trained on text without it"});
}

TEST_F(TextCommand, BadInputIsNamed) {
  const auto refused = [&](std::vector<std::string> keys, const std::vector<std::string>& parts) {
    SCOPED_TRACE(keys[0] + " " + keys[1]);
    expect_refused(train("run", std::move(keys)), parts);
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  };
  write_file(folder / "empty", "");
  write_file(folder / "short", "abc");
  write_file(folder / "medium", written_text(9100));
  refused({"DATA.FILES", "['no.md']"}, {"DATA.FILES: there is no file or folder", "no.md"});
  refused({"DATA.FILES", "['**/*.md']"}, {"DATA.FILES: ", "matches no file"});
  refused({"DATA.FILES", "[]"}, {"command line: DATA.FILES is empty"});
  refused({"DATA.FILES", "['empty']"}, {"DATA.FILES: ", "empty: the file is empty"});
  refused({"DATA.FILES", "['short']"}, {"3 characters, too few to hold out every tenth 1,000"});
  refused({"DATA.FILES", "['short']", "TEST.FILES", "['short']"},
          {"DATA.LENGTH 24: the text has 3 characters in a row, but a row needs 24"});
  refused({"DATA.FILES", "['medium']", "DATA.LENGTH", "9000"},
          {"DATA.LENGTH 9000: the text has 9000 characters in a row"});
  refused({"TEST.FILES", "['config.yaml']"},
          {"TEST.FILES: ", "config.yaml:1: contains 'D', which is not in the vocabulary"});
  refused({"MODEL.TYPE", "char_lstmm"}, {"MODEL.TYPE 'char_lstmm'", "did you mean char_lstm?"});
  refused({"MODEL.HIDEN", "3"}, {"MODEL.HIDEN", "MODEL.HIDDEN"});
  refused({"TRAIN.BATCH_SIZE", "1"}, {"TRAIN.BATCH_SIZE 1 is too small"});
  refused({"DATA.LENGTH", "1"}, {"DATA.LENGTH", "at least 2"});
  refused({"TRAIN.BATCH_SIZE", "16000000", "DATA.LENGTH", "60000"},
          {"TRAIN.BATCH_SIZE 16000000 rows of DATA.LENGTH 60000 needs"});
}

TEST_F(TextCommand, ARunGoesOnWithItsOwnTextAlone) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "5"}).exit_code, 0);
  write_file(folder / "a.txt", written_text(13'000, 7));
  expect_refused(train("run", {"--resume", "SOLVER.MAX_ITER", "9"}),
                 {"was saved with the text of DATA.FILES 22000 characters", "but now it is"});
}

TEST_F(TextCommand, AStepIsBuiltAndPlannedFromItsConfiguration) {
  const std::vector<std::string> root{"DATA.ROOT", folder.path()};
  const Outcome built =
      run_lockstep({"build", folder / "config.yaml", root[0], root[1], "-o", folder / "step.onnx"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome seen = run_lockstep({"inspect", folder / "step.onnx"});
  EXPECT_NE(seen.out.find("lstm1_w"), std::string::npos) << seen.out;
  const Outcome planned = run_lockstep({"plan", folder / "config.yaml", root[0], root[1]});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  expect_refused(run_lockstep({"infer", folder / "step.onnx", folder / "a.txt"}),
                 {"is a training step"});
}

// The table has 8 floats for each character, and a replica's share has 4 rows of 24 characters.
TEST_F(TextCommand, InspectSaysHowAnEmbeddingIsSummed) {
  const auto summary = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"inspect", folder / "config.yaml", "DATA.ROOT", folder.path()};
    words.insert(words.end(), more.begin(), more.end());
    return run_lockstep(words).out;
  };
  EXPECT_NE(summary({}).find("as a whole; bytes to a replica: 3840 by rows, "), std::string::npos)
      << summary({});
  EXPECT_NE(
      summary({"EMBEDDINGS", "sparse"}).find("by rows: as asked for; bytes to a replica: 3840"),
      std::string::npos);
  EXPECT_NE(summary({"--embeddings", "dense"}).find("as a whole: as asked for; "),
            std::string::npos);
}

TEST_F(TextCommand, DamagedModelsAreNamed) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "2"}).exit_code, 0);
  write_file(folder / "prompt", "one");
  const std::string path = folder / "bad.onnx";
  const auto refused = [&](const std::string& vocabulary, const std::string& part) {
    SCOPED_TRACE(vocabulary);
    TrainingModel model = load_model(all_ops(), folder / "run/model.onnx").model;
    model.metadata["vocabulary"] = vocabulary;
    save_model(model, path);
    expect_refused(run_lockstep({"infer", path, folder / "prompt"}), {part});
  };
  refused("", "bad.onnx: the metadata 'lockstep.vocabulary' is not a list of bytes");
  refused("{\"a\": 1}", "bad.onnx: the metadata 'lockstep.vocabulary' is not a list of bytes");
  refused("[101, 256]", "contains 256; bytes should ascend");
  refused("[110, 101]", "contains 101; bytes should ascend");
  refused("[-1]", "contains -1; bytes should ascend");
  refused("[101, 110, 111]", "its vocabulary has 3");
  // A classifier with a vocabulary.
  const TrainingModel step = build_data_parallel_model(
      all_ops(), mlp({.image = {1, 2, 2}, .classes = 2, .hidden = {}}), MomentumSgd{});
  TrainingModel model = with_trained_values(step, {{"pred_w", Literal(DType::float32, {2, 4})},
                                                   {"pred_b", Literal(DType::float32, {2})}});
  model.metadata["vocabulary"] = "[101, 110, 111]";
  save_model(model, path);
  expect_refused(
      run_lockstep({"infer", path, folder / "prompt"}),
      {"bad.onnx: is not a language model; a language model takes characters [rows, steps]"});
}

// LOCKSTEP_UPDATE_GOLDEN=1 rewrites the page.
TEST_F(TextCommand, ThePageOfKeysIsComplete) {
  const std::string page = run_lockstep({"keys", "--task", "text", "--markdown"}).out;
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/docs/text_keys.md";
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, page);
  EXPECT_EQ(read_file(path), page) << "`lockstep keys --task text --markdown > docs/text_keys.md`";
}

TEST(WittenBell, AgreesWithCountsByHand) {
  WittenBell model(1, 4);
  model.count("abac");
  // Empty context: 4 seen, 3 kinds. After a: b, c. After b: a.
  const auto alone = [](double count) { return (count + 3 * 0.25) / 7; };
  EXPECT_NEAR(model.probability("", 'a'), alone(2), 1e-12);
  EXPECT_NEAR(model.probability("", 'd'), alone(0), 1e-12);
  EXPECT_NEAR(model.probability("xa", 'b'), (1 + 2 * alone(1)) / 4, 1e-12);
  EXPECT_NEAR(model.probability("b", 'c'), (0 + 1 * alone(1)) / 2, 1e-12);
  EXPECT_NEAR(model.probability("c", 'a'), alone(2), 1e-12) << "no character followed c";
  double sum = 0;
  for (char next : {'a', 'b', 'c', 'd'}) sum += model.probability("a", next);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(model.bits("ba", 1, 2), -std::log2(model.probability("b", 'a')), 1e-12);
}

}  // namespace
}  // namespace lockstep::testing
