// SPDX-License-Identifier: Apache-2.0
// Reads PNG files with libpng.
#pragma once

#include <string_view>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

bool is_png(std::string_view bytes);
PictureHeader png_header(const PictureFile& file);
Image decode_png(const PictureFile& file);

}  // namespace lockstep
