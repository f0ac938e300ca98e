// SPDX-License-Identifier: Apache-2.0
#include "data/masked_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "data/formats/png.h"
#include "data/image.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// The red of each pixel is 20 times its class.
struct MaskedPictures {
  MaskedPictures(int64_t count, int64_t height, int64_t width) {
    for (const char* place : {"train", "val"})
      for (const char* kind : {"images", "masks"})
        std::filesystem::create_directories(folder / (std::string(place) + "/" + kind));
    for (int64_t n = 0; n < count; ++n) write(join("p", n), height, width, n);
  }
  static int64_t value(int64_t y, int64_t x, int64_t n) { return (y / 8 + x / 8 * 3 + n) % 10; }
  void write(const std::string& stem, int64_t height, int64_t width, int64_t n) const {
    Image image{height, width, {}};
    std::string rows;
    for (int64_t y = 0; y < height; ++y) {
      rows += '\0';
      for (int64_t x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) image.rgb.push_back(uint8_t(20 * value(y, x, n)));
        rows += static_cast<char>(value(y, x, n));
      }
    }
    for (const char* place : {"train", "val"}) {
      put_file(folder / join(place, "/images/", stem, ".png"), png_of(image));
      put_file(folder / join(place, "/masks/", stem, ".png"),
               png_of_raw({.height = uint32_t(height), .width = uint32_t(width), .rows = rows}));
    }
  }
  MaskedImageOptions options(bool held_out = false) const {
    return {.root = folder.path(), .held_out = held_out, .image_size = 32, .resize = 32};
  }
  TemporaryFolder folder;
};

// The fraction of pixels whose picture shows the class of the mask.
double agreement(const MaskedImages& set, const std::vector<float>& image,
                 const std::vector<int64_t>& mask) {
  int64_t same = 0;
  for (std::size_t at = 0; at < mask.size(); ++at)
    same += std::abs(255 * set.preparation().light(0, image[at]) - 20.0F * mask[at]) < 4;
  return double(same) / double(mask.size());
}

TEST(MaskedImages, CropAndMirrorPictureAndMaskTogether) {
  const MaskedPictures data(3, 64, 64);
  const auto set = image_masks(data.options());
  ASSERT_EQ(set->size(), 3);
  std::vector<float> image(3 * 32 * 32), again(image.size());
  std::vector<int64_t> mask(32 * 32), mask_again(mask.size());
  std::set<std::vector<int64_t>> seen;
  for (uint64_t draw = 0; draw < 20; ++draw) {
    set->read(1, draw, image.data(), mask.data());
    // Pixels at the borders of classes are mixed in the picture, never in the mask.
    EXPECT_GT(agreement(*set, image, mask), 0.5) << draw;
    set->read(1, draw, again.data(), mask_again.data());
    EXPECT_EQ(image, again);
    EXPECT_EQ(mask, mask_again);
    seen.insert(mask);
  }
  EXPECT_GT(seen.size(), 15U);
}

TEST(MaskedImages, ThatAreHeldOutHaveTheWholePicture) {
  const MaskedPictures data(1, 32, 32);
  const auto set = image_masks(data.options(true));
  std::vector<float> image(3 * 32 * 32);
  std::vector<int64_t> mask(32 * 32);
  set->read(0, 0, image.data(), mask.data());
  EXPECT_EQ(agreement(*set, image, mask), 1);
  for (int64_t y = 0; y < 32; ++y)
    for (int64_t x = 0; x < 32; ++x) EXPECT_EQ(mask[y * 32 + x], MaskedPictures::value(y, x, 0));
}

TEST(MaskedImages, KeepIndicesOfPalettesAndFewBits) {
  const MaskedPictures data(1, 2, 4);
  const std::string path = data.folder / "val/masks/p0.png";
  std::vector<float> image(3 * 2 * 2);
  std::vector<int64_t> mask(2 * 2);
  MaskedImageOptions options = data.options(true);
  options.image_size = options.resize = 2;
  const auto expect = [&](const RawPng& raw) {
    put_file(path, png_of_raw(raw));
    image_masks(options)->read(0, 0, image.data(), mask.data());
    EXPECT_EQ(mask, (std::vector<int64_t>{1, 0, 3, 2}));
  };
  const std::string rows("\0\x10\0\xF8", 4);  // 0 1 0 0 and 3 3 2 0, two bits each
  expect({.height = 2, .width = 4, .bits = 2, .colour = 0, .rows = rows});
  expect({.height = 2,
          .width = 4,
          .bits = 2,
          .colour = 3,
          .rows = rows,
          .chunks = png_chunk("PLTE", std::string(12, 'x'))});
}

TEST(MaskedImages, NameBadFiles) {
  const MaskedPictures data(2, 32, 32);
  const std::string mask = data.folder / "val/masks/p1.png";
  std::vector<float> image(3 * 32 * 32);
  std::vector<int64_t> values(32 * 32);
  const auto read = [&](int64_t classes = 0) {
    MaskedImageOptions options = data.options(true);
    options.classes = classes;
    image_masks(options)->read(1, 0, image.data(), values.data());
  };
  expect_error([&] { read(3); }, "p1.png", "has class", "3 classes");
  put_file(mask, png_of(Image{32, 32, std::vector<uint8_t>(3 * 32 * 32)}));
  expect_error([&] { read(); }, "p1.png", "grey or have a palette");
  put_file(mask, png_of_raw({.height = 1, .width = 3, .rows = std::string(4, '\0')}));
  expect_error([&] { read(); }, "p1.png", "3 x 1 pixels", "32 x 32 (width x height)");
  put_file(mask, png_of_raw({.height = 1, .width = 1, .bits = 16, .rows = std::string(3, '\0')}));
  expect_error([&] { read(); }, "p1.png", "16 bits");
  put_file(mask, "no picture");
  expect_error([&] { read(); }, "p1.png", "PNG");
  std::filesystem::remove(mask);
  expect_error([&] { read(); }, "p1.png", "has no mask");
  data.write("other", 32, 32, 0);
  std::filesystem::remove(data.folder / "train/images/p0.png");
  expect_error([&] { image_masks(data.options()); }, "p0.png", "no picture");
}

