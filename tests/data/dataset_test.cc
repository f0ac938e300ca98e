// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "data/labelled_images.h"
#include "lockstep/error.h"
#include "lockstep/loader.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(EpochOrder, EveryEpochIsAPermutation) {
  EpochOrder order(37, 5);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < 37; ++i) seen.push_back(order.at(epoch * 37 + i));
    EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 37u);
    epochs.push_back(seen);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(EpochOrder, CanBeEnteredAnywhere) {
  EpochOrder forwards(20, 5), elsewhere(20, 5);
  for (int64_t i = 0; i < 60; ++i) forwards.at(i);
  EXPECT_EQ(elsewhere.at(47), forwards.at(47));
  EXPECT_EQ(elsewhere.at(3), forwards.at(3));
}

TEST(Digits, TheSeedDecidesAndHeldOutIsOther) {
  auto pixels = [](uint64_t seed, bool held_out) {
    auto data = dataset_named({.size = 50, .seed = seed, .held_out = held_out});
    std::vector<float> all(50 * data->image_values());
    int64_t label = 0;
    for (int64_t i = 0; i < 50; ++i)
      data->read(i, 0, all.data() + i * data->image_values(), &label);
    return all;
  };
  EXPECT_EQ(pixels(1, false), pixels(1, false));
  EXPECT_NE(pixels(1, false), pixels(2, false));
  EXPECT_NE(pixels(1, false), pixels(1, true));
}

