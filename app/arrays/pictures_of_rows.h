// SPDX-License-Identifier: Apache-2.0
// Masks and pictures made of rows of tensors.
#pragma once

#include "data/formats/png.h"
#include "data/image.h"
#include "data/transform.h"
#include "lockstep/tensor.h"

namespace lockstep {

// The class of each pixel of a row [1, classes, height, width] of float32 scores: the class with
// the highest score, of equal ones the first. A single channel is class 1 above `above`, else 0.
PngValues mask_of_scores(const Tensor& row, double above);

// The mask in a row [1, height, width] or [1, 1, height, width]; kNoClass for `ignore` and for
// numbers that are no class.
PngValues mask_of_labels(const Tensor& row, int64_t ignore);

// The range of numbers that a picture shows from black to white.
struct LightRange {
  double low = 0, high = 1;
};
LightRange range_of(const Tensor& row);

// The picture in a float32 row [1, 1 or 3, height, width].
Image picture_in(const Tensor& row, const LightRange& range);
Image picture_in(const Tensor& row, const Preparation& made);

}  // namespace lockstep
