// SPDX-License-Identifier: Apache-2.0
// Masks of single objects on a picture: cut and shrunk with the picture, filled.
#pragma once

#include <cstdint>
#include <span>

#include "app/draw/framing.h"

namespace lockstep {

// The part of the mask within a rectangle of the picture.
struct MaskPart {
  int64_t top = 0, left = 0, height = 0, width = 0;
};
RunLengths cut_mask(const RunLengths& mask, const MaskPart& part);

// The mask of the picture that shrunk() makes: a pixel is set if at least half of its square is.
RunLengths shrunk_mask(const RunLengths& mask, int64_t times);

// Mixes 40 % of a box's colour into each pixel of its mask. Where masks overlap, only the last one
// counts, so that the picture stays visible under any number of masks. Throws if a mask has another
// size than the picture.
void fill_masks(Image& image, std::span<const DrawnBox> boxes);

}  // namespace lockstep
