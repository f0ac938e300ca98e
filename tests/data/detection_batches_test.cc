// SPDX-License-Identifier: Apache-2.0
// Minibatches of detectors: pictures, boxes and shapes match for any number of readers.
#include "data/detection/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "data/coco/write_annotations.h"
#include "data/formats/exif.h"
#include "graph/file.h"
#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using Read = std::vector<Literal>;

Read read_step(const DetectionBatches& batches, int64_t step) {
  Read read;
  std::vector<Tensor> tensors;
  for (const NamedDesc& each : batches.forms()[batches.form(step)])
    read.emplace_back(each.desc.dtype, each.desc.dims);
  for (Literal& literal : read) tensors.push_back(view_of(literal));
  for (int64_t item = 0; item < batches.items(); ++item) batches.read(step, item, tensors);
  return read;
}

DetectionBatchOptions small() {
  return {.batch = 4, .scales = {96, 128}, .longest = 200, .places = 12, .seed = 3};
}

TEST(DetectionBatches, AStepHoldsItsPicturesWithTheirBoxes) {
  const ScenePictures pictures({.count = 40});
  const DetectionBatches batches(pictures, small());
  const Annotations& table = pictures.annotations();
  EXPECT_NE(batches.text().find("pictures without a box left out"), std::string::npos)
      << batches.text();
  EXPECT_EQ(batches.shapes(), (std::vector<PictureSize>{{96, 96}, {128, 128}}));
  int mirrored_boxes = 0, both_scales = 0;
  for (int64_t step = 0; step < 12; ++step) {
    const Read read = read_step(batches, step);
    const PictureOrder::Step order = batches.order().step(step);
    const int64_t side = batches.shape(step).height;
    both_scales |= side == 96 ? 1 : 2;
    for (std::size_t item = 0; item < 4; ++item) {
      const auto number = static_cast<std::size_t>(read[2].values<int64_t>()[item]);
      const float scale = read[1].values<float>()[3 * item + 2];
      EXPECT_EQ(scale, static_cast<float>(side) / 128);
      LeftOut left_out;
      const std::vector<TrainingBox> boxes = training_boxes(table, number, -1, left_out);
      for (std::size_t place = 0; place < 12; ++place) {
        const std::size_t at = item * 12 + place;
        EXPECT_EQ(read[4].values<int64_t>()[at], place < boxes.size() ? boxes[place].kind : 0);
        if (place >= boxes.size()) continue;
        EXPECT_EQ(read[5].values<int64_t>()[at], boxes[place].crowd);
        const float left = read[3].values<float>()[4 * at];
        const bool mirrored = order.pictures[item].mirrored;
        EXPECT_EQ(left, mirrored ? 128 - boxes[place].corners[2] : boxes[place].corners[0]);
        mirrored_boxes += mirrored;
      }
    }
  }
  EXPECT_GT(mirrored_boxes, 0);
  EXPECT_EQ(both_scales, 3);
}

// Two processes read the same pictures as a single process, and a step does not depend on earlier
// steps.
TEST(DetectionBatches, ProcessesShareAStep) {
  const ScenePictures pictures({.count = 20});
  const DetectionBatches whole(pictures, small());
  DetectionBatchOptions half = small();
  half.first = 2;
  const DetectionBatches second(pictures, half);
  for (int64_t step : {9, 0, 31}) {
    const Read all = read_step(whole, step), part = read_step(second, step);
    for (std::size_t t = 0; t < all.size(); ++t) {
      const auto bytes = all[t].bytes(), last = part[t].bytes();
      ASSERT_EQ(bytes.size(), 2 * last.size());
      EXPECT_TRUE(std::equal(last.begin(), last.end(), bytes.begin() + bytes.size() / 2));
    }
  }
}

class WrittenPictures : public ::testing::Test {
 protected:
  // Pictures of 60 x 40 and 40 x 60 with a box each, as files.
  FilePictures pictures() {
    Annotations table;
    table.path = "made.json";
    table.categories.push_back({1, "thing", {}, {}});
    table.first_object.push_back(0);
    for (int32_t i = 0; i < 6; ++i) {
      const int64_t height = i < 3 ? 40 : 60, width = 100 - height;
      table.images.push_back({100 + i, join(i, ".png"), height, width});
      const Image image{height, width,
                        std::vector<uint8_t>(static_cast<std::size_t>(height * width * 3), 90)};
      write_file(folder_ / table.images.back().file, png_of(image));
      CocoObject object;
      object.id = i + 1;
      object.image = i;
      object.bbox = {5, 5, 20, 20};
      object.area = 400;
      table.objects.push_back(object);
      table.first_object.push_back(table.objects.size());
    }
    return FilePictures(folder_.path(), std::move(table));
  }
  static DetectionBatchOptions options() {
    return {
        .batch = 3, .scales = {40}, .longest = 60, .stride = 20, .places = 2, .mirrored = false};
  }

  TemporaryFolder folder_;
};

TEST_F(WrittenPictures, OfTwoShapesAreTwoGroups) {
  const FilePictures set = pictures();
  const DetectionBatches batches(set, options());
  EXPECT_EQ(batches.text(),
            "6 pictures, 2 shapes, 0.0 % padding: 40x60 (3 pictures), 60x40 (3 pictures)");
  for (int64_t step = 0; step < 4; ++step) {
    const Read read = read_step(batches, step);
    const bool high = read[1].values<float>()[0] > read[1].values<float>()[1];
    for (std::size_t item = 1; item < 3; ++item)
      EXPECT_EQ(read[1].values<float>()[3 * item] > read[1].values<float>()[3 * item + 1], high);
  }
}