TEST(MaskedImages, MakeMinibatchesOfAnyPart) {
  const auto set = drawn_shapes({.image_size = 16, .size = 10});
  const MaskedImageBatches all(*set, {.batch = 4}),
      part(*set, {.batch = 4, .first = 1, .count = 2});
  const auto read = [](const MaskedImageBatches& batches, int64_t step) {
    const MinibatchForm& form = batches.forms()[0];
    std::vector<Literal> values;
    for (const NamedDesc& tensor : form) values.emplace_back(tensor.desc.dtype, tensor.desc.dims);
    const std::vector<Tensor> tensors{{form[0].desc, values[0].bytes().data()},
                                      {form[1].desc, values[1].bytes().data()}};
    for (int64_t item = 0; item < batches.items(); ++item) batches.read(step, item, tensors);
    return values;
  };
  for (const int64_t step : {7, 0}) {
    const auto whole = read(all, step), some = read(part, step);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto bytes = whole[i].bytes();
      EXPECT_TRUE(
          std::ranges::equal(bytes.subspan(bytes.size() / 4, bytes.size() / 2), some[i].bytes()));
    }
  }
  EXPECT_NE(read(all, 0), read(all, 1));
}

TEST(MaskedImages, FeedTensorsOfAnyTypeInAnyOrder) {
  const auto set = drawn_shapes({.image_size = 16, .size = 3});
  std::vector<float> image(3 * 16 * 16);
  std::vector<int64_t> mask(16 * 16);
  set->read(2, 2, image.data(), mask.data());
  const std::vector<MaskedFeed> feeds{
      {.name = "a", .is_mask = true, .dtype = DType::float32, .channel = true},
      {.name = "b"},
      {.name = "c", .is_mask = true, .dtype = DType::uint8},
      {.name = "d", .is_mask = true, .dtype = DType::int32},
      {.name = "e", .is_mask = true}};
  std::vector<Literal> values;
  std::vector<Tensor> tensors;
  for (const MaskedFeed& feed : feeds) {
    const TensorDesc desc = feed.desc(set->preparation(), 2);
    values.emplace_back(desc.dtype, desc.dims);
  }
  for (Literal& value : values) tensors.push_back(view_of(value));
  EXPECT_EQ(values[0].dims(), (Dims{2, 1, 16, 16}));
  EXPECT_EQ(values[1].dims(), (Dims{2, 3, 16, 16}));
  EXPECT_EQ(values[2].dims(), (Dims{2, 16, 16}));
  write_masked(*set, 2, 2, 1, feeds, tensors);
  const auto expect_mask = [&]<class T>(const Literal& value, T) {
    const auto row = value.values<T>().subspan(16 * 16);
    EXPECT_TRUE(std::ranges::equal(row, mask, [](T a, int64_t b) { return int64_t(a) == b; }));
  };
  expect_mask(values[0], 0.0F);
  expect_mask(values[2], uint8_t{0});
  expect_mask(values[3], int32_t{0});
  expect_mask(values[4], int64_t{0});
  EXPECT_TRUE(std::ranges::equal(values[1].values<float>().subspan(image.size()), image));
}

// A written mask is read as it was, and shows the colours of its palette.
TEST(MaskedImages, AreWrittenWithAPalette) {
  PngValues values{2, 3, {0, 1, 2, 3, 17, 255}};
  std::array<uint8_t, 3 * 256> palette{};
  for (std::size_t i = 0; i < palette.size(); ++i) palette[i] = static_cast<uint8_t>(i * 7 % 251);
  const TemporaryFolder folder;
  const std::string path = folder / "mask.png", bytes = png_of(values, palette);
  put_file(path, bytes);
  const PngValues again = decode_png_values({path, bytes});
  EXPECT_EQ(again.height, 2);
  EXPECT_EQ(again.width, 3);
  EXPECT_EQ(again.values, values.values);
  const Image image = read_image(path);
  for (std::size_t at = 0; at < values.values.size(); ++at)
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(image.rgb[3 * at + c], palette[3 * values.values[at] + c]) << at;
}

TEST(DrawnShapes, HaveEveryClassAndDifferInHeldOutPictures) {
  const auto set = drawn_shapes({.image_size = 32, .size = 50});
  const auto other = drawn_shapes({.held_out = true, .image_size = 32, .size = 50});
  std::vector<float> image(3 * 32 * 32), held_out(image.size());
  std::vector<int64_t> mask(32 * 32);
  std::array<int64_t, kClassesOfShapes> seen{};
  for (int64_t i = 0; i < 50; ++i) {
    set->read(i, 0, image.data(), mask.data());
    for (const int64_t value : mask) ++seen.at(value);
    other->read(i, 0, held_out.data(), mask.data());
    EXPECT_NE(image, held_out);
  }
  for (const int64_t count : seen) EXPECT_GT(count, 50 * 32 * 32 / 50);
}

}  // namespace
}  // namespace lockstep::testing
