// SPDX-License-Identifier: Apache-2.0
// `lockstep train`, `test` and `infer` of a network on pictures with masks.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/formats/png.h"
#include "data/npy.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "operators/conv/conv.h"
#include "runtime/state/safetensors.h"
#include "tests/support/drawn_files.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

class MasksCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    write_drawn_shapes(folder / "shapes", 24, 12, 5);
    write_file(folder / "c.yaml",
               "MODEL: {TYPE: unet, NUM_CLASSES: 4, WIDTH: 4, DEPTH: 2, LOSS: {cross_entropy: "
               "{of: scores, to: mask, ignore: 255}}}\n"
               "DATA: {NAME: image_masks, ROOT: " +
                   (folder / "shapes") +
                   ", IMAGE_SIZE: 16, RESIZE: 20}\n"
                   "TEST: {METRICS: {iou: {of: scores, to: mask, ignore: 255}}}\n"
                   "TRAIN: {BATCH_SIZE: 4, LOG_ITERS: 5}\nTHREADS: 1\n"
                   "SOLVER: {TYPE: Adam, BASE_LR: 0.01, WEIGHT_DECAY: 0, WARM_UP_ITERS: 0, "
                   "MAX_ITER: 6}\n");
  }

  Outcome command(const std::string& name, const std::string& run,
                  std::vector<std::string> more = {}) {
    more.insert(more.begin(), {name, folder / "c.yaml"});
    more.insert(more.end(), {"OUTPUT_DIR", folder / run});
    return run_lockstep(more);
  }
  StateValues trained(const std::string& run, const std::vector<std::string>& more) {
    const Outcome outcome = command("train", run, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  }
  void expect_train_refused(const std::vector<std::string>& words,
                            const std::vector<std::string>& parts) {
    expect_refused(command("train", "refused", words), parts);
  }
  PngValues mask_in(const std::string& path) { return decode_png_values({path, read_file(path)}); }

  TemporaryFolder folder;
};

TEST_F(MasksCommand, TrainsTestsAndPredicts) {
  const Outcome trained = command("train", "run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("held-out iou"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("pictures of 16 x 16 pixels with masks"), std::string::npos)
      << trained.out;
  EXPECT_NE(trained.out.find("12 examples to train on, 5 to test on"), std::string::npos);
  const std::string report = read_file(folder / "run/report.html");
  for (const char* part : {"Worst examples by iou", "scenes three", "0.png: truth"})
    EXPECT_NE(report.find(part), std::string::npos) << part;

  const Outcome tested = command("test", "run");
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_NE(tested.out.find("iou "), std::string::npos) << tested.out;
  EXPECT_NE(tested.out.find("5 examples"), std::string::npos) << tested.out;

  // Pictures of another size, by the run and by its network.
  const std::string pictures = folder / "pictures";
  std::filesystem::create_directory(pictures);
  std::filesystem::copy_file(folder / "shapes/val/images/0.png", pictures + "/zero.png");
  put_file(pictures + "/wide.png", png_of(Image{20, 28, std::vector<uint8_t>(3 * 20 * 28, 70)}));
  std::string first;
  for (const char* source : {"run", "run/model.onnx"}) {
    const std::string out = folder / ("out" + std::to_string(first.size()));
    const Outcome seen = run_lockstep({"infer", folder / source, pictures, "--out", out});
    ASSERT_EQ(seen.exit_code, 0) << seen.err;
    EXPECT_NE(seen.out.find("wide.png"), std::string::npos) << seen.out;
    const PngValues wide = mask_in(out + "/wide.png");
    EXPECT_EQ(wide.height, 20);
    EXPECT_EQ(wide.width, 28);
    for (const uint8_t label : wide.values) EXPECT_LT(label, 4);
    EXPECT_EQ(mask_in(out + "/zero.png").height, 24);
    const Image overlay = read_image(out + "/zero.overlay.jpg");
    EXPECT_EQ(overlay.height, 24);
    const std::string bytes = read_file(out + "/zero.png");
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << source;
  }
}

TEST_F(MasksCommand, TrainsOnReplicasInHalfPrecisionAndOnDrawnShapes) {
  const std::vector<std::string> shapes{"DATA.NAME",       "drawn_shapes",
                                        "DATA.ROOT",       "",
                                        "DATA.RESIZE",     "256",
                                        "DEVICES",         "cpu*2",
                                        "DATA.TRAIN_SIZE", "9",
                                        "PRECISION",       "bfloat16",
                                        "DATA.TEST_SIZE",  "3",
                                        "DATA.THREADS",    "1"};
  const Outcome outcome = command("train", "shapes_run", shapes);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("9 examples to train on, 3 to test on"), std::string::npos)
      << outcome.out;
}

