// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic.h"

#include <cmath>

#include "data/streams.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {}  // namespace

// Maps real images to the range from -1 to 1, similar to generated images.
Preparation synthetic_preparation(const DatasetOptions& options) {
  return {3,
          options.image_size,
          options.image_size,
          options.image_size,
          {0.5F, 0.5F, 0.5F},
          {0.5F, 0.5F, 0.5F}};
}

SyntheticImages::SyntheticImages(const DatasetOptions& options)
    : Dataset(synthetic_preparation(options)), options_(options) {
  check(options.size > 0, "the data set has ", options.size, " images, should have at least 1");
  check(options.classes > 0 && options.image_size > 0, "synthetic images of ", options.image_size,
        " pixels in ", options.classes, " classes");
}

// A class has a wave for each colour, with a direction, a frequency and a strength. The phase
// differs by image.
void SyntheticImages::read(int64_t index, uint64_t, float* image, int64_t* label) const {
  *label = index % options_.classes;
  PhiloxSequence pattern(options_.seed, streams::kSyntheticPattern + static_cast<uint64_t>(*label));
  PhiloxSequence own(options_.seed,
                     (options_.held_out ? streams::kHeldOutSynthetic : streams::kSynthetic) +
                         static_cast<uint64_t>(index));
  const int64_t side = options_.image_size;
  for (int c = 0; c < 3; ++c) {
    const double angle = pattern.uniform(0, 2 * M_PI), turns = pattern.uniform(1, 6);
    const double strength = pattern.uniform(0.3, 1), phase = own.uniform(0, 2 * M_PI);
    const double dx = 2 * M_PI * turns * std::cos(angle) / static_cast<double>(side);
    const double dy = 2 * M_PI * turns * std::sin(angle) / static_cast<double>(side);
    for (int64_t y = 0; y < side; ++y)
      for (int64_t x = 0; x < side; ++x)
        *image++ = static_cast<float>(
            strength * std::sin(phase + dx * static_cast<double>(x) + dy * static_cast<double>(y)) +
            own.uniform(-0.5, 0.5));
  }
}

}  // namespace lockstep
