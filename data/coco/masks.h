// SPDX-License-Identifier: Apache-2.0
// Masks of objects as run lengths, with the bits of pycocotools.
#pragma once

#include <span>

#include "data/coco/annotations.h"

namespace lockstep {

// The mask of a polygon x, y, x, y, .. in a picture. The part outside the picture is cut off.
RunLengths mask_of(std::span<const double> polygon, int64_t height, int64_t width);

// The mask of an object in its picture: its run lengths, or its polygons joined. An object with
// neither has no pixels.
RunLengths mask_of(const Annotations& table, const CocoObject& object);

// One byte per pixel, row by row: 1 in the mask, else 0. In a bitmap that becomes a mask, each byte
// other than 0 is a pixel of the mask.
std::vector<uint8_t> bitmap_of(const RunLengths& mask);
RunLengths mask_of_bitmap(std::span<const uint8_t> bitmap, int64_t height, int64_t width);

// The pixels in any of the masks, and the pixels in all of them. Throws unless there are masks and
// all have one size.
RunLengths joined(std::span<const RunLengths> masks);
RunLengths common(std::span<const RunLengths> masks);

// The mask in the mirrored picture.
RunLengths mirrored(const RunLengths& mask);

}  // namespace lockstep
