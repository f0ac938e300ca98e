// SPDX-License-Identifier: Apache-2.0
// Random changes of training pictures: RandAugment (Cubuk et al. 2019) and colour jitter, with the
// operations, magnitudes and ranges of torchvision.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/byte_picture.h"
#include "lockstep/random.h"

namespace lockstep {

struct RandAugment {
  int64_t operations = 0;  // for each picture; 0: none
  int64_t magnitude = 9;   // from 0 to kMostMagnitude
};
inline constexpr int64_t kMostMagnitude = 30;

// The largest change of each factor from 1; of the hue, from 0 to 0.5 of the circle.
struct ColourJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;

  bool active() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
};

struct Augmentation {
  RandAugment rand_augment;
  ColourJitter jitter;

  bool active() const { return rand_augment.operations > 0 || jitter.active(); }
};

// RandAugment's operations: Identity, ShearX, ..
std::vector<std::string> augment_operations();
// Applies one operation by its number in augment_operations(). `negative` gives operations that
// have a sign their other direction.
void apply_operation(const BytePicture& picture, std::size_t operation, int64_t magnitude,
                     bool negative);

// RandAugment first, then the jitter, whose four changes come in a random order.
void augment(const BytePicture& picture, const Augmentation& augmentation, PhiloxSequence& random);

}  // namespace lockstep
