// SPDX-License-Identifier: Apache-2.0
// Boxes with labels, masks and keypoints, drawn on a picture.
#pragma once

#include <span>

#include "app/draw/framing.h"

namespace lockstep {

// Each pixel becomes scale x scale pixels, so that labels on small pictures are legible. Lines and
// letters suit the size of the picture; later boxes are drawn over earlier boxes. Boxes are clipped
// to the picture. Boxes that are outside or not finite are not drawn. Masks are under all lines,
// points above them. Throws if a mask has another size than the picture.
Image drawn(const Image& image, std::span<const DrawnBox> boxes, int64_t scale = 1);

}  // namespace lockstep