// The result of a test does not depend on the division of the pictures.
TEST_F(MasksCommand, TestsOnSeveralReplicasAndProcesses) {
  ASSERT_EQ(command("train", "run").exit_code, 0);
  const std::string weights = folder / "run/checkpoint.safetensors";
  const auto iou = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t at = outcome.out.find("iou ");
    return at == std::string::npos ? "" : outcome.out.substr(at, outcome.out.find(',', at) - at);
  };
  const std::string one = iou(command("test", "run", {"--weights", weights}));
  EXPECT_NE(one, "");
  EXPECT_EQ(iou(command("test", "run", {"--weights", weights, "DEVICES", "cpu*3"})), one);
  EXPECT_EQ(iou(run_lockstep({"launch", "-n", "2", "--", run_path(), "test", folder / "c.yaml",
                              "--weights", weights, "OUTPUT_DIR", folder / "run"})),
            one);
}

TEST_F(MasksCommand, ResumesToTheSameBits) {
  const StateValues whole = trained("whole", {"SOLVER.MAX_ITER", "8", "DATA.THREADS", "1"});
  trained("cut", {"SOLVER.MAX_ITER", "4"});
  EXPECT_TRUE(whole == trained("cut", {"--resume", "SOLVER.MAX_ITER", "8", "DATA.THREADS", "3"}));
  write_drawn_shapes(folder / "shapes", 24, 13, 5);
  expect_refused(command("train", "cut", {"--resume", "SOLVER.MAX_ITER", "12"}),
                 {"the pictures of DATA.ROOT"});
}

TEST_F(MasksCommand, RefusesBadConfigurationsByName) {
  expect_train_refused({"MODEL.NUM_CLASSES", "0"}, {"command line", "MODEL.NUM_CLASSES is 0"});
  expect_train_refused({"DATA.IMAGE_SIZE", "18"},
                       {"DATA.IMAGE_SIZE 18 cannot be halved 2 times", "multiple of 4"});
  expect_train_refused({"DATA.ROOT", ""}, {"DATA.ROOT names no folder"});
  expect_train_refused({"DATA.ROOT", folder / "nowhere"}, {"nowhere/train/images"});
  expect_train_refused({"DATA.RESIZE", "12"}, {"DATA.RESIZE is 12"});
  expect_train_refused({"DATA.CROP_SCALE", "[0.5]"}, {"DATA.CROP_SCALE", "[0.25, 1]"});
  expect_train_refused({"DATA.TRAIN", "x"},
                       {"DATA.TRAIN is a key of DATA.NAME arrays", "DATA.NAME is image_masks"});
  expect_train_refused({"MODEL.ONNX", "x.onnx"},
                       {"MODEL.ONNX is a key of MODEL.TYPE arrays", "MODEL.TYPE is unet"});
  expect_train_refused({"DATA.NAME", "arrays", "DATA.ROOT", "", "DATA.IMAGE_SIZE", "224",
                        "DATA.RESIZE", "256", "DATA.TRAIN", "x", "DATA.TEST", "x"},
                       {"MODEL.TYPE unet reads pictures", "DATA.NAME is arrays"});
  expect_train_refused({"DATA.NAME", "image_mask"}, {"DATA.NAME should be one of", "image_masks"});
  expect_train_refused({"DATA.SOURCES", "{images: image}"}, {"DATA.SOURCES names 'images'"});
  expect_train_refused({"MODEL.LOSS", "{cross_entropy: [scores, masks]}"},
                       {"DATA.SOURCES", "'masks'", "{masks: image}"});
  expect_train_refused({"MODEL.NUM_CLASSES", "2"}, {"masks/", "has class", "2 classes"});
  std::filesystem::remove(folder / "shapes/val/masks/3.png");
  expect_train_refused({}, {"val/images/3.png", "has no mask"});
}

TEST_F(MasksCommand, PredictionsNameBadFiles) {
  ASSERT_EQ(command("train", "run", {"SOLVER.MAX_ITER", "1"}).exit_code, 0);
  const std::string pictures = folder / "pictures", out = folder / "out";
  std::filesystem::create_directory(pictures);
  put_file(pictures + "/a.png", png_of(Image{9, 9, std::vector<uint8_t>(3 * 9 * 9, 70)}));
  const auto infer = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"infer", folder / "run"};
    words.insert(words.end(), more.begin(), more.end());
    return run_lockstep(words);
  };
  expect_refused(infer({pictures}), {"--out is missing"});
  put_file(pictures + "/a.jpg", jpeg_of(Image{9, 9, std::vector<uint8_t>(3 * 9 * 9, 70)}));
  expect_refused(infer({pictures, "--out", out}), {"a.png", "a.jpg", "same name"});
  std::filesystem::remove(pictures + "/a.jpg");
  put_file(pictures + "/b.png", "no picture");
  expect_refused(infer({pictures, "--out", out}), {"b.png", "1 picture could not be read"});
  EXPECT_EQ(mask_in(out + "/a.png").height, 9);
  EXPECT_FALSE(std::filesystem::exists(out + "/b.png"));
}

