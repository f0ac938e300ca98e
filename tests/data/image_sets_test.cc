// SPDX-License-Identifier: Apache-2.0
// Data sets of picture files and of packed images.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "data/formats/exif.h"
#include "data/labelled_images.h"
#include "data/picture_folder.h"
#include "data/transform.h"
#include "graph/file.h"
#include "lockstep/loader.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* part : {"train", "val"})
      for (int c = 0; c < 3; ++c) {
        const std::string place = folder / (std::string(part) + "/class_" + char('a' + c));
        fs::create_directories(place);
        for (int i = 0; i < 4; ++i) {
          write_jpeg(place + "/p" + std::to_string(i) + ".JPG", gradient_image(30 + i, 40, c));
          write_png(place + "/q" + std::to_string(i) + ".png", gradient_image(40, 30 + i, c));
        }
      }
  }
  DatasetOptions options(bool held_out = false) {
    return {.name = "image_folder",
            .root = folder.path(),
            .seed = 3,
            .held_out = held_out,
            .image_size = 16,
            .resize = 20};
  }
  TemporaryFolder folder;
};

TEST_F(FolderTest, ClassesAreFoldersAndReadingIsAFunctionOfTheDraw) {
  auto data = dataset_named(options());
  EXPECT_EQ(data->size(), 24);
  EXPECT_EQ(data->classes(), 3);
  EXPECT_EQ(data->class_name(1), "class_b");
  auto image = [&](const Dataset& set, int64_t index, uint64_t draw) {
    std::vector<float> values(static_cast<std::size_t>(set.image_values()));
    int64_t label = 0;
    set.read(index, draw, values.data(), &label);
    EXPECT_EQ(label, index / 8);
    return values;
  };
  EXPECT_EQ(image(*data, 9, 5), image(*data, 9, 5));
  EXPECT_NE(image(*data, 9, 5), image(*data, 9, 6)) << "another draw has another crop";
  auto held_out = dataset_named(options(true));
  EXPECT_EQ(image(*held_out, 9, 5), image(*held_out, 9, 6)) << "no augmentation";
}

// Rounded to the nearest byte before normalisation.
TEST_F(FolderTest, BytesAreTheNearestOnes) {
  for (const bool held_out : {false, true}) {
    const auto data = dataset_named(options(held_out));
    const Preparation& p = data->preparation();
    std::vector<float> floats(static_cast<std::size_t>(data->image_values()));
    std::vector<uint8_t> bytes(floats.size());
    int64_t label = 0, again = 1;
    bool any_rounded = false;
    for (int64_t i = 0; i < data->size(); ++i) {
      data->read(i, 7, floats.data(), &label);
      data->read_bytes(i, 7, bytes.data(), &again);
      EXPECT_EQ(label, again);
      for (std::size_t at = 0; at < floats.size(); ++at) {
        const auto c = static_cast<int64_t>(at) / (p.height * p.width);
        const float level = (floats[at] + p.shift(c)) / p.scale(c);
        EXPECT_NEAR(level, bytes[at], 0.5 + 1e-3);
        any_rounded = any_rounded || std::abs(level - static_cast<float>(bytes[at])) > 0.1;
      }
    }
    EXPECT_TRUE(any_rounded);
  }
}

// Applies to training and test, to floats and bytes, and to every format.
TEST_F(FolderTest, PicturesAreReadUprightWhateverTheFormat) {
  const Image stored = gradient_image(30, 40);
  const std::string block = exif_block(6);
  put_file(folder / "plain.jpg", jpeg_of(stored));
  const Image rounded = read_image(folder / "plain.jpg");
  struct Kind {
    const char* ending;
    std::string bytes;
    const Image& picture;
  };
  const Kind kinds[]{
      {".png", png_with(png_of(stored), png_chunk("eXIf", block)), stored},
      {".jpg", jpeg_with_exif(jpeg_of(stored), block), rounded},
      {".webp", webp_with_exif(webp_of(stored, true), block), stored},
      {".bmp", bmp_of(turned(stored, 6)), stored},
  };
  for (const auto& [ending, bytes, picture] : kinds)
    for (const bool held_out : {false, true}) {
      SCOPED_TRACE(ending);
      const std::string place = folder / (held_out ? "val/class_a" : "train/class_a");
      put_file(place + "/a" + ending, bytes);
      put_file(place + "/b.png", png_of(turned(picture, 6)));
      const auto data = dataset_named(options(held_out));
      ASSERT_EQ(data->size(), 26);
      std::vector<float> seen(static_cast<std::size_t>(data->image_values())), upright = seen;
      std::vector<uint8_t> as_bytes(seen.size()), upright_bytes = as_bytes;
      int64_t label = 0;
      data->read(0, 7, seen.data(), &label);
      data->read(1, 7, upright.data(), &label);
      data->read_bytes(0, 7, as_bytes.data(), &label);
      data->read_bytes(1, 7, upright_bytes.data(), &label);
      EXPECT_EQ(seen, upright);
      EXPECT_EQ(as_bytes, upright_bytes);
      fs::remove(place + "/a" + ending);
    }
}

