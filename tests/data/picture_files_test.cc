// SPDX-License-Identifier: Apache-2.0
// Variants of PNG, WebP and BMP files.
#include <gtest/gtest.h>

#include "data/formats/formats.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using namespace std::string_literals;
using Bytes = std::vector<uint8_t>;

class PictureFiles : public ::testing::Test {
 protected:
  Image read(const std::string& bytes) {
    put_file(path(), bytes);
    return read_image(path());
  }
  template <class... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    put_file(path(), bytes);
    expect_error([&] { read_image(path()); }, "picture: ", parts...);
  }
  std::string path() const { return folder_ / "picture"; }

 private:
  TemporaryFolder folder_;
};

// ---- PNG

TEST_F(PictureFiles, APngOf16BitsHasTheHigherBytes) {
  EXPECT_EQ(read(png_of_raw({.bits = 16, .rows = "\0\x40\xFF"s})).rgb, (Bytes{64, 64, 64}));
  EXPECT_EQ(read(png_of_raw({.bits = 16, .colour = 2, .rows = "\0\x40\xFF\x50\1\x60\x80"s})).rgb,
            (Bytes{64, 80, 96}));
}

TEST_F(PictureFiles, TransparencyOfAPngIsDropped) {
  const auto row = [](const char* rest, std::size_t bytes) {
    return "\0"s + std::string(rest, bytes);
  };
  EXPECT_EQ(read(png_of_raw({.width = 2, .colour = 4, .rows = row("\x40\x80\x41\0", 4)})).rgb,
            (Bytes{64, 64, 64, 65, 65, 65}));
  EXPECT_EQ(read(png_of_raw({.width = 2, .colour = 6, .rows = row("\1\2\3\x80\4\5\6\0", 8)})).rgb,
            (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(png_of_raw({.bits = 16, .colour = 6, .rows = row("\1\0\2\0\3\0\0\0", 8)})).rgb,
            (Bytes{1, 2, 3}));
  EXPECT_EQ(read(png_of_raw({.bits = 16, .colour = 4, .rows = row("\x40\0\x10\0", 4)})).rgb,
            (Bytes{64, 64, 64}));
  // A transparent entry of a palette, and transparent colours.
  const std::string palette = png_chunk("PLTE", "\1\2\3\4\5\6"s);
  EXPECT_EQ(read(png_of_raw({.width = 2,
                             .bits = 1,
                             .colour = 3,
                             .rows = "\0\x40"s,
                             .chunks = palette + png_chunk("tRNS", "\0\x80"s)}))
                .rgb,
            (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(png_of_raw({.rows = "\0\7"s, .chunks = png_chunk("tRNS", "\0\7"s)})).rgb,
            (Bytes{7, 7, 7}));
  EXPECT_EQ(
      read(png_of_raw(
               {.colour = 2, .rows = "\0\7\7\7"s, .chunks = png_chunk("tRNS", "\0\7\0\7\0\7"s)}))
          .rgb,
      (Bytes{7, 7, 7}));
}

TEST_F(PictureFiles, ThePixelsOfAPngAreTakenAsTheyAre) {
  for (const uint32_t gamma : {100000U, 45455U, 220000U, 1U}) {
    const std::string chunk =
        png_chunk("gAMA", {static_cast<char>(gamma >> 24), static_cast<char>(gamma >> 16),
                           static_cast<char>(gamma >> 8), static_cast<char>(gamma)});
    EXPECT_EQ(read(png_of_raw({.rows = "\0\x40"s, .chunks = chunk})).rgb, (Bytes{64, 64, 64}));
    EXPECT_EQ(read(png_of_raw({.bits = 16, .rows = "\0\x40\0"s, .chunks = chunk})).rgb,
              (Bytes{64, 64, 64}));
    EXPECT_EQ(read(png_of_raw({.colour = 6, .rows = "\0\1\2\3\4"s, .chunks = chunk})).rgb,
              (Bytes{1, 2, 3}));
  }
  const std::string rgb = "\0\1\2\3"s;
  for (const std::string& chunk :
       {png_chunk("sRGB", "\0"s), png_chunk("tEXt", "a\0b"s), png_chunk("iCCP", "a\0\0damaged"s),
        png_chunk("bKGD", "\0\1\0\1\0\1"s), png_chunk("sBIT", "\5\6\5"s)})
    EXPECT_EQ(read(png_of_raw({.colour = 2, .rows = rgb, .chunks = chunk})).rgb, (Bytes{1, 2, 3}));
}

// Read as before support for 16 bits and transparency.
TEST_F(PictureFiles, AnyOtherPngIsReadAsEver) {
  for (const int bits : {1, 2, 4, 8}) {
    const int most = (1 << bits) - 1;
    const auto cell = static_cast<char>(most << (8 - bits));
    EXPECT_EQ(read(png_of_raw({.bits = bits, .rows = "\0"s + cell})).rgb, Bytes(3, 255)) << bits;
    const std::string low(1, static_cast<char>(1 << (8 - bits)));
    EXPECT_EQ(read(png_of_raw({.bits = bits, .rows = "\0"s + low})).rgb,
              Bytes(3, static_cast<uint8_t>(255 / most)))
        << bits;
    EXPECT_EQ(read(png_of_raw({.bits = bits,
                               .colour = 3,
                               .rows = "\0"s + low,
                               .chunks = png_chunk("PLTE", "\1\2\3\xFE\xFD\xFC"s)}))
                  .rgb,
              (Bytes{254, 253, 252}));
  }
  // 3 x 3 pixels in seven passes; five passes have rows.
  const std::string passes = "\0\1"s + "\0\3"s + "\0\7\x9"s + "\0\2"s + "\0\x8"s + "\0\4\5\6"s;
  const Image image =
      read(png_of_raw({.height = 3, .width = 3, .rows = passes, .interlaced = true}));
  ASSERT_EQ(image.rgb.size(), 27u);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(image.rgb[3 * i], i + 1);
}

// ---- WebP

TEST_F(PictureFiles, AWebPIsRead) {
  const Image image = gradient_image(40, 64);
  EXPECT_EQ(read(webp_of(image, true)).rgb, image.rgb);
  const Image opaque = read(webp_with_alpha(image));
  EXPECT_EQ(opaque.rgb, image.rgb);
  const Image lossy = read(webp_of(image, false));
  ASSERT_EQ(lossy.rgb.size(), image.rgb.size());
  EXPECT_EQ(lossy.width, 64);
  double difference = 0;
  for (std::size_t i = 0; i < image.rgb.size(); ++i)
    difference += std::abs(static_cast<double>(lossy.rgb[i]) - image.rgb[i]);
  EXPECT_LT(difference / static_cast<double>(image.rgb.size()), 4);
}

TEST_F(PictureFiles, AWebPThatIsCutOffIsNamed) {
  for (const bool lossless : {false, true}) {
    const std::string webp = webp_of(gradient_image(40, 64), lossless);
    for (std::size_t size = 12; size < webp.size(); size += 7)
      expect_refused(webp.substr(0, size), "a WebP file that is cut off");
  }
  std::string damaged = webp_of(gradient_image(4, 4), true);
  damaged[20] = 0;  // the mark of lossless pixels
  expect_refused(damaged, "a WebP file that is damaged");
}

TEST_F(PictureFiles, AnAnimatedWebPIsRefusedByName) {
  std::string webp = webp_with_exif(webp_of(gradient_image(4, 4), true), exif_block(1));
  webp[20] = 2;  // the flag of animations
  expect_refused(webp, "is an animated WebP file", "webpmux");
}

// ---- BMP

// The colours of kPalette.
Bytes colours(const std::vector<int>& numbers) {
  Bytes rgb;
  for (const int number : numbers)
    for (const int c : {1, 2, 3}) rgb.push_back(static_cast<uint8_t>(10 * number + c));
  return rgb;
}
std::string palette(int count, bool short_entries = false) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (const int c : {3, 2, 1}) text += static_cast<char>(10 * i + c);
    if (!short_entries) text += '\0';
  }
  return text;
}