// The held-out pictures, written as arrays, give the same test.
TEST_F(MasksCommand, TestsAsArraysOfTheSamePictures) {
  const auto set =
      image_masks({.root = folder / "shapes", .held_out = true, .image_size = 16, .resize = 20});
  Literal images(DType::float32, {5, 3, 16, 16}), masks(DType::int64, {5, 16, 16});
  const std::vector<MaskedFeed> feeds{{.name = "image"}, {.name = "mask", .is_mask = true}};
  const std::vector<Tensor> tensors{view_of(images), view_of(masks)};
  for (int64_t i = 0; i < 5; ++i) write_masked(*set, i, 0, i, feeds, tensors);
  std::filesystem::create_directory(folder / "arrays");
  write_npy(folder / "arrays/image.npy", images);
  write_npy(folder / "arrays/mask.npy", masks);

  Graph graph(all_ops(), "net");
  const Value image = graph.input("image", {DType::float32, {"batch", 3, 16, 16}});
  std::vector<float> w(12);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.1F * static_cast<float>(i % 5) - 0.2F;
  const Value filter = graph.constant("w", Literal::of<float>(w, {4, 3, 1, 1}));
  graph.output(conv(graph, image, filter, none, {}, Site("scores")));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  const auto tested = [&](const std::string& data) {
    write_file(folder / "c.yaml",
               "MODEL: {ONNX: " + (folder / "net.onnx") +
                   ", LOSS: {cross_entropy: [scores, mask]}}\nDATA: {" + data +
                   "}\nTEST: {METRICS: {iou: [scores, mask]}}\nTRAIN: {BATCH_SIZE: 4}\n"
                   "THREADS: 1\nSOLVER: {TYPE: Adam, MAX_ITER: 3}\n");
    if (!std::filesystem::exists(folder / "run")) {
      EXPECT_EQ(command("train", "run").exit_code, 0);
    }
    const Outcome outcome =
        command("test", "run", {"--weights", folder / "run/checkpoint.safetensors"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string arrays =
      tested("NAME: arrays, TRAIN: " + (folder / "arrays") + ", TEST: " + (folder / "arrays"));
  EXPECT_NE(arrays.find("iou "), std::string::npos) << arrays;
  EXPECT_EQ(
      tested("NAME: image_masks, ROOT: " + (folder / "shapes") + ", IMAGE_SIZE: 16, RESIZE: 20"),
      arrays);
}

// A network of a file whose output has the shape of the picture, and whose names differ.
TEST_F(MasksCommand, ShowsPicturesThatANetworkMakes) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {"batch", 3, 16, 16}});
  std::vector<float> w(9);
  w[0] = w[4] = w[8] = 0.5F;
  const Value filter = graph.constant("w", Literal::of<float>(w, {3, 3, 1, 1}));
  graph.output(conv(graph, x, filter, none, {}, Site("out")));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  write_file(folder / "c.yaml",
             "MODEL: {ONNX: " + (folder / "net.onnx") + ", LOSS: {mse: [out, x]}}\n" +
                 "DATA: {NAME: image_masks, ROOT: " + (folder / "shapes") +
                 ", IMAGE_SIZE: 16, RESIZE: 16, SOURCES: {x: image}}\n"
                 "TEST: {METRICS: {mean_error: [out, x]}}\nTRAIN: {BATCH_SIZE: 4}\nTHREADS: 1\n"
                 "SOLVER: {TYPE: Adam, BASE_LR: 0.05, WEIGHT_DECAY: 0, MAX_ITER: 40}\n");
  const Outcome trained = command("train", "run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(read_file(folder / "run/report.html").find("Worst examples by mean_error"),
            std::string::npos);
  const Outcome seen = run_lockstep(
      {"infer", folder / "run", folder / "shapes/val/images/0.png", "--out", folder / "out"});
  ASSERT_EQ(seen.exit_code, 0) << seen.err;
  const Image made = read_image(folder / "out/0.out.png");
  EXPECT_EQ(made.height, 16);
  EXPECT_EQ(made.width, 16);
}

}  // namespace
}  // namespace lockstep::testing