TEST_F(FolderTest, BytesOfAPictureAtItsOwnScaleAreTheFiles) {
  const Image image = gradient_image(9, 11);
  for (const bool mirror : {false, true}) {
    std::vector<uint8_t> bytes(3 * 4 * 5);
    prepare(image, {3, 4, 5}, {2, 3, 4, 5}, mirror, bytes.data());
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 4; ++y)
        for (int64_t x = 0; x < 5; ++x)
          EXPECT_EQ(bytes[(c * 4 + y) * 5 + (mirror ? 4 - x : x)],
                    image.rgb[3 * ((y + 2) * 11 + x + 3) + c]);
  }
}

TEST_F(FolderTest, BatchesAreTheSameWhateverTheThreads) {
  auto data = dataset_named(options());
  auto read = [&](int threads) {
    const LabelledImages source(*data, {.batch = 10, .seed = 2});
    Loader loader(source, threads);
    std::vector<float> all;
    for (int64_t step = 0; step < 6; ++step) {
      const Tensor images = loader.get(step)[0];
      all.insert(all.end(), images.as<float>(), images.as<float>() + images.count());
    }
    return all;
  };
  EXPECT_EQ(read(1), read(4));
}

TEST_F(FolderTest, BadFoldersAreNamed) {
  write_file(folder / "train/class_a/p0.JPG", "no picture");
  auto data = dataset_named(options());
  std::vector<float> values(static_cast<std::size_t>(data->image_values()));
  int64_t label = 0;
  expect_error([&] { data->read(0, 0, values.data(), &label); }, "class_a/p0.JPG");
  fs::create_directories(folder / "train/empty");
  expect_error([&] { dataset_named(options()); }, "train/empty", "no .jpg");
  DatasetOptions elsewhere = options();
  elsewhere.root = folder / "nowhere";
  expect_error([&] { dataset_named(elsewhere); }, "DATA.ROOT", "nowhere/train");
}

// Classes are matched by name. If test classes were numbered separately, every picture of a single
// class would count as correct.
TEST_F(FolderTest, HeldOutPicturesAreOfTheClassesOfTraining) {
  fs::remove_all(folder / "val/class_a");
  auto held_out = dataset_named(options(true));
  EXPECT_EQ(held_out->classes(), 3);
  EXPECT_EQ(held_out->size(), 16);
  std::vector<float> values(static_cast<std::size_t>(held_out->image_values()));
  int64_t label = 0;
  held_out->read(0, 0, values.data(), &label);
  EXPECT_EQ(label, 1);
  fs::rename(folder / "val/class_b", folder / "val/class_bb");
  expect_error([&] { dataset_named(options(true)); }, "val/class_bb", "does not match a class of",
               "/train");
  fs::remove_all(folder / "train");
  expect_error([&] { dataset_named(options(true)); }, "/train");
}

