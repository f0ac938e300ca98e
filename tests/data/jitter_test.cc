// SPDX-License-Identifier: Apache-2.0
// Pictures of training: negatives, a scale for each picture, large-scale jitter.
#include "data/detection/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/detection/batches.h"
#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"

namespace lockstep::testing {
namespace {

// Indices of a step's tensors.
enum JitterPlace { kPixels, kExtents, kNumbers, kTrueBoxes, kTrueClasses };

std::vector<Literal> jitter_step(const DetectionBatches& batches, int64_t step) {
  std::vector<Literal> read;
  std::vector<Tensor> tensors;
  for (const NamedDesc& each : batches.forms()[batches.form(step)])
    read.emplace_back(each.desc.dtype, each.desc.dims);
  for (Literal& literal : read) tensors.push_back(view_of(literal));
  for (int64_t item = 0; item < batches.items(); ++item) batches.read(step, item, tensors);
  return read;
}

bool same_bytes(const Literal& a, const Literal& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

// Scenes; some have no object, or a crowd alone.
DetectionBatchOptions jitter_options() {
  DetectionBatchOptions options;
  options.batch = 4;
  options.scales = {96, 128};
  options.longest = 200;
  options.places = 12;
  options.seed = 3;
  return options;
}

TEST(EmptyPictures, AreNegativesIfWished) {
  const ScenePictures pictures({.count = 60});
  const Annotations& table = pictures.annotations();
  std::set<std::size_t> without_object, without_box;
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    LeftOut ignored;
    const auto boxes = training_boxes(table, i, -1, ignored);
    if (table.objects_of(i).empty()) without_object.insert(i);
    if (std::ranges::all_of(boxes, [](const auto& box) { return box.crowd; }))
      without_box.insert(i);
  }
  ASSERT_FALSE(without_object.empty());
  const auto kept = [&](bool empty) {
    DetectionBatchOptions options = jitter_options();
    options.empty_pictures = empty;
    const DetectionBatches batches(pictures, options);
    EXPECT_EQ(batches.text().find("without an object as background") != std::string::npos, empty)
        << batches.text();
    const auto numbers = batches.pictures();
    return std::set<std::size_t>(numbers.begin(), numbers.end());
  };
  const std::set<std::size_t> usual = kept(false), all = kept(true);
  EXPECT_EQ(usual.size() + without_box.size(), 60U);
  EXPECT_EQ(all.size(), usual.size() + without_object.size());
  for (std::size_t i : without_object) EXPECT_TRUE(all.contains(i) && !usual.contains(i)) << i;

  DetectionBatchOptions options = jitter_options();
  options.empty_pictures = true;
  const DetectionBatches batches(pictures, options);
  int negatives = 0;
  for (int64_t step = 0; step < 30; ++step) {
    const std::vector<Literal> read = jitter_step(batches, step);
    for (std::size_t item = 0; item < 4; ++item) {
      if (!without_object.contains(read[kNumbers].values<int64_t>()[item])) continue;
      ++negatives;
      for (std::size_t place = 0; place < 12; ++place)
        EXPECT_EQ(read[kTrueClasses].values<int64_t>()[item * 12 + place], 0);
    }
  }
  EXPECT_EQ(negatives, 2 * static_cast<int>(without_object.size()))
      << "30 steps of 4 are an epoch of 60 pictures, each once as it is and once mirrored";
}

TEST(EmptyPictures, AloneAreRefused) {
  Annotations table;
  table.path = "none.json";
  table.categories = {{1, "thing", {}, {}}};
  table.images = {{1, "a.png", 40, 60}};
  table.first_object = {0, 0};
  const FilePictures pictures("", table);
  DetectionBatchOptions options = jitter_options();
  options.empty_pictures = true;
  expect_error([&] { DetectionBatches(pictures, options); },
               "none.json: none of the 1 images has a box to train on");
}

// A picture's scale depends on the seed, the step and its place in the step, not on the process.
TEST(Scales, AreDrawnForEachPicture) {
  const ScenePictures pictures({.count = 40});
  DetectionBatchOptions options = jitter_options();
  options.scale_per_picture = true;
  const DetectionBatches whole(pictures, options);
  options.first = 2;
  const DetectionBatches part(pictures, options);
  int mixed = 0;
  for (int64_t step = 0; step < 20; ++step) {
    const std::vector<Literal> all = jitter_step(whole, step);
    const auto extents = all[kExtents].values<float>();
    float largest = 0, smallest = 1000;
    for (std::size_t item = 0; item < 4; ++item) {
      const float side = extents[3 * item];
      EXPECT_TRUE(side == 96 || side == 128) << side;
      EXPECT_EQ(extents[3 * item + 2], side / 128);
      largest = std::max(largest, side);
      smallest = std::min(smallest, side);
    }
    EXPECT_EQ(whole.shape(step).height, largest) << "the step is padded to its largest picture";
    mixed += largest != smallest;
    const std::vector<Literal> last = jitter_step(part, step);
    EXPECT_TRUE(std::ranges::equal(last[kExtents].values<float>(), extents.subspan(6)));
    EXPECT_TRUE(std::ranges::equal(last[kPixels].bytes(),
                                   all[kPixels].bytes().subspan(all[kPixels].bytes().size() / 2)));
  }
  EXPECT_GT(mixed, 10);
  options.first = 0;
  options.seed = 4;
  const DetectionBatches other(pictures, options);
  int different = 0;
  for (int64_t step = 0; step < 20; ++step)
    different +=
        !same_bytes(jitter_step(other, step)[kExtents], jitter_step(whole, step)[kExtents]);
  EXPECT_GT(different, 5);
}

TEST(Jitter, FillsOneSizeAndCutsBoxes) {
  const ScenePictures pictures({.count = 40});
  DetectionBatchOptions options = jitter_options();
  options.jitter = {{96, 160}, 0.3, 2};
  const DetectionBatches batches(pictures, options);
  EXPECT_EQ(batches.shapes(), (std::vector<PictureSize>{{96, 160}}));
  EXPECT_NE(batches.text().find("scaled at random, to 96x160"), std::string::npos);
  options.first = 2;
  const DetectionBatches part(pictures, options);
  int cropped = 0, smaller = 0, dropped = 0;
  for (int64_t step = 0; step < 25; ++step) {
    const std::vector<Literal> read = jitter_step(batches, step);
    const auto extents = read[kExtents].values<float>();
    const auto boxes = read[kTrueBoxes].values<float>();
    const auto classes = read[kTrueClasses].values<int64_t>();
    for (std::size_t item = 0; item < 4; ++item) {
      const float height = extents[3 * item], width = extents[3 * item + 1];
      const float scale = extents[3 * item + 2];
      EXPECT_TRUE(height <= 96 && width <= 160);
      EXPECT_GE(scale, 0.3F * 96 / 128);
      EXPECT_LE(scale, 2.0F * 96 / 128);
      cropped += 128 * scale > 97;
      smaller += height < 90;
      std::size_t used = 0;
      for (std::size_t place = 0; place < 12; ++place) {
        const std::size_t at = item * 12 + place;
        if (classes[at] == 0) continue;
        EXPECT_EQ(used++, place) << "the slots in use come first";
        const float *box = &boxes[4 * at], slack = 1e-3F;
        EXPECT_GT(box[2] - box[0], 1);
        EXPECT_GT(box[3] - box[1], 1);
        EXPECT_TRUE(box[0] >= 0 && box[1] >= 0);
        EXPECT_LE(box[2] * scale, width + slack);
        EXPECT_LE(box[3] * scale, height + slack);
      }
      LeftOut ignored;
      const auto number = static_cast<std::size_t>(read[kNumbers].values<int64_t>()[item]);
      dropped += used < training_boxes(pictures.annotations(), number, -1, ignored).size();
    }
    const std::vector<Literal> last = jitter_step(part, step);
    EXPECT_TRUE(
        std::ranges::equal(last[kTrueBoxes].values<float>(), boxes.subspan(boxes.size() / 2)));
  }
  EXPECT_GT(cropped, 20);
  EXPECT_GT(smaller, 20);
  EXPECT_GT(dropped, 5);
}

// The pixels and boxes of a part equal the same part of the whole picture.
TEST(Jitter, ShowsAPartOfTheScaledPicture) {
  const Image image = gradient_image(40, 60);
  const CocoImage annotated{1, "", 40, 60};
  PhiloxSequence random(5, 6);
  const PicturePlace place = jittered(annotated, {{32, 32}, 1.9, 2}, random);
  const PictureCrop& crop = place.crop;
  ASSERT_TRUE(crop.height == 32 && crop.width == 32);
  ASSERT_GT(place.scale.width, 55);
  for (const bool mirrored : {false, true}) {
    std::vector<float> whole(3 * place.scale.height * place.scale.width), part(3 * 32 * 32);
    write_picture(image, place.scale, {.mirrored = mirrored},
                  {whole.data(), place.scale.height, place.scale.width});
    write_picture(image, place.scale, {.mirrored = mirrored, .crop = crop}, {part.data(), 32, 32});
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 32; ++y)
        for (int64_t x = 0; x < 32; ++x)
          ASSERT_EQ(
              part[(c * 32 + y) * 32 + x],
              whole[(c * place.scale.height + crop.top + y) * place.scale.width + crop.left + x]);
  }
  const auto scale = static_cast<float>(place.scale.scale);
  const Corners box = cut(Corners{20, 15, 40, 30}, place);
  EXPECT_NEAR(box[0] * scale, std::max(0.0F, 20 * scale - static_cast<float>(crop.left)), 1e-3);
  EXPECT_NEAR(box[3] * scale, std::min(32.0F, 30 * scale - static_cast<float>(crop.top)), 1e-3);
  std::vector<float> part(3 * 32 * 32);
  expect_error(
      [&] {
        write_picture(image, {1, 20, 30}, {.crop = {0, 20, 10, 11}}, {part.data(), 32, 32});
      },
      "a picture scaled to 20 x 30 has no part of 10 x 11 at 0, 20");
}

// A picture that is scaled to less than a pixel still has one.
TEST(Jitter, LeavesAPixelOfANarrowPicture) {
  PhiloxSequence random(5, 6);
  const PicturePlace place = jittered({1, "", 1, 4000}, {{64, 64}, 0.01, 0.01}, random);
  EXPECT_EQ(place.scale.height, 1);
  EXPECT_EQ(place.crop.height, 1);
}

}  // namespace
}  // namespace lockstep::testing