TEST_F(PictureFiles, ABmpOf24BitsIsRead) {
  for (const int64_t width : {1, 2, 3, 4, 17}) {
    const Image image = gradient_image(5, width);
    EXPECT_EQ(read(bmp_of(image)).rgb, image.rgb) << width;
  }
  const std::string pixels = "\3\2\1\0\6\5\4\0"s;
  const Bytes down{1, 2, 3, 4, 5, 6}, up{4, 5, 6, 1, 2, 3};
  EXPECT_EQ(read(bmp_of_parts({.height = 2, .pixels = pixels})).rgb, up);
  EXPECT_EQ(read(bmp_of_parts({.height = -2, .pixels = pixels})).rgb, down);
  for (const uint32_t header : {12U, 40U, 52U, 56U, 64U, 108U, 124U})
    EXPECT_EQ(read(bmp_of_parts({.height = 2, .pixels = pixels, .header = header})).rgb, up);
}

TEST_F(PictureFiles, ABmpWithAPaletteIsRead) {
  const std::pair<int, std::string> rows[]{
      {1, "\x50\0\0\0"s}, {2, "\x11\0\0\0"s}, {4, "\1\1\0\0"s}, {8, "\0\1\0\1"s}};
  for (const auto& [bits, pixels] : rows)
    for (const uint32_t header : {12U, 40U, 124U}) {
      const std::string entries = palette(1 << std::min(bits, 4), header == 12);
      const uint32_t count = bits == 8 ? 16 : 0;
      EXPECT_EQ(read(bmp_of_parts({.width = 4,
                                   .bits = bits,
                                   .pixels = pixels,
                                   .palette = entries,
                                   .colours = header == 12 ? 0 : count,
                                   .header = header}))
                    .rgb,
                colours({0, 1, 0, 1}))
          << bits << " bits, header " << header;
    }
}

