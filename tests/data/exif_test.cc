// SPDX-License-Identifier: Apache-2.0
// Pictures of a turned camera.
#include <gtest/gtest.h>

#include <set>

#include "data/formats/exif.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using namespace std::string_literals;

// Rows of letters; each letter is a grey pixel.
Image of_letters(const std::vector<std::string>& rows) {
  Image image{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()), {}};
  for (const std::string& row : rows)
    for (const char letter : row)
      image.rgb.insert(image.rgb.end(), 3, static_cast<uint8_t>(letter));
  return image;
}

std::vector<std::string> letters_of(const Image& image) {
  std::vector<std::string> rows(static_cast<std::size_t>(image.height));
  for (std::size_t i = 0; i < image.rgb.size(); i += 3)
    rows[i / 3 / static_cast<std::size_t>(image.width)] += static_cast<char>(image.rgb[i]);
  return rows;
}

bool same(const Image& a, const Image& b) {
  return a.height == b.height && a.width == b.width && a.rgb == b.rgb;
}

TEST(Exif, TurnsAndMirrorsInEightWays) {
  const Image stored = of_letters({"ABC", "DEF"});
  const std::vector<std::vector<std::string>> upright{
      {"ABC", "DEF"},     {"CBA", "FED"},     {"FED", "CBA"},     {"DEF", "ABC"},
      {"AD", "BE", "CF"}, {"DA", "EB", "FC"}, {"FC", "EB", "DA"}, {"CF", "BE", "AD"}};
  for (int orientation = 1; orientation <= 8; ++orientation)
    EXPECT_EQ(letters_of(turned(stored, orientation)),
              upright[static_cast<std::size_t>(orientation - 1)])
        << orientation;
  // Larger than one square of pixels, turned and turned back.
  const Image large = gradient_image(70, 45);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const int back = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
    EXPECT_TRUE(same(turned(turned(large, orientation), back), large)) << orientation;
  }
}

// The place of an EXIF block in each format.
struct Carrier {
  const char* name;
  std::string (*file)(const Image& image, const std::string& block);
};
const Carrier kCarriers[]{
    {"JPEG", [](const Image& image,
                const std::string& block) { return jpeg_with_exif(jpeg_of(image), block); }},
    {"PNG",
     [](const Image& image, const std::string& block) {
       return png_with(png_of(image), png_chunk("eXIf", block));
     }},
    {"PNG, behind the pixels",
     [](const Image& image, const std::string& block) {
       return png_with(png_of(image), png_chunk("eXIf", block), true);
     }},
    {"WebP", [](const Image& image,
                const std::string& block) { return webp_with_exif(webp_of(image, true), block); }},
    {"lossy WebP",
     [](const Image& image, const std::string& block) {
       return webp_with_exif(webp_of(image, false), block);
     }},
};

TEST(Exif, EveryFormatIsReadUpright) {
  TemporaryFolder folder;
  const std::string path = folder / "picture";
  const Image image = gradient_image(20, 37);
  for (const Carrier& carrier : kCarriers) {
    SCOPED_TRACE(carrier.name);
    put_file(path, carrier.file(image, ""));
    const Image stored = read_image(path);
    for (uint32_t orientation = 1; orientation <= 8; ++orientation)
      for (const bool big_endian : {false, true})
        for (const std::string& start : {""s, "Exif\0\0"s}) {
          put_file(path, carrier.file(image, start + exif_block(orientation, {big_endian})));
          const Image upright = turned(stored, static_cast<int>(orientation));
          EXPECT_TRUE(same(read_image(path), upright)) << orientation;
          const StoredImage both = read_stored_image(path);
          EXPECT_TRUE(same(both.image, stored)) << orientation;
          EXPECT_EQ(both.orientation, static_cast<int>(orientation));
        }
  }
}

TEST(Exif, ANumberMayBeLong) {
  EXPECT_EQ(exif_orientation(exif_block(6, {.type = 4})), 6);
  EXPECT_EQ(exif_orientation(exif_block(6, {.big_endian = true, .type = 4})), 6);
}

