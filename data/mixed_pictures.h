// SPDX-License-Identifier: Apache-2.0
// Mixed pictures (mixup, Zhang et al. 2017): each picture of a batch is mixed with another, and so
// are their labels.
#pragma once

#include <cstdint>

namespace lockstep {

// The share that each picture of the step keeps, from 0 to 1: a draw from Beta(alpha, alpha) that
// depends on the seed and the step alone.
double share_of_step(double alpha, uint64_t seed, int64_t step);

// image = share * image + (1 - share) * other, by element; bytes are rounded.
void mix_images(const float* other, double share, int64_t count, float* image);
void mix_images(const uint8_t* other, double share, int64_t count, uint8_t* image);

}  // namespace lockstep