TEST_F(PictureFiles, ABmpOfRunsIsRead) {
  const auto runs = [](int64_t width, int bits, const std::string& code) {
    return bmp_of_parts({.height = 2,
                         .width = width,
                         .bits = bits,
                         .compression = bits == 8 ? 1U : 2U,
                         .pixels = code,
                         .palette = palette(16),
                         .colours = 16});
  };
  // Bottom-up rows: runs, then literal pixels, padded to an even number of bytes.
  EXPECT_EQ(read(runs(4, 8, "\3\5\1\6\0\0\0\3\1\2\3\0\1\4\0\0\0\1"s)).rgb,
            colours({1, 2, 3, 4, 5, 5, 5, 6}));
  EXPECT_EQ(read(runs(4, 4, "\3\x56\1\x60\0\0\0\4\x12\x34\0\1"s)).rgb,
            colours({1, 2, 3, 4, 5, 6, 5, 6}));
  // Skipped pixels have colour 0, as have pixels after an early end.
  EXPECT_EQ(read(runs(3, 8, "\1\7\0\2\1\1\1\x9\0\1"s)).rgb, colours({0, 0, 9, 7, 0, 0}));
  EXPECT_EQ(read(runs(3, 8, "\0\1"s)).rgb, colours({0, 0, 0, 0, 0, 0}));
  // Runs beyond the edge are cut, as in other readers. A full picture needs no end marker.
  EXPECT_EQ(read(runs(2, 8, "\x9\1\0\0\x9\2"s)).rgb, colours({2, 2, 1, 1}));
  expect_refused(runs(2, 8, "\2\1\0\0\1\2"s), "a BMP file that is cut off");
  expect_refused(runs(2, 8, "\2\1\0\0\0\x9\1"s), "a BMP file that is cut off");
  expect_refused(runs(2, 8, "\0\2\1"s), "a BMP file that is cut off");
  expect_refused(runs(2, 8, ""s), "a BMP file that is cut off");
}

TEST_F(PictureFiles, ABmpOf16And32BitsIsRead) {
  const auto of = [](int bits, const std::string& pixels, const std::vector<uint32_t>& masks,
                     uint32_t header = 40) {
    return bmp_of_parts({.bits = bits,
                         .compression = masks.empty() ? 0U : 3U,
                         .pixels = pixels,
                         .header = header,
                         .masks = masks});
  };
  const std::string white16 = "\xFF\x7F\0\0"s, mixed16 = "\x21\x28\0\0"s;  // 01010 00001 00001
  EXPECT_EQ(read(of(16, white16, {})).rgb, Bytes(3, 255));
  EXPECT_EQ(read(of(16, mixed16, {})).rgb, (Bytes{10 * 255 / 31, 8, 8}));
  EXPECT_EQ(read(of(16, "\xFF\xFF\0\0"s, {0xF800, 0x7E0, 0x1F})).rgb, Bytes(3, 255));
  EXPECT_EQ(read(of(16, "\x20\0\0\0"s, {0xF800, 0x7E0, 0x1F})).rgb, (Bytes{0, 4, 0}));
  EXPECT_EQ(read(of(32, "\3\2\1\xFF"s, {})).rgb, (Bytes{1, 2, 3}));
  for (const uint32_t header : {40U, 52U, 56U, 108U, 124U}) {
    EXPECT_EQ(read(of(32, "\1\2\3\0"s, {0xFF, 0xFF00, 0xFF0000}, header)).rgb, (Bytes{1, 2, 3}));
    EXPECT_EQ(read(of(32, "\0\0\0\0"s, {0xFF, 0, 0xFF0000}, header)).rgb, (Bytes{0, 0, 0}));
  }
  // Ten bits for each colour.
  EXPECT_EQ(read(of(32, "\xFF\3\0\0"s, {0x3FF, 0xFFC00, 0x3FF00000})).rgb, (Bytes{255, 0, 0}));
  expect_refused(of(32, "\1\2\3\0"s, {0xFF, 0xF0F0, 0xFF0000}), "mask 2 of colours has a gap");
}

