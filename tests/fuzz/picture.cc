// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "data/formats/exif.h"
#include "data/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"

namespace lockstep::fuzz {
namespace {

using testing::BmpParts;

std::vector<Image> images() {
  std::vector<Image> some;
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 5}, {17, 9}})
    some.push_back(testing::gradient_image(height, width));
  return some;
}

std::string palette(std::size_t colours) { return std::string(4 * colours, 'p'); }

}  // namespace

void read_picture(const std::string& bytes) {
  const MemoryFile file(bytes);
  const Image image = read_image(file.path());
  // The properties that callers rely on.
  if (image.height <= 0 || image.width <= 0 ||
      image.rgb.size() != static_cast<std::size_t>(3 * image.height * image.width))
    std::abort();
  // Every readable picture has an accepted header.
  const PictureHeader header = read_picture_header(file.path());
  const bool lies = swaps_sides(header.orientation);
  expect((lies ? header.width : header.height) == image.height);
  expect((lies ? header.height : header.width) == image.width);
}

Seeds picture_seeds() {
  Seeds seeds;
  for (const Image& image : images()) {
    seeds.push_back(png_of(image));
    for (bool grey : {false, true})
      seeds.push_back(
          written([&](const std::string& path) { testing::write_jpeg(path, image, grey); }));
    seeds.push_back(testing::jpeg_with_exif(jpeg_of(image), testing::exif_block(6)));
    seeds.push_back(
        testing::png_with(png_of(image), testing::png_chunk("eXIf", testing::exif_block(3))));
  }
  for (const int colour : {0, 2, 4, 6}) {
    const std::size_t channels = colour == 0 ? 1 : colour == 4 ? 2 : colour == 2 ? 3 : 4;
    seeds.push_back(testing::png_of_raw(
        {.bits = 16, .colour = colour, .rows = std::string(1 + 2 * channels, '\0')}));
  }
  return seeds;
}

Seeds webp_seeds() {
  Seeds seeds;
  for (const Image& image : images()) {
    for (const bool lossless : {false, true}) seeds.push_back(testing::webp_of(image, lossless));
    seeds.push_back(testing::webp_with_alpha(image));
    seeds.push_back(testing::webp_with_exif(seeds.back(), testing::exif_block(8)));
  }
  return seeds;
}

Seeds bmp_seeds() {
  Seeds seeds;
  for (const Image& image : images()) seeds.push_back(testing::bmp_of(image));
  const std::string rows(4 * 3, '\x11');
  const BmpParts parts[]{
      {.height = 3, .width = 8, .bits = 1, .pixels = rows, .palette = palette(2)},
      {.height = -3, .width = 8, .bits = 4, .pixels = rows, .palette = palette(16)},
      {.height = 3, .width = 4, .bits = 8, .pixels = rows, .palette = palette(18), .colours = 18},
      {.height = 3, .width = 2, .bits = 16, .pixels = rows, .header = 12},
      {.height = 3, .width = 1, .bits = 32, .pixels = rows, .header = 124},
      {.height = 3,
       .width = 2,
       .bits = 16,
       .compression = 3,
       .pixels = rows,
       .masks = {0xF800, 0x7E0, 0x1F}},
      {.height = 2,
       .width = 4,
       .bits = 8,
       .compression = 1,
       .pixels = {"\3\1\1\2\0\0\0\3\1\1\1\0\0\2\1\1\0\1", 18},
       .palette = palette(3),
       .colours = 3},
      {.height = 2,
       .width = 4,
       .bits = 4,
       .compression = 2,
       .pixels = {"\3\x12\0\0\0\4\x12\x34\0\1", 10},
       .palette = palette(16)},
  };
  for (const BmpParts& each : parts) seeds.push_back(testing::bmp_of_parts(each));
  return seeds;
}

void read_exif(const std::string& bytes) {
  const int orientation = exif_orientation(bytes);
  expect(orientation >= 1 && orientation <= 8);
  const Image image = turned(testing::gradient_image(2, 3), orientation);
  expect(image.height == (swaps_sides(orientation) ? 3 : 2));
}

Seeds exif_seeds() {
  Seeds seeds;
  for (uint32_t orientation = 0; orientation <= 9; ++orientation)
    for (const bool big_endian : {false, true})
      seeds.push_back(testing::exif_block(orientation, {big_endian}));
  seeds.push_back(testing::exif_block(5, {.type = 4}));
  return seeds;
}

}  // namespace lockstep::fuzz
