// SPDX-License-Identifier: Apache-2.0
// Drawn shapes as files of image_masks: pictures, and masks with a palette.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/draw/masks.h"
#include "data/image.h"
#include "data/masked_images.h"
#include "data/transform.h"
#include "tests/support/picture_files.h"

namespace lockstep::testing {

// Writes ROOT/train and ROOT/val with pictures of side x side pixels.
inline void write_drawn_shapes(const std::string& root, int64_t side, int64_t train, int64_t val) {
  for (const bool held_out : {false, true}) {
    const std::string part = root + (held_out ? "/val" : "/train");
    for (const char* kind : {"/images", "/masks"}) std::filesystem::create_directories(part + kind);
    const auto set =
        drawn_shapes({.held_out = held_out, .image_size = side, .size = held_out ? val : train});
    std::vector<float> image(static_cast<std::size_t>(3 * side * side));
    std::vector<int64_t> mask(static_cast<std::size_t>(side * side));
    for (int64_t i = 0; i < set->size(); ++i) {
      set->read(i, 0, image.data(), mask.data());
      const std::string name = "/" + std::to_string(i) + ".png";
      put_file(part + "/images" + name, png_of(picture_of(image.data(), set->preparation())));
      const PngValues values{side, side, std::vector<uint8_t>(mask.begin(), mask.end())};
      put_file(part + "/masks" + name, png_of(values, mask_palette()));
    }
  }
}

}  // namespace lockstep::testing
