// SPDX-License-Identifier: Apache-2.0
// Keypoints of boxes, and the limbs between them.
#pragma once

#include "app/draw/canvas.h"
#include "app/draw/framing.h"

namespace lockstep {

// Draws the box's limbs, then its points over them. `scale`: pixels of the canvas for a pixel of
// the picture. `line`: the width of a line, which sets the size of a point. A limb needs both of
// its points; points that are not finite or far outside are not drawn.
void draw_points(Canvas& canvas, const DrawnBox& box, double scale, double line);

}  // namespace lockstep