TEST_F(FolderTest, WhatIsLeftOutIsCounted) {
  const auto put = [&](const std::string& name) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write_file(folder / name, "no picture");
  };
  EXPECT_EQ(dataset_named(options())->left_out(), "");
  for (const char* name :
       {"train/class_a/a.tif", "train/class_b/b.TIF", "train/class_b/c.tif", "train/class_a/x.txt",
        "train/class_a/notes", "train/class_c/deeper/a.png", "train/class_c/deeper/more/b.tif",
        "train/lost.png", "train/README"})
    put(name);
  // Hidden files are ignored, and hidden folders are not classes.
  for (const char* name :
       {"train/class_a/.DS_Store", "train/class_a/._p0.JPG", "train/.cache/a.png",
        "train/class_b/.thumbnails/a.png", "train/class_c/deeper/._a.png"})
    put(name);
  write_png(folder / "train/class_a/picture", gradient_image(30, 40));
  const auto data = dataset_named(options());
  EXPECT_EQ(data->classes(), 3);
  EXPECT_EQ(data->size(), 25) << "the picture without an extension counts";
  EXPECT_EQ(data->left_out(), "left out of '" + (folder / "train") +
                                  "': 9 files: 3 .tif, 1 without an ending, 1 .txt, 2 beside the "
                                  "folders of classes, 2 in folders below a class");
  for (int i = 0; i < 4; ++i) {
    fs::remove(folder / ("train/class_c/p" + std::to_string(i) + ".JPG"));
    fs::remove(folder / ("train/class_c/q" + std::to_string(i) + ".png"));
  }
  expect_error([&] { dataset_named(options()); }, "train/class_c' contains no .jpg",
               "left out 2 files: 2 in folders below a class");
}

TEST(LeftOutFiles, TellTheCommonEndingsAlone) {
  LeftOutFiles files;
  for (int i = 0; i < 9; ++i) files.by_ending["." + std::to_string(i)] = 1 + i;
  EXPECT_EQ(files.text(), "45 files: 9 .8, 8 .7, 7 .6, 6 .5, 5 .4, 4 .3, 6 with other endings");
}

TEST_F(FolderTest, APictureIsARegularFile) {
  fs::remove(folder / "train/class_a/p0.JPG");
  ASSERT_EQ(mkfifo((folder / "train/class_a/p0.JPG").c_str(), 0600), 0);
  auto data = dataset_named(options());
  std::vector<float> values(static_cast<std::size_t>(data->image_values()));
  int64_t label = 0;
  expect_error([&] { data->read(0, 0, values.data(), &label); }, "p0.JPG", "a pipe");
}

// Expects the floats of a set to equal its normalised bytes. A network that reads bytes computes
// the same.
void expect_floats_of_bytes(const Dataset& data) {
  std::vector<float> floats(static_cast<std::size_t>(data.image_values()));
  std::vector<uint8_t> bytes(floats.size());
  int64_t label = 0, again = 1;
  for (int64_t i = 0; i < data.size(); ++i)
    for (const uint64_t draw : {3, 4}) {
      data.read(i, draw, floats.data(), &label);
      data.read_bytes(i, draw, bytes.data(), &again);
      EXPECT_EQ(label, again);
      const int64_t plane = data.height() * data.width();
      for (int64_t at = 0; at < data.image_values(); ++at) {
        const auto level = static_cast<float>(bytes[at]);
        EXPECT_EQ(floats[at], data.preparation().normalised(at / plane, level));
      }
      EXPECT_EQ(picture_of(bytes.data(), data.preparation()).rgb,
                picture_of(floats.data(), data.preparation()).rgb);
    }
}

// Expects a held-out example that was saved as a picture to be prepared to the same bits.
void expect_pictures_like_examples(const Dataset& data) {
  std::vector<float> example(static_cast<std::size_t>(data.image_values())), again(example);
  int64_t label = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.read(i, 0, example.data(), &label);
    prepare(picture_of(example.data(), data.preparation()), data.preparation(), again.data());
    EXPECT_EQ(example, again) << "example " << i;
  }
}

TEST(Prepare, GivesHeldOutDigitsTheirBits) {
  expect_pictures_like_examples(*dataset_named({.name = "digits", .size = 20, .held_out = true}));
  expect_floats_of_bytes(*dataset_named({.name = "digits", .size = 20}));
}

std::string idx(const std::vector<int>& dims, std::size_t bytes) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (int size : dims)
    for (int shift : {24, 16, 8, 0}) text += static_cast<char>(size >> shift);
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i % 10);
  return text;
}