TEST_F(PictureFiles, OtherBmpsAreRefusedByName) {
  const auto kind = [](int bits, uint32_t compression, uint32_t header = 40) {
    return bmp_of_parts(
        {.bits = bits, .compression = compression, .pixels = "\0\0\0\0"s, .header = header});
  };
  expect_refused(kind(0, 4), "compression 4 (JPEG)", "RLE8");
  expect_refused(kind(0, 5), "compression 5 (PNG)");
  expect_refused(kind(24, 4, 64), "compression 4 (RLE24)");
  expect_refused(kind(1, 3, 64), "compression 3 (Huffman)");
  expect_refused(kind(24, 1), "24 bits a pixel with compression 1");
  expect_refused(kind(3, 0), "3 bits a pixel");
  expect_refused(kind(24, 0, 13), "a header of 13 bytes");
  expect_refused("BM"s, "cut off in its header");
  const std::string good = bmp_of(gradient_image(3, 4));
  for (std::size_t size = 2; size < good.size(); ++size)
    expect_refused(good.substr(0, size), "a BMP file that is cut off");
  expect_refused(
      bmp_of_parts({.bits = 8, .pixels = "\7\0\0\0"s, .palette = palette(4), .colours = 4}),
      "a colour that is not among the 4 of its palette");
  expect_refused(bmp_of_parts({.height = 0}), "too large");
  expect_refused(bmp_of_parts({.height = INT32_MIN, .width = INT32_MAX}), "too large");
  expect_refused(bmp_of_parts({.height = 1, .width = -1}), "too large");
  expect_refused("BMW drives a car, said the file"s, "not a ");
}

// ---- any format

// A few bytes may claim a picture of any size. No memory is allocated for the claimed size.
TEST_F(PictureFiles, SizesAreNotBelieved) {
  expect_refused(bmp_of_parts({.height = 50000, .width = 50000}), "50000 x 50000", "too large");
  expect_refused(bmp_of_parts({.height = 30000,
                               .width = 15000,
                               .bits = 8,
                               .compression = 1,
                               .pixels = "\0\1"s,
                               .palette = palette(2),
                               .colours = 2}),
                 "15000 x 30000", "too large");
  expect_refused(bmp_of_parts({.height = 2,
                               .width = 1 << 24,
                               .bits = 8,
                               .compression = 1,
                               .pixels = "\0\1"s,
                               .palette = palette(2),
                               .colours = 2}),
                 "16777216 x 2 pixels in 2 bytes");
  // No memory is allocated for a picture if the file has too few bytes.
  expect_refused(bmp_of_parts({.height = 10000, .width = 10000}), "0 of ", "bytes of pixels");
  std::string webp = webp_of(gradient_image(4, 4), true);
  webp.replace(21, 4, "\xFF\xFF\xFF\x0F");  // 14 bits for each side, minus 1
  expect_refused(webp, "16384 x 16384", "too large");
}

TEST_F(PictureFiles, AFormatsHeaderHasTheSizeOfItsPictures) {
  const Image image = gradient_image(6, 9);
  for (const std::string& bytes : {jpeg_of(image), png_of(image), webp_of(image, true),
                                   webp_of(image, false), bmp_of(image)}) {
    const PictureFile file{"picture", bytes};
    const PictureHeader header = format_of(file).header(file);
    EXPECT_EQ(header.height, 6);
    EXPECT_EQ(header.width, 9);
    EXPECT_EQ(header.orientation, 1);
  }
}

}  // namespace
}  // namespace lockstep::testing