TEST(Digits, HasAllClassesAndInk) {
  auto data = dataset_named({.size = 500});
  std::set<int64_t> seen;
  std::vector<float> image(data->image_values());
  for (int64_t i = 0; i < data->size(); ++i) {
    int64_t label = -1;
    data->read(i, 0, image.data(), &label);
    seen.insert(label);
    int dark = 0;
    for (float value : image) dark += value > 1;
    EXPECT_GT(dark, 20) << "digit " << label << " at " << i;
    EXPECT_LT(dark, 400) << "digit " << label << " at " << i;
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Dataset, BadRequestsAreNamed) {
  expect_error([] { dataset_named({.name = "mnist2"}); }, "'mnist2'", "digits",
               "did you mean 'mnist'? Known: digits, ");
  expect_error([] { dataset_named({.name = "imagenet"}); },
               "there is no data set 'imagenet'; known: digits, synthetic, ");
  expect_error([] { dataset_named({.name = "image_folder"}); },
               "DATA.ROOT is empty; it should name the folder that holds train/ and val/");
  expect_error([] { dataset_named({.size = 0}); }, "0 images");
}

TEST(Dataset, PreparesAsItSaysWithoutItsFiles) {
  for (const char* name : {"digits", "synthetic"}) {
    const DatasetOptions options{.name = name, .size = 3, .image_size = 12};
    const Preparation made = dataset_named(options)->preparation(), said = preparation_of(options);
    EXPECT_EQ(made.values(), said.values());
    EXPECT_EQ(made.mean, said.mean);
    EXPECT_EQ(made.deviation, said.deviation);
  }
}

TEST(Dataset, OfFloatsHasNoBytes) {
  const DatasetOptions options{.name = "synthetic", .image_size = 12};
  EXPECT_FALSE(has_bytes(options));
  uint8_t byte = 0;
  int64_t label = 0;
  expect_error([&] { dataset_named(options)->read_bytes(0, 0, &byte, &label); },
               "not made of bytes");
}

// -- Loader

TEST(Loader, SaysWhenTheNextStepNeedsNoWait) {
  const auto data = dataset_named({.size = 20});
  const LabelledImages source(*data, {.batch = 7});
  Loader loader(source, 2);
  EXPECT_FALSE(loader.is_ready(0)) << "no reads before the first step";
  for (int64_t step = 4; step < 10; ++step) {
    loader.get(step);
    EXPECT_FALSE(loader.is_ready(step));
    EXPECT_FALSE(loader.is_ready(step + 2)) << "get() would restart the readers";
    while (!loader.is_ready(step + 1)) std::this_thread::yield();
  }
}

TEST(Loader, GivesBytesIfAsked) {
  const auto data = dataset_named({.size = 20});
  const LabelledImages bytes(*data, {.batch = 7, .seed = 4, .bytes = true});
  const LabelledImages floats(*data, {.batch = 7, .seed = 4});
  Loader of_bytes(bytes, 2), of_floats(floats, 2);
  for (int64_t step = 0; step < 4; ++step) {
    const std::span<const Tensor> a = of_bytes.get(step), b = of_floats.get(step);
    ASSERT_EQ(a[0].desc.dtype, DType::uint8);
    ASSERT_EQ(a[0].desc.dims, b[0].desc.dims);
    for (int64_t i = 0; i < a[0].count(); ++i)
      EXPECT_EQ(b[0].as<float>()[i],
                data->preparation().normalised(0, static_cast<float>(a[0].as<uint8_t>()[i])));
    EXPECT_TRUE(std::equal(a[1].as<int64_t>(), a[1].as<int64_t>() + 7, b[1].as<int64_t>()));
  }
}

std::vector<float> batches(const Dataset& data, int threads, const std::vector<int64_t>& steps) {
  const LabelledImages source(data, {.batch = 7, .seed = 4});
  Loader loader(source, threads);
  std::vector<float> all;
  for (int64_t step : steps) {
    const std::span<const Tensor> batch = loader.get(step);
    all.insert(all.end(), batch[0].as<float>(), batch[0].as<float>() + batch[0].count());
    for (int64_t i = 0; i < 7; ++i) all.push_back(static_cast<float>(batch[1].as<int64_t>()[i]));
  }
  return all;
}

TEST(Loader, GivesTheSameBatchesWhateverTheThreads) {
  auto data = dataset_named({.name = "synthetic", .size = 30, .image_size = 12});
  const std::vector<int64_t> steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto one = batches(*data, 1, steps);
  for (int threads : {2, 5, 16}) EXPECT_EQ(one, batches(*data, threads, steps)) << threads;
}

TEST(Loader, CanBeEnteredAnywhere) {
  auto data = dataset_named({.name = "synthetic", .size = 30, .image_size = 12});
  const auto ordered = batches(*data, 3, {4, 5, 2, 3});
  const std::size_t size = ordered.size() / 4;
  auto part = [&](const std::vector<float>& all, std::size_t i) {
    return std::vector<float>(all.begin() + i * size, all.begin() + (i + 1) * size);
  };
  EXPECT_EQ(part(ordered, 1), batches(*data, 1, {5}));
  EXPECT_EQ(part(ordered, 2), batches(*data, 1, {2}));
}

// Image 13 cannot be read the first time.
class Damaged final : public Dataset {
 public:
  Damaged() : Dataset({1, 2, 2, 2}) {}
  int64_t size() const override { return 20; }
  int64_t classes() const override { return 20; }
  void read(int64_t index, uint64_t, float* image, int64_t* label) const override {
    check(index != 13 || mended, "image ", index, " is damaged");
    std::fill_n(image, 4, 1.0F);
    *label = index;
  }
  bool mended = false;
};

TEST(Loader, AnUnreadableImageIsAnErrorOfItsBatchAlone) {
  Damaged data;
  const LabelledImages source(data, {.batch = 5, .shuffle = false});
  Loader loader(source, 3);
  const auto label = [&](int64_t step, int64_t row) {
    return loader.get(step)[1].as<int64_t>()[row];
  };
  EXPECT_EQ(label(0, 4), 4);
  EXPECT_EQ(label(1, 0), 5);
  expect_error([&] { loader.get(2); }, "image 13 is damaged");
  expect_error([&] { loader.get(2); }, "image 13 is damaged");
  EXPECT_EQ(label(3, 0), 15);
  data.mended = true;
  EXPECT_EQ(label(2, 3), 13);
  EXPECT_EQ(label(4, 0), 0) << "over several epochs";
}

// Reads nothing of a step until the test lets it.
class Slow final : public Dataset {
 public:
  Slow() : Dataset({1, 2, 2, 2}) {}
  int64_t size() const override { return 20; }
  int64_t classes() const override { return 20; }
  void read(int64_t index, uint64_t, float* image, int64_t* label) const override {
    while (index >= readable) std::this_thread::yield();
    std::fill_n(image, 4, 1.0F);
    *label = index;
  }
  std::atomic<int64_t> readable = 5;
};

TEST(Loader, CountsTheMinibatchesThatStandReady) {
  Slow data;
  const LabelledImages source(data, {.batch = 5, .shuffle = false});
  Loader loader(source, 2);
  EXPECT_EQ(loader.queue(), 0) << "no reads before the first get()";
  const auto waits_for = [&](int64_t queue) {
    while (loader.queue() < queue) std::this_thread::yield();
    EXPECT_EQ(loader.queue(), queue);
  };
  loader.get(0);
  EXPECT_EQ(loader.queue(), 0);
  data.readable = 10;
  waits_for(1);
  data.readable = 20;
  waits_for(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(loader.queue(), 2) << "at most two steps are read ahead";
  loader.get(1);
  waits_for(2);
}

}  // namespace
}  // namespace lockstep::testing
