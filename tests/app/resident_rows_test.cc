// SPDX-License-Identifier: Apache-2.0
// TRAIN.RESIDENT of networks on arrays and of language models.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/arrays/task.h"
#include "app/text/task.h"
#include "data/npy.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/arrays.h"
#include "tests/support/expect_error.h"
#include "tests/support/resident_run.h"

namespace lockstep::testing {
namespace {

const Words kRowsResident{"TRAIN.RESIDENT", "true"};

Literal normals(const Dims& dims, uint64_t stream) {
  PhiloxSequence random(1, stream);
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  for (float& value : values) value = static_cast<float>(random.normal());
  return Literal::of<float>(values, dims);
}

// out = tanh(x w1) w2 for x [batch, .., 3].
void write_rows_network(const std::string& path, bool is_ragged) {
  Graph graph(all_ops(), "net");
  const Shape shape = is_ragged ? Shape{"batch", "length", 3} : Shape{"batch", 3};
  const Value x = graph.input("x", {DType::float32, shape});
  const Value hidden = tanh(graph, matmul(graph, x, graph.constant("w1", normals({3, 8}, 1))));
  graph.output(matmul(graph, hidden, graph.constant("w2", normals({8, 2}, 2)), "out"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

// 24 examples to train on: four minibatches.
class ResidentArrays : public ::testing::Test {
 protected:
  static constexpr int64_t kEpoch = 4;

  void write(bool is_ragged) {
    write_rows_network(folder_ / "net.onnx", is_ragged);
    for (const char* part : {"train", "test"}) {
      const int64_t count = part[1] == 'r' ? 24 : 6;
      std::filesystem::create_directories(folder_ / part);
      std::vector<int64_t> lengths;
      int64_t rows = 0;
      for (int64_t i = 0; i < count; ++i) rows += lengths.emplace_back(1 + i % 5);
      if (!is_ragged) rows = count;
      for (const auto& [name, width] : {std::pair<std::string, int64_t>{"x", 3}, {"y", 2}}) {
        const std::string path = folder_ / (std::string(part) + "/" + name);
        write_npy(path + ".npy", normals({rows, width}, static_cast<uint64_t>(10 * count + width)));
        if (is_ragged) write_npy(path + ".lengths.npy", literal_of(lengths));
      }
    }
    write_file(run_.path, "MODEL: {ONNX: " + (folder_ / "net.onnx") +
                              ", LOSS: {mse: [out, y]}}\nDATA: {NAME: arrays, TRAIN: " +
                              (folder_ / "train") + ", TEST: " + (folder_ / "test") +
                              "}\nTRAIN: {BATCH_SIZE: 6}\nTHREADS: 1\n"
                              "SOLVER: {TYPE: Adam, BASE_LR: 0.02, MAX_ITER: 20}\n");
  }

  TemporaryFolder folder_;
  RunOf<ArraysTask, read_arrays_config> run_{folder_ / "config.yaml"};
};

TEST_F(ResidentArrays, HaveTheBitsOfAFedRunInTheFirstEpoch) {
  for (const bool is_ragged : {false, true}) {
    write(is_ragged);
    for (const char* devices : {"cpu", "cpu*2"})
      for (const char* precision : {"float32", "bfloat16"}) {
        SCOPED_TRACE(join(is_ragged ? "ragged " : "", devices, " ", precision));
        const Words words{"DEVICES", devices, "PRECISION", precision};
        const Trained fed = run_.train(kEpoch, words),
                      held = run_.train(kEpoch, with(words, kRowsResident));
        EXPECT_EQ(fed.losses, held.losses);
        EXPECT_TRUE(fed.state == held.state);
      }
  }
}

TEST_F(ResidentArrays, HaveTheBitsOfAFedRunInEveryEpochWithoutShuffling) {
  write(false);
  for (const char* devices : {"cpu", "cpu*2"}) {
    const Words words{"DATA.SHUFFLE", "false", "DEVICES", devices};
    EXPECT_TRUE(run_.train(3 * kEpoch, words).state ==
                run_.train(3 * kEpoch, with(words, kRowsResident)).state);
  }
  // With the loader's shuffling the second epoch differs.
  EXPECT_FALSE(run_.train(2 * kEpoch, {}).state == run_.train(2 * kEpoch, kRowsResident).state);
}

TEST_F(ResidentArrays, ResumeToTheSameBits) {
  const std::string checkpoint = folder_ / "c.safetensors";
  for (const bool is_ragged : {false, true}) {
    write(is_ragged);
    const Words words = with(kRowsResident, {"DEVICES", "cpu*2", "PRECISION", "bfloat16"});
    const Trained whole = run_.train(14, words, "", 6, checkpoint);
    EXPECT_TRUE(whole.state == run_.train(14, words, checkpoint).state);
  }
}

// Six minibatches of pictures with masks.
TEST(ResidentMasks, HaveTheBitsOfAFedRunInTheFirstEpoch) {
  TemporaryFolder folder;
  const RunOf<ArraysTask, read_arrays_config> run{folder / "config.yaml"};
  write_file(run.path, R"(MODEL: {TYPE: unet, NUM_CLASSES: 5, WIDTH: 4, DEPTH: 2}
DATA: {NAME: drawn_shapes, IMAGE_SIZE: 16, TRAIN_SIZE: 50, TEST_SIZE: 4}
TRAIN: {BATCH_SIZE: 8}
THREADS: 1
DEVICES: cpu*2
SOLVER: {TYPE: Adam, BASE_LR: 0.002, MAX_ITER: 6}
)");
  const Words words{"MODEL.LOSS", "{cross_entropy: [scores, mask]}"};
  const Trained fed = run.train(6, words), held = run.train(6, with(words, kRowsResident));
  EXPECT_EQ(fed.losses, held.losses);
  EXPECT_TRUE(fed.state == held.state);
}

// The error names the value as a fed run does.
TEST_F(ResidentArrays, NameAValueThatIsNotFinite) {
  write(false);
  std::vector<float> x = values_of<float>(read_npy(folder_ / "train/x.npy"));
  x[13 * 3 + 1] = NAN;
  write_npy(folder_ / "train/x.npy", Literal::of<float>(x, {24, 3}));
  std::vector<std::string> errors;
  for (const Words& words : {Words{}, kRowsResident}) {
    try {
      (void)run_.train(kEpoch, with(words, {"DEVICES", "cpu*2"}));
    } catch (const Error& error) {
      errors.emplace_back(error.what());
    }
  }
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[1].find("input 'x' of replica"), std::string::npos) << errors[1];
}

TEST_F(ResidentArrays, RefuseSeveralShapes) {
  write(true);
  ArraysTask task = run_.task(with(kRowsResident, {"DATA.BUCKETS", "[2, 5]"}));
  task.prepare();
  expect_error([&] { (void)task.steps(1); }, "TRAIN.RESIDENT keeps examples of one shape",
               "DATA.BUCKETS gives them 2 lengths");
  expect_error(
      [&] {
        (void)run_.task(with(kRowsResident, {"DATA.WHOLE", "true", "TRAIN.BATCH_SIZE", "1"}));
      },
      "TRAIN.RESIDENT", "DATA.WHOLE");
  const Words masks{"DATA.NAME", "image_masks", "DATA.ROOT", folder_.path(), "DATA.TRAIN",
                    "",          "DATA.TEST",   ""};
  expect_error([&] { (void)run_.task(with(kRowsResident, masks)); }, "TRAIN.RESIDENT",
               "DATA.FLIP mirrors pictures");
  expect_error(
      [&] {
        (void)run_.task(with(kRowsResident, with(masks, {"DATA.FLIP", "false"})));
      },
      "TRAIN.RESIDENT", "DATA.CROP_SCALE 0.25 crops");
}

constexpr const char* kResidentText = R"(THREADS: 1
MODEL: {TYPE: char_lstm, EMBEDDING: 8, HIDDEN: 16, DROPOUT: 0.2}
DATA: {FILES: ['*.txt'], LENGTH: 24}
TRAIN: {BATCH_SIZE: 32}
TEST: {SAMPLE_LENGTH: 0}
SOLVER: {TYPE: Adam, BASE_LR: 0.01, MAX_ITER: 60}
)";

class ResidentTextRun : public ::testing::Test {
 protected:
  ResidentTextRun() {
    const std::vector<std::string> words{"one", "step", "of", "many", "replicas", "sums"};
    PhiloxSequence random(1, 0);
    std::string text;
    while (text.size() < 13'000)
      text += words[static_cast<std::size_t>(random.below(6))] + (random.below(9) ? " " : ".\n");
    write_file(folder_ / "a.txt", text);
    write_file(run_.path, kResidentText);
  }
  Words words(const Words& more) const { return with({"DATA.ROOT", folder_.path()}, more); }

  TemporaryFolder folder_;
  RunOf<TextTask, read_text_config> run_{folder_ / "config.yaml"};
};

// 13,000 characters without the held-out ones are about 500 rows of 24: 15 minibatches.
TEST_F(ResidentTextRun, HasTheBitsOfAFedRunInTheFirstPass) {
  for (const char* devices : {"cpu", "cpu*2"})
    for (const char* precision : {"float32", "bfloat16"}) {
      SCOPED_TRACE(join(devices, " ", precision));
      const Words these = words({"DEVICES", devices, "PRECISION", precision});
      const Trained fed = run_.train(15, these), held = run_.train(15, with(these, kRowsResident));
      EXPECT_EQ(fed.losses, held.losses);
      EXPECT_TRUE(fed.state == held.state);
    }
}

TEST_F(ResidentTextRun, ResumesToTheSameBitsInALaterPass) {
  const std::string checkpoint = folder_ / "c.safetensors";
  const Words these = words(with(kRowsResident, {"DEVICES", "cpu*2"}));
  const Trained whole = run_.train(45, these, "", 29, checkpoint);
  EXPECT_TRUE(whole.state == run_.train(45, these, checkpoint).state);
}

TEST_F(ResidentTextRun, NeedsAMinibatchOfRows) {
  TextTask few = run_.task(words(with(kRowsResident, {"TRAIN.BATCH_SIZE", "600"})));
  few.prepare();
  expect_error([&] { (void)few.steps(1); }, "TRAIN.RESIDENT needs rows of text",
               "TRAIN.BATCH_SIZE 600");
  TextTask short_text = run_.task(words(with(kRowsResident, {"DATA.LENGTH", "9500"})));
  short_text.prepare();
  expect_error([&] { (void)short_text.steps(1); }, "DATA.FILES and DATA.LENGTH 9500");
}

}  // namespace
}  // namespace lockstep::testing