TEST(Mnist, ReadsIdxFilesAndRefusesOthers) {
  TemporaryFolder folder;
  DatasetOptions options{.name = "mnist", .root = folder.path()};
  const std::string images = folder / "train-images-idx3-ubyte";
  const std::string labels = folder / "train-labels-idx1-ubyte";
  expect_error([&] { dataset_named(options); }, "train-images-idx3-ubyte");
  write_file(images, idx({5, 28, 28}, 5 * 28 * 28));
  write_file(labels, idx({5}, 5));
  auto data = dataset_named(options);
  EXPECT_EQ(data->size(), 5);
  std::vector<float> image(28 * 28);
  int64_t label = -1;
  data->read(3, 0, image.data(), &label);
  EXPECT_EQ(label, 3);
  EXPECT_NEAR(image[0], (2 / 255.0 - 0.1307) / 0.3081, 1e-5) << "3 * 784 % 10 = 2";
  expect_pictures_like_examples(*data);
  expect_floats_of_bytes(*data);
  write_file(labels, idx({4}, 4));
  expect_error([&] { dataset_named(options); }, "5 images but 4 labels");
  write_file(images, idx({5, 28, 28}, 100));
  expect_error([&] { dataset_named(options); }, "100 bytes of data, should have 3920");
  write_file(images, "zip");
  expect_error([&] { dataset_named(options); }, "not an idx file");
}

// The digest covers every pixel and label, but not the path.
TEST(Mnist, IsToldFromOtherFilesByItsDigest) {
  TemporaryFolder one, other;
  const auto digest = [](const TemporaryFolder& folder) {
    return dataset_named({.name = "mnist", .root = folder.path()})->digest();
  };
  std::string images = idx({5, 28, 28}, 5 * 28 * 28), labels = idx({5}, 5);
  for (const TemporaryFolder* folder : {&one, &other}) {
    write_file(*folder / "train-images-idx3-ubyte", images);
    write_file(*folder / "train-labels-idx1-ubyte", labels);
  }
  EXPECT_EQ(digest(one), digest(other));
  EXPECT_EQ(digest(one).substr(0, 12), "5 pictures, ");
  std::swap(labels[8], labels[9]);
  write_file(other / "train-labels-idx1-ubyte", labels);
  EXPECT_NE(digest(one), digest(other));
  std::swap(labels[8], labels[9]);
  write_file(other / "train-labels-idx1-ubyte", labels);
  images.back() ^= 1;
  write_file(other / "train-images-idx3-ubyte", images);
  EXPECT_NE(digest(one), digest(other));
  EXPECT_EQ(dataset_named({.name = "digits", .size = 5})->digest(), "") << "generated";
}

TEST(Cifar10, ReadsRecordsAndAugmentsTrainingOnly) {
  TemporaryFolder folder;
  DatasetOptions options{.name = "cifar10", .root = folder.path(), .held_out = true};
  std::string records;
  for (int i = 0; i < 6; ++i) {
    records += static_cast<char>(i);
    for (int p = 0; p < 3072; ++p) records += static_cast<char>((p * 7 + i) % 251);
  }
  write_file(folder / "test_batch.bin", records);
  auto held_out = dataset_named(options);
  EXPECT_EQ(held_out->size(), 6);
  EXPECT_EQ(held_out->class_name(5), "dog");
  expect_pictures_like_examples(*held_out);
  expect_floats_of_bytes(*held_out);
  auto read = [](const Dataset& data, uint64_t draw) {
    std::vector<float> image(3072);
    int64_t label = -1;
    data.read(4, draw, image.data(), &label);
    EXPECT_EQ(label, 4);
    return image;
  };
  EXPECT_NEAR(read(*held_out, 0)[1], (11 / 255.0 - 0.4914) / 0.2470, 1e-5);
  EXPECT_EQ(read(*held_out, 0), read(*held_out, 1));
  for (int i = 1; i <= 5; ++i)
    write_file(folder / ("data_batch_" + std::to_string(i) + ".bin"), records);
  options.held_out = false;
  auto training = dataset_named(options);
  EXPECT_EQ(training->size(), 30);
  EXPECT_NE(read(*training, 0), read(*training, 1));
  EXPECT_EQ(read(*training, 1), read(*training, 1));
  write_file(folder / "data_batch_3.bin", records.substr(1));
  expect_error([&] { dataset_named(options); }, "data_batch_3.bin", "3073");
  records[0] = 12;
  write_file(folder / "data_batch_3.bin", records);
  expect_error([&] { dataset_named(options); }, "label 12 is 12");
}

}  // namespace
}  // namespace lockstep::testing