TEST_F(WrittenPictures, ABadOneStopsTheRunByNameOrIsSkipped) {
  const FilePictures set = pictures();
  const auto read_all = [&](const DetectionBatches& batches) {
    for (int64_t step = 0; step < 2; ++step) read_step(batches, step);
  };
  write_file(folder_ / "1.png", png_of(Image{20, 20, std::vector<uint8_t>(1200)}));
  expect_error(
      [&] { read_all(DetectionBatches(set, options())); },
      "1.png: 20 pixels high and 20 wide, but image 101 of made.json is 40 high and 60 wide");
  write_file(folder_ / "1.png", "\x89PNG\r\n");
  expect_error([&] { read_all(DetectionBatches(set, options())); },
               "image 101 of made.json: ", "1.png",
               "set TRAIN.SKIP_BAD_IMAGES true to use another picture instead");
  std::filesystem::remove(folder_ / "1.png");
  expect_error([&] { read_all(DetectionBatches(set, options())); },
               "image 101 of made.json: cannot read '", "1.png': No such file");
  DetectionBatchOptions skipping = options();
  skipping.skip_bad_pictures = true;
  const DetectionBatches batches(set, skipping);
  read_all(batches);
  const SkippedPictures::Told told = batches.skipped().take(1);
  EXPECT_EQ(told.rows, 1);
  ASSERT_EQ(told.pictures.size(), 1U);
  EXPECT_NE(told.pictures[0].find("1.png"), std::string::npos) << told.pictures[0];
  for (int i = 0; i < 6; ++i) std::filesystem::remove(folder_ / join(i, ".png"));
  expect_error([&] { read_all(batches); }, ".png");
}

// If all pictures of a step are bad, a later step of the same shape supplies the pictures.
TEST_F(WrittenPictures, ABadOneOfAStepWithoutAGoodOneIsSkipped) {
  const FilePictures set = pictures();
  for (int i : {0, 1, 3}) std::filesystem::remove(folder_ / join(i, ".png"));
  for (const int64_t batch : {1, 2}) {
    SCOPED_TRACE(batch);
    DetectionBatchOptions skipping = options();
    skipping.batch = batch;
    skipping.skip_bad_pictures = true;
    const DetectionBatches batches(set, skipping);
    for (int64_t step = 0; step < 12; ++step) {
      const Read read = read_step(batches, step);
      const bool high = batches.shape(step).height == 60;
      for (int64_t number : read[2].values<int64_t>())
        EXPECT_TRUE(high ? number == 4 || number == 5 : number == 2) << "step " << step;
    }
    const SkippedPictures::Told told = batches.skipped().take(11);
    EXPECT_EQ(told.rows, 6 * batch);
    EXPECT_EQ(told.pictures.size(), 3U) << "each once";
  }
}

// Annotations fit the picture as stored or as viewers show it, by its size. If both have the same
// size, the picture is turned, as by Detectron's reader.
TEST_F(WrittenPictures, AreTurnedByExifWhereTheAnnotationsFit) {
  const Annotations table = pictures().annotations();  // 0: 40 high and 60 wide, 3: 60 and 40
  const auto put = [&](int number, const Image& image, uint32_t orientation) {
    put_file(folder_ / table.images[static_cast<std::size_t>(number)].file,
             png_with(png_of(image), png_chunk("eXIf", exif_block(orientation))));
  };
  const auto same = [](const Image& a, const Image& b) {
    return a.height == b.height && a.rgb == b.rgb;
  };
  const Image wide = gradient_image(40, 60), square = gradient_image(40, 40);
  for (const bool turns : {true, false}) {
    const FilePictures set(folder_.path(), table, turns);
    for (uint32_t orientation = 1; orientation <= 8; ++orientation) {
      SCOPED_TRACE(orientation);
      const int way = static_cast<int>(orientation);
      put(0, wide, orientation);
      put(3, wide, orientation);
      if (swaps_sides(way)) {
        EXPECT_TRUE(same(set.picture(0), wide));
        EXPECT_TRUE(same(set.picture(3), turned(wide, way)));
      } else {
        EXPECT_TRUE(same(set.picture(0), turns ? turned(wide, way) : wide));
        expect_error([&] { set.picture(3); }, "40 pixels high and 60 wide, but image 103");
      }
    }
  }
  put(0, square, 6);
  expect_error([&] { FilePictures(folder_.path(), table).picture(0); },
               "40 pixels high and 40 wide (before its EXIF block turns it), but image 100");
  Annotations squares = table;
  squares.images[0].width = 40;
  EXPECT_TRUE(same(FilePictures(folder_.path(), squares).picture(0), turned(square, 6)));
  EXPECT_TRUE(same(FilePictures(folder_.path(), squares, false).picture(0), square));
}

// Annotations made on the same machine may have absolute file names.
TEST_F(WrittenPictures, MayHaveAbsoluteNames) {
  Annotations table = pictures().annotations();
  for (CocoImage& image : table.images) image.file = folder_ / image.file;
  EXPECT_EQ(FilePictures("elsewhere", table).picture(4).height, 60);
}

TEST_F(WrittenPictures, WhatCannotBeTrainedOnIsRefused) {
  const FilePictures set = pictures();
  DetectionBatchOptions few = options();
  few.places = 0;
  expect_error([&] { DetectionBatches(set, few); },
               "made.json: image 100 has 1 boxes to train on, more than 0 (TRAIN.TRUE_BOXES)");
  few = options();
  few.least_area = 1000;
  expect_error(
      [&] { DetectionBatches(set, few); },
      "made.json: none of the 6 images has a box to train on; objects left out: 6 too small");
  few = options();
  few.first = 3;
  expect_error([&] { DetectionBatches(set, few); }, "are not within a step of 3");
  few = options();
  few.scales.clear();
  expect_error([&] { DetectionBatches(set, few); }, "there is no scale");
}

}  // namespace
}  // namespace lockstep::testing
