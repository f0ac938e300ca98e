// SPDX-License-Identifier: Apache-2.0
// The formats of pictures, a row each. Folders, messages and read_image() ask this list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

struct PictureFormat {
  std::string_view name;
  std::vector<std::string_view> endings;  // of file names, in lower case: ".jpg"
  bool (*begins)(std::string_view bytes);
  // Both throw naming the file if it is damaged.
  PictureHeader (*header)(const PictureFile& file);
  Image (*decode)(const PictureFile& file);
};

std::span<const PictureFormat> picture_formats();

// Whether the name of a file ends as pictures' names do, in letters of either case.
bool is_picture_name(std::string_view path);

// For messages: "JPEG and PNG", ".jpg, .jpeg or .png".
std::string picture_format_names(std::string_view last_word);
std::string picture_endings(std::string_view last_word);

// Finds the format by the first bytes, whatever the file is called. Throws naming the format that
// the file has instead, as far as it is a well-known one.
const PictureFormat& format_of(const PictureFile& file);

}  // namespace lockstep
