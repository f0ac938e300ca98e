// SPDX-License-Identifier: Apache-2.0
// Reads still WebP files with libwebp. Refuses animated files.
#pragma once

#include <string_view>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

bool is_webp(std::string_view bytes);
PictureHeader webp_header(const PictureFile& file);
Image decode_webp(const PictureFile& file);

}  // namespace lockstep
