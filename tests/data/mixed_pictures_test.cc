// SPDX-License-Identifier: Apache-2.0
// Mixed pictures of a batch, and the shares of steps.
#include "data/mixed_pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "data/labelled_images.h"
#include "graph/file.h"
#include "lockstep/loader.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kBatch = 6;

// The tensors of a step: images as numbers, then labels, second labels and their shares.
struct Batch {
  std::vector<double> images;
  std::vector<int64_t> labels, seconds;
  std::vector<float> shares;
};

Batch batch_of(const Dataset& data, const LabelledImagesOptions& options, int64_t step,
               int threads = 1) {
  const LabelledImages source(data, options);
  Loader loader(source, threads);
  const std::span<const Tensor> tensors = loader.get(step);
  const int64_t rows = source.items(), values = rows * data.image_values();
  Batch batch;
  for (int64_t i = 0; i < values; ++i)
    batch.images.push_back(options.bytes ? tensors[0].as<const uint8_t>()[i]
                                         : static_cast<double>(tensors[0].as<const float>()[i]));
  const int64_t* const labels = tensors[1].as<const int64_t>();
  batch.labels.assign(labels, labels + rows);
  if (tensors.size() == 2) return batch;
  const int64_t* const seconds = tensors[2].as<const int64_t>();
  batch.seconds.assign(seconds, seconds + rows);
  const float* const shares = tensors[3].as<const float>();
  batch.shares.assign(shares, shares + rows);
  return batch;
}

// The batch rolled by one and mixed, as torchvision's RandomMixup does it, but with the heavier
// label first.
TEST(MixedPictures, AreTheRolledBatchMixedIn) {
  const auto data = dataset_named({.size = 40});
  for (const bool bytes : {false, true}) {
    int smaller = 0;
    for (int64_t step = 0; step < 12; ++step) {
      LabelledImagesOptions options{.batch = kBatch, .seed = 5, .bytes = bytes};
      const Batch plain = batch_of(*data, options, step);
      options.mixup = 0.4;
      const Batch mixed = batch_of(*data, options, step);
      const double share = share_of_step(0.4, 5, step);
      smaller += share < 0.5;
      const int64_t values = data->image_values();
      for (int64_t row = 0; row < kBatch; ++row) {
        const int64_t other = (row + kBatch - 1) % kBatch;
        double far = 0;
        for (int64_t i = 0; i < values; ++i) {
          const double expected = share * plain.images[row * values + i] +
                                  (1 - share) * plain.images[other * values + i];
          far = std::max(far, std::abs(mixed.images[row * values + i] - expected));
        }
        EXPECT_LT(far, bytes ? 0.5001 : 1e-5);
        EXPECT_EQ(mixed.labels[row], plain.labels[share < 0.5 ? other : row]);
        EXPECT_EQ(mixed.seconds[row], plain.labels[share < 0.5 ? row : other]);
        EXPECT_FLOAT_EQ(mixed.shares[row], static_cast<float>(std::min(share, 1 - share)));
      }
    }
    EXPECT_GT(smaller, 0);
    EXPECT_LT(smaller, 12);
  }
}

TEST(MixedPictures, AreTheSameForAnyDivisionAndNumberOfThreads) {
  const auto data = dataset_named({.size = 40});
  const LabelledImagesOptions options{.batch = kBatch, .seed = 5, .mixup = 1};
  const Batch whole = batch_of(*data, options, 3), again = batch_of(*data, options, 3, 4);
  EXPECT_EQ(whole.images, again.images);
  EXPECT_EQ(whole.seconds, again.seconds);
  Batch joined;
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 3}, {4, 2}}) {
    LabelledImagesOptions part = options;
    part.first = first, part.count = count;
    const Batch own = batch_of(*data, part, 3);
    joined.images.insert(joined.images.end(), own.images.begin(), own.images.end());
    joined.labels.insert(joined.labels.end(), own.labels.begin(), own.labels.end());
    joined.seconds.insert(joined.seconds.end(), own.seconds.begin(), own.seconds.end());
  }
  EXPECT_EQ(whole.images, joined.images);
  EXPECT_EQ(whole.labels, joined.labels);
  EXPECT_EQ(whole.seconds, joined.seconds);
}

// The partner of a bad picture's row is the picture that replaces it, in any process.
TEST(MixedPictures, AreMixedWithThePicturesInPlaceOfBadOnes) {
  const TemporaryFolder folder;
  for (const char* part : {"train/a", "train/b", "val/a"}) {
    std::filesystem::create_directories(folder / part);
    for (int i = 0; i < 4; ++i)
      write_png(folder / join(part, "/", i, ".png"), gradient_image(20 + i, 24, i));
  }
  write_file(folder / "train/a/2.png", "no picture");
  const auto data = dataset_named(
      {.name = "image_folder", .root = folder.path(), .image_size = 16, .resize = 20});
  LabelledImagesOptions options{.batch = 8, .seed = 2, .in_place_of_bad = InPlaceOfBad::another};
  const Batch plain = batch_of(*data, options, 1);
  options.mixup = 1;
  const LabelledImages source(*data, options);
  const Batch mixed = batch_of(*data, options, 1);
  const double share = share_of_step(1, 2, 1);
  const int64_t values = data->image_values();
  double far = 0;
  for (int64_t i = 0; i < 8 * values; ++i) {
    const int64_t other = (i + 7 * values) % (8 * values);
    far = std::max(far, std::abs(mixed.images[i] - share * plain.images[i] -
                                 (1 - share) * plain.images[other]));
  }
  EXPECT_LT(far, 1e-5);
  std::vector<int64_t> memory_of_labels(8), seconds(8);
  std::vector<float> images(8 * values), shares(8);
  const std::vector<Tensor> tensors{{source.forms()[0][0].desc, images.data()},
                                    {source.forms()[0][1].desc, memory_of_labels.data()},
                                    {source.forms()[0][2].desc, seconds.data()},
                                    {source.forms()[0][3].desc, shares.data()}};
  for (int64_t item = 0; item < 8; ++item) source.read(1, item, tensors);
  const SkippedPictures::Told told = source.skipped().take(1);
  EXPECT_EQ(told.rows, 1) << "the bad picture is counted for its own row only";
  EXPECT_EQ(told.pictures.size(), 1u);
}

// Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)).
TEST(MixedPictures, HaveSharesOfTheBetaDistribution) {
  for (const double alpha : {0.05, 0.2, 1.0, 4.0}) {
    constexpr int64_t kSteps = 20'000;
    double sum = 0, squares = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      const double share = share_of_step(alpha, 3, step);
      ASSERT_TRUE(share >= 0 && share <= 1) << share;
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kSteps, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kSteps * (4 * (2 * alpha + 1)), 1, 0.04) << alpha;
  }
  EXPECT_EQ(share_of_step(1, 3, 7), share_of_step(1, 3, 7));
  EXPECT_NE(share_of_step(1, 3, 7), share_of_step(1, 4, 7));
}

}  // namespace
}  // namespace lockstep::testing
