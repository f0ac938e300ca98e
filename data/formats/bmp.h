// SPDX-License-Identifier: Apache-2.0
// Reads BMP files of Windows and OS/2: palettes of 1 to 8 bits, 16, 24 and 32 bits, runs (RLE8,
// RLE4), any colour masks, bottom-up or top-down.
#pragma once

#include <string_view>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

bool is_bmp(std::string_view bytes);
PictureHeader bmp_header(const PictureFile& file);
Image decode_bmp(const PictureFile& file);

}  // namespace lockstep
