// SPDX-License-Identifier: Apache-2.0
// Changes of colours, to the bit as PIL and torchvision's functions for PIL images make them.
#pragma once

#include "data/augment/byte_picture.h"

namespace lockstep {

// A factor of 1 changes nothing; 0 gives a black, grey, uniform or smoothed picture.
void adjust_brightness(const BytePicture& picture, double factor);
void adjust_contrast(const BytePicture& picture, double factor);
void adjust_saturation(const BytePicture& picture, double factor);
void adjust_sharpness(const BytePicture& picture, double factor);
// Turns the circle of hues by `turn`, from -0.5 to 0.5 of it. Leaves grey pictures unchanged.
void adjust_hue(const BytePicture& picture, double turn);

// Keeps the `bits` highest bits of each byte.
void posterize(const BytePicture& picture, int bits);
// Inverts the bytes from `threshold` on.
void solarize(const BytePicture& picture, double threshold);
// Stretches each channel to the whole range.
void autocontrast(const BytePicture& picture);
// Makes the values of each channel equally frequent.
void equalize(const BytePicture& picture);

}  // namespace lockstep
