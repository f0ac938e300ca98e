// SPDX-License-Identifier: Apache-2.0
// Headers of pictures, checked before training: refused files, and the time and memory of the
// check.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/image.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

std::vector<std::string> files_of_each_format() {
  const Image image = gradient_image(13, 70);
  return {png_of(image), jpeg_of(image), webp_of(image, false), webp_of(image, true),
          bmp_of(image)};
}

// If a truncated file can be read, its header is accepted and has the picture's size.
TEST(PictureHeader, IsWholeWhereverThePictureIs) {
  const TemporaryFolder folder;
  for (const std::string& bytes : files_of_each_format()) {
    std::size_t headers = 0;
    for (std::size_t length = 0; length <= std::min<std::size_t>(bytes.size(), 900); ++length) {
      put_file(folder / "cut", bytes.substr(0, length));
      try {
        const PictureHeader header = read_picture_header(folder / "cut");
        EXPECT_EQ(header.height, 13);
        EXPECT_EQ(header.width, 70);
        ++headers;
      } catch (const Error& error) {
        EXPECT_EQ(headers, 0U) << "accepted with fewer than " << length
                               << " bytes: " << error.what();
        expect_error([&] { read_image(folder / "cut"); }, "cut");
      }
    }
    EXPECT_GT(headers, 0U);
    put_file(folder / "whole", bytes);
    EXPECT_EQ(read_picture_header(folder / "whole").width, read_image(folder / "whole").width);
  }
}

// For example, a thumbnail and a colour profile in segments of 64 kB come first.
TEST(PictureHeader, MayStandFarBehind) {
  const TemporaryFolder folder;
  const std::string jpeg = jpeg_of(gradient_image(20, 30));
  for (const int segments : {1, 5, 40}) {
    std::string before;
    for (int i = 0; i < segments; ++i) before += "\xFF\xEE\xFF\xFF" + std::string(0xFFFD, 'x');
    put_file(folder / "far.jpg", jpeg.substr(0, 2) + before + jpeg.substr(2));
    EXPECT_EQ(read_picture_header(folder / "far.jpg").width, 30) << segments;
  }
}

TEST(PictureHeader, WhatHasNoneIsNamed) {
  const TemporaryFolder folder;
  const std::string png = png_of(gradient_image(20, 30)), jpeg = jpeg_of(gradient_image(20, 30));
  std::string flat = png;
  flat.replace(16, 4, 4, '\0');
  for (const auto& [name, bytes, why] : {std::tuple{"empty.png", std::string(), ": is empty"},
                                         {"long.jpg", std::string(70000, 'x'), "not a JPEG, PNG"},
                                         {"short.png", png.substr(0, 20), "without a whole header"},
                                         {"short.jpg", jpeg.substr(0, 30), "Premature end"},
                                         {"flat.png", flat, "a picture of 0 x 20 pixels"}}) {
    put_file(folder / name, bytes);
    expect_error([&, path = folder / name] { read_picture_header(path); }, folder / name, why);
  }
  expect_error([&] { read_picture_header(folder / "none.png"); }, "none.png", "No such file");
  expect_error([&] { read_picture_header(folder.path()); }, "a folder");
}

// A film named .jpg is refused without being read. Only a picture may have a long header.
TEST(PictureHeader, OfAFileThatIsNoPictureIsReadNoFurther) {
  const TemporaryFolder folder;
  const std::string film = folder / "film.jpg";
  put_file(film, "no picture");
  std::filesystem::resize_file(film, uint64_t{1} << 40);  // a sparse file
  expect_error([&] { read_picture_header(film); }, "film.jpg: not a JPEG");
  put_file(film, png_of(gradient_image(20, 30)).replace(16, 4, "\x7F\xFF\xFF\xFF"));
  std::filesystem::resize_file(film, uint64_t{1} << 40);
  expect_error([&] { read_picture_header(film); }, "film.jpg: a picture of ", "is too large");
}

}  // namespace
}  // namespace lockstep::testing
