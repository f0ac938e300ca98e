// SPDX-License-Identifier: Apache-2.0
// Networks with one channel on pictures with masks: scores or a Sigmoid, with or without a
// dimension for the channel; pixels without a class; pictures that EXIF turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/record/metrics.h"
#include "data/formats/png.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "operators/conv/conv.h"
#include "tests/support/drawn_files.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kSide = 16;

// The score of a bright pixel; `out` has a channel or not, and may be a probability.
void write_network(const std::string& path, bool is_probability, bool has_channel) {
  Graph graph(all_ops(), "net");
  const Value image = graph.input("image", {DType::float32, {"N", 3, kSide, kSide}});
  const Value w =
      graph.constant("w", Literal::of<float>(std::vector<float>{0.1F, 0, 0}, {1, 3, 1, 1}));
  const Value b = graph.constant("b", Literal::of<float>(std::vector<float>{0}, {1}));
  Value x = conv(graph, image, w, b, {}, Site("scores"));
  if (!has_channel)
    x = graph.add_value(
        {.type = "Squeeze", .inputs = {x, graph.constant("axes", Literal::vector({int64_t{1}}))}},
        Site("flat"));
  if (is_probability) x = graph.add_value({.type = "Sigmoid", .inputs = {x}}, Site("prob"));
  graph.output(x);
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

struct OneChannel {
  const char* loss;
  bool is_probability, has_channel;
};

class OneChannelFiles : public ::testing::Test {
 protected:
  // A bright rectangle of class 1 in a dark picture; the first row has no class.
  void SetUp() override {
    for (const bool held_out : {false, true}) {
      const std::string part = folder / (held_out ? "shapes/val" : "shapes/train");
      for (const char* kind : {"/images", "/masks"})
        std::filesystem::create_directories(part + kind);
      for (int64_t i = 0; i < (held_out ? 4 : 12); ++i) {
        Image picture{kSide, kSide, std::vector<uint8_t>(3 * kSide * kSide, 40)};
        PngValues mask{kSide, kSide, std::vector<uint8_t>(kSide * kSide, 0)};
        for (int64_t y = 0; y < kSide; ++y)
          for (int64_t x = 0; x < kSide; ++x) {
            const bool inside = y >= 2 + i % 5 && y < 9 + i % 5 && x >= 1 + i % 7 && x < 8 + i % 7;
            const int64_t at = y * kSide + x;
            if (inside) std::fill_n(picture.rgb.begin() + 3 * at, 3, 220);
            mask.values[at] = y == 0 ? 255 : inside;
          }
        const std::string name = "/" + std::to_string(i) + ".png";
        put_file(part + "/images" + name, png_of(picture));
        put_file(part + "/masks" + name, png_of(mask, mask_palette()));
      }
    }
  }
  Outcome train(const std::string& loss) {
    write_file(folder / "c.yaml",
               "MODEL: {ONNX: " + (folder / "net.onnx") + ", LOSS: {" + loss + ": [" + output +
                   ", mask]}}\nDATA: {NAME: image_masks, ROOT: " + (folder / "shapes") +
                   ", IMAGE_SIZE: 16, RESIZE: 16, CROP_SCALE: [1, 1]}\n"
                   "TEST: {METRICS: {iou: [" +
                   output +
                   ", mask]}}\nTRAIN: {BATCH_SIZE: 6}\n"
                   "DEVICES: cpu*2\nTHREADS: 1\nSOLVER: {TYPE: Adam, BASE_LR: 0.1, "
                   "WEIGHT_DECAY: 0, WARM_UP_ITERS: 0, MAX_ITER: 60}\n");
    return run_lockstep({"train", folder / "c.yaml", "OUTPUT_DIR", folder / "run"});
  }

  std::string output;
  TemporaryFolder folder;
};

class OneChannelMasks : public OneChannelFiles, public ::testing::WithParamInterface<OneChannel> {};

TEST_P(OneChannelMasks, TrainAndPredict) {
  const OneChannel& one = GetParam();
  write_network(folder / "net.onnx", one.is_probability, one.has_channel);
  output = one.is_probability ? "prob" : one.has_channel ? "scores" : "flat";
  const Outcome trained = train(one.loss);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  EXPECT_GT(value_of(rows.back(), "test_iou"), 0.95);
  EXPECT_GE(value_of(rows.back(), "test_loss"), 0);
  EXPECT_LT(value_of(rows.back(), "test_loss"), 0.2);
  const Outcome seen = run_lockstep(
      {"infer", folder / "run", folder / "shapes/val/images/0.png", "--out", folder / "out"});
  ASSERT_EQ(seen.exit_code, 0) << seen.err;
  const std::string truth = folder / "shapes/val/masks/0.png", found = folder / "out/0.png";
  const PngValues expected = decode_png_values({truth, read_file(truth)});
  const PngValues values = decode_png_values({found, read_file(found)});
  int64_t same = 0, counted = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (expected.values[i] == 255) continue;
    ++counted;
    same += values.values.at(i) == expected.values[i];
  }
  EXPECT_EQ(same, counted);
}

INSTANTIATE_TEST_SUITE_P(Losses, OneChannelMasks,
                         ::testing::Values(OneChannel{"bce", true, true},
                                           OneChannel{"bce", true, false},
                                           OneChannel{"bce", false, true},
                                           OneChannel{"mse", true, true},
                                           OneChannel{"huber", true, false}),
                         [](const auto& info) {
                           const OneChannel& one = info.param;
                           return std::string(one.loss) +
                                  (one.is_probability ? "_of_shares" : "_of_scores") +
                                  (one.has_channel ? "_with_channel" : "");
                         });

TEST_F(OneChannelFiles, PicturesThatExifTurnsAreRefused) {
  write_network(folder / "net.onnx", true, true);
  output = "prob";
  const std::string stem = folder / "shapes/train/images/0";
  std::filesystem::remove(stem + ".png");
  const Image picture{kSide, kSide, std::vector<uint8_t>(3 * kSide * kSide, 40)};
  put_file(stem + ".jpg",
           jpeg_with_exif(jpeg_of(picture), std::string("Exif\0\0", 6) + exif_block(3)));
  expect_refused(train("bce"), {"images/0.jpg", "orientation 3", "upright"});
}

}  // namespace
}  // namespace lockstep::testing
