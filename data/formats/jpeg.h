// SPDX-License-Identifier: Apache-2.0
// Reads JPEG files with libjpeg-turbo.
#pragma once

#include <string_view>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

bool is_jpeg(std::string_view bytes);
PictureHeader jpeg_header(const PictureFile& file);
Image decode_jpeg(const PictureFile& file);

}  // namespace lockstep
