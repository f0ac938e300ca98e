// SPDX-License-Identifier: Apache-2.0
// Augmented data sets. check_augment.py compares each operation with torchvision's.
#include "data/augment/augment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/augment/colours.h"
#include "data/dataset.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

DatasetOptions digits(const Augmentation& augmentation, bool held_out = false) {
  return {.size = 20, .seed = 4, .held_out = held_out, .augmentation = augmentation};
}

std::vector<uint8_t> bytes_of(const Dataset& data, int64_t index, uint64_t draw) {
  std::vector<uint8_t> bytes(static_cast<std::size_t>(data.image_values()));
  int64_t label = 0;
  data.read_bytes(index, draw, bytes.data(), &label);
  return bytes;
}

const Augmentation kBoth{.rand_augment = {2, 12}, .jitter = {0.4, 0.3, 0.2, 0.1}};

TEST(Augmentation, IsAFunctionOfTheDraw) {
  const auto data = dataset_named(digits(kBoth)), same = dataset_named(digits(kBoth));
  int differing = 0;
  for (uint64_t draw = 0; draw < 20; ++draw) {
    EXPECT_EQ(bytes_of(*data, 3, draw), bytes_of(*same, 3, draw));
    differing += bytes_of(*data, 3, draw) != bytes_of(*data, 3, draw + 1);
  }
  EXPECT_GT(differing, 15);
}

TEST(Augmentation, OfFloatsIsTheNormalisedBytes) {
  const auto data = dataset_named(digits(kBoth));
  for (uint64_t draw = 0; draw < 10; ++draw) {
    const std::vector<uint8_t> bytes = bytes_of(*data, 5, draw);
    std::vector<float> floats(bytes.size());
    int64_t label = 0;
    data->read(5, draw, floats.data(), &label);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(floats[i], data->preparation().normalised(0, static_cast<float>(bytes[i])));
  }
}

TEST(Augmentation, LeavesHeldOutPicturesAndWhatIsOffAlone) {
  const auto plain = dataset_named(digits({})), held_out = dataset_named(digits({}, true));
  EXPECT_EQ(bytes_of(*held_out, 2, 9), bytes_of(*dataset_named(digits(kBoth, true)), 2, 9));
  const Augmentation weakest{.rand_augment = {3, 0}, .jitter = {}};
  const auto weak = dataset_named(digits(weakest));
  EXPECT_EQ(weak->size(), plain->size());
  EXPECT_EQ(weak->class_name(2), plain->class_name(2));
  expect_error([] { dataset_named({.name = "synthetic", .augmentation = kBoth}); }, "synthetic",
               "floats");
}

// A factor of 1 and a turn by nothing keep every byte; shapes of one pixel have no neighbours.
TEST(Augmentation, OfNothingIsNothing) {
  std::vector<uint8_t> bytes(3 * 5 * 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i);
  const std::vector<uint8_t> before = bytes;
  const BytePicture picture{3, 5, 4, bytes.data()};
  adjust_brightness(picture, 1);
  adjust_contrast(picture, 1);
  adjust_saturation(picture, 1);
  adjust_sharpness(picture, 1);
  posterize(picture, 8);
  solarize(picture, 256);
  EXPECT_EQ(bytes, before);
  for (const int64_t channels : {1, 3})
    for (std::size_t operation = 0; operation < augment_operations().size(); ++operation)
      apply_operation({channels, 1, 1, bytes.data()}, operation, kMostMagnitude, true);
}

}  // namespace
}  // namespace lockstep::testing
