// SPDX-License-Identifier: Apache-2.0
// The table of picture formats, used by folders, messages and read_image().
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
  std::vector<std::string_view> endings;  // endings of file names, in lower case: ".jpg"
  bool (*begins)(std::string_view bytes);
  // Both functions throw if the file is damaged. The error names the file.
  PictureHeader (*header)(const PictureFile& file);
  Image (*decode)(const PictureFile& file);
};

std::span<const PictureFormat> picture_formats();

// True if the file's name has a picture's ending, in upper or lower case.
bool is_picture_name(std::string_view path);

// Lists for messages: "JPEG and PNG", ".jpg, .jpeg or .png".
std::string picture_format_names(std::string_view last_word);
std::string picture_endings(std::string_view last_word);

// Finds the format by the first bytes, not by the file's name. Throws for other files. The error
// names the file's format if it is well known.
const PictureFormat& format_of(const PictureFile& file);

}  // namespace lockstep
