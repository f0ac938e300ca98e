// SPDX-License-Identifier: Apache-2.0
// Boxes drawn on a picture, with what they are called.
#pragma once

#include <span>

#include "app/draw/framing.h"

namespace lockstep {

// Lines and letters are as large as suits the picture; later boxes lie on earlier ones. First each
// pixel becomes scale x scale of them, so that what is written on small pictures can be read. A
// box is cut to the picture; one that is not in it or not finite is not drawn.
Image drawn(const Image& image, std::span<const DrawnBox> boxes, int64_t scale = 1);

}  // namespace lockstep
