// SPDX-License-Identifier: Apache-2.0
// The list of formats: file names, and errors about files of other formats.
#include <gtest/gtest.h>

#include "data/formats/formats.h"
#include "tests/support/expect_error.h"
#include "tests/support/picture_files.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using namespace std::string_literals;

TEST(PictureFormats, AreToldByTheEndsOfNames) {
  for (const PictureFormat& format : picture_formats()) {
    ASSERT_FALSE(format.endings.empty()) << format.name;
    for (std::string_view ending : format.endings) {
      std::string upper(ending);
      for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));
      EXPECT_TRUE(is_picture_name(join("a folder.x/name", ending)));
      EXPECT_TRUE(is_picture_name("a.b" + upper));
      EXPECT_FALSE(is_picture_name(join("name", ending.substr(1))));
      EXPECT_FALSE(is_picture_name(join("name", ending, "/name")));
      EXPECT_FALSE(is_picture_name(join("name", ending, ".txt")));
      EXPECT_FALSE(is_picture_name(join("folder/", ending)));  // a hidden file without an ending
    }
  }
  for (const char* other : {"", ".", "a", "a.", "a.gif", "a.tif", "a.txt", "jpg", "a.jpgx"})
    EXPECT_FALSE(is_picture_name(other)) << other;
}

TEST(PictureFormats, EveryOneIsNamedInMessages) {
  const std::string names = picture_format_names("and"), endings = picture_endings("or");
  for (const PictureFormat& format : picture_formats()) {
    EXPECT_NE(names.find(format.name), names.npos) << names;
    for (std::string_view ending : format.endings)
      EXPECT_NE(endings.find(ending), endings.npos) << endings;
  }
}

TEST(PictureFormats, OthersAreCalledByTheirNames) {
  TemporaryFolder folder;
  const std::string path = folder / "b.jpg";
  const std::pair<std::string, const char*> others[]{
      {"GIF89a\1\0\1\0"s, "a GIF file"},
      {"II*\0\10\0\0\0"s, "a TIFF file"},
      {"MM\0*\0\0\0\10"s, "a TIFF file"},
      {"\0\0\0\x20"
       "ftypavif"s,
       "an AVIF file"},
      {"\0\0\0\x18"
       "ftypheic"s,
       "a HEIC file"},
      {"\0\0\0\x18"
       "ftypmif1"s,
       "a HEIF file"},
      {"\0\0\0\x18"
       "ftypisom"s,
       "a video"},
      {"\xFF\x0A\xFF"s, "a JPEG XL file"},
      {"\0\0\0\x0CjP  \r\n\x87\n"s, "a JPEG 2000 file"},
      {"<svg width='1'/>"s, "an SVG file"},
      {"<!DOCTYPE html><html>"s, "a web page"},
      {"\0\5\x16\7\0\2\0\0"s, "AppleDouble"},
      {"version https://git-lfs.github.com/spec/v1\n"s, "git lfs pull"},
  };
  for (const auto& [bytes, name] : others) {
    put_file(path, bytes);
    expect_error([&] { read_image(path); }, "b.jpg: is ", name,
                 "; Lockstep reads " + picture_format_names("and"));
  }
  for (const std::string& bytes : {"no picture"s, "GIF8"s, "\0\0\0"s}) {
    put_file(path, bytes);
    expect_error([&] { read_image(path); }, "b.jpg: not a " + picture_format_names("or") + " file");
  }
  put_file(path, "");
  expect_error([&] { read_image(path); }, "b.jpg: is empty");
}

}  // namespace
}  // namespace lockstep::testing
