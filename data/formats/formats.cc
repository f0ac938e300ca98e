// SPDX-License-Identifier: Apache-2.0
#include "data/formats/formats.h"

#include <algorithm>
#include <cctype>

#include "data/formats/bmp.h"
#include "data/formats/jpeg.h"
#include "data/formats/other_formats.h"
#include "data/formats/png.h"
#include "data/formats/webp.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string listed(const std::vector<std::string_view>& words, std::string_view last_word) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : join(" ", last_word, " ");
    text += words[i];
  }
  return text;
}

}  // namespace

std::span<const PictureFormat> picture_formats() {
  static const std::vector<PictureFormat> all{
      {"JPEG", {".jpg", ".jpeg"}, is_jpeg, jpeg_header, decode_jpeg},
      {"PNG", {".png"}, is_png, png_header, decode_png},
      {"WebP", {".webp"}, is_webp, webp_header, decode_webp},
      {"BMP", {".bmp"}, is_bmp, bmp_header, decode_bmp},
  };
  return all;
}

bool is_picture_name(std::string_view path) {
  const auto same = [](char of_name, char of_ending) {
    return std::tolower(static_cast<unsigned char>(of_name)) == of_ending;
  };
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const PictureFormat& format : picture_formats())
    for (std::string_view ending : format.endings)
      if (name.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), name.rbegin(),
                                                    [&](char a, char b) { return same(b, a); }))
        return true;
  return false;
}

std::string picture_format_names(std::string_view last_word) {
  std::vector<std::string_view> names;
  for (const PictureFormat& format : picture_formats()) names.push_back(format.name);
  return listed(names, last_word);
}

std::string picture_endings(std::string_view last_word) {
  std::vector<std::string_view> endings;
  for (const PictureFormat& format : picture_formats())
    endings.insert(endings.end(), format.endings.begin(), format.endings.end());
  return listed(endings, last_word);
}

const PictureFormat& format_of(const PictureFile& file) {
  for (const PictureFormat& format : picture_formats())
    if (format.begins(file.bytes)) return format;
  const std::string_view other = name_of_other_format(file.bytes);
  check(other.empty(), file.path, ": is ", other, "; Lockstep reads ", picture_format_names("and"));
  check(!file.bytes.empty(), file.path, ": is empty");
  fail(file.path, ": not a ", picture_format_names("or"), " file");
}

}  // namespace lockstep
