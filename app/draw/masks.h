// SPDX-License-Identifier: Apache-2.0
// Masks: a class for each pixel, in the colours of the classes.
#pragma once

#include <array>
#include <cstdint>

#include "data/formats/png.h"
#include "data/image.h"
#include "data/masked_images.h"

namespace lockstep {

inline constexpr auto kNoClass = static_cast<uint8_t>(kIgnoredPixel);

// Red, green and blue of each class, for a PNG with a palette. The class 0 is black, kNoClass is
// light grey.
std::array<uint8_t, 3 * 256> mask_palette();

// The picture with its mask over it, half transparent. Pixels of class 0, the background, stay as
// they are; pixels without a class are pale. Throws unless both have the same size.
Image overlaid(const Image& picture, const PngValues& mask);

// The mask at another size, without mixing classes.
PngValues resized_mask(const PngValues& mask, int64_t height, int64_t width);

}  // namespace lockstep