// A damaged block is ignored: the picture is read, and is not turned.
TEST(Exif, DamagedBlocksAreIgnored) {
  std::vector<std::string> damaged{""s, "Exif\0\0"s, "II"s, "no block at all, but some text"s};
  for (const uint32_t number : {0U, 9U, 70000U}) damaged.push_back(exif_block(number, {.type = 4}));
  damaged.push_back(exif_block(6, {.type = 2}));
  damaged.push_back(exif_block(6, {.count = 2}));
  damaged.push_back(exif_block(6, {.count = 0}));
  const auto with = [](std::size_t at, const std::string& bytes) {
    return exif_block(6).replace(at, bytes.size(), bytes);
  };
  damaged.push_back(with(0, "IM"));                 // no byte order
  damaged.push_back(with(2, "\x2B"));               // no mark
  damaged.push_back(with(4, "\xFF\xFF\xFF\xFF"s));  // an offset beyond the end
  damaged.push_back(with(4, "\xF8\xFF\xFF\xFF"s));  // an offset that is inside modulo 2^32
  damaged.push_back(with(4, "\4\0\0\0"s));          // a directory at the offset field itself
  damaged.push_back(exif_block(6).substr(0, 30));   // cut off inside the entry
  TemporaryFolder folder;
  const Image image = gradient_image(20, 37);
  for (const std::string& block : damaged) {
    EXPECT_EQ(exif_orientation(block), 1);
    for (const Carrier& carrier : kCarriers) {
      SCOPED_TRACE(carrier.name);
      put_file(folder / "picture", carrier.file(image, block));
      const Image read = read_image(folder / "picture");
      EXPECT_EQ(read.height, 20);
      EXPECT_EQ(read.width, 37);
    }
  }
  // Directories in a cycle, and a count of entries beyond the end.
  const std::string circle = exif_block(6).replace(8 + 2 + 36, 4, "\10\0\0\0"s);
  EXPECT_EQ(exif_orientation(circle), 6);
  EXPECT_EQ(exif_orientation(exif_block(6).replace(8, 2, "\xFF\xFF")), 6);
}

TEST(Exif, AnyByteOfABlockMayBeWrong) {
  std::set<int> seen;
  for (const bool big_endian : {false, true}) {
    const std::string good = exif_block(6, {big_endian});
    for (std::size_t at = 0; at < good.size(); ++at)
      for (int value = 0; value < 256; ++value) {
        std::string bad = good;
        bad[at] = static_cast<char>(value);
        seen.insert(exif_orientation(bad));
        seen.insert(exif_orientation(bad.substr(0, at)));
      }
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

// Sizes of segments and chunks around the block that point beyond the file.
TEST(Exif, AnySizeAroundABlockMayBeWrong) {
  TemporaryFolder folder;
  const Image image = gradient_image(6, 9);
  for (const Carrier& carrier : kCarriers) {
    const std::string good = carrier.file(image, exif_block(6));
    const std::size_t block = good.find("II*");
    ASSERT_NE(block, good.npos);
    int refused = 0;
    for (std::size_t at = block - 14; at < block; ++at)
      for (const int value : {0, 1, 127, 255}) {
        std::string bad = good;
        bad[at] = static_cast<char>(value);
        put_file(folder / "picture", bad);
        try {
          read_image(folder / "picture");
        } catch (const Error&) {
          ++refused;
        }
      }
    EXPECT_LT(refused, 56) << carrier.name;
  }
}

// libwebp and PIL also look for a block only if the flag is set.
TEST(Exif, OfWebPNeedsItsFlag) {
  TemporaryFolder folder;
  const std::string webp = webp_of(gradient_image(6, 9), true);
  put_file(folder / "a.webp", webp_with_exif(webp, exif_block(6), false));
  EXPECT_EQ(read_image(folder / "a.webp").height, 6);
  put_file(folder / "a.webp", webp_with_exif(webp, exif_block(6), true));
  EXPECT_EQ(read_image(folder / "a.webp").height, 9);
}

}  // namespace
}  // namespace lockstep::testing
