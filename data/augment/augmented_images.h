// SPDX-License-Identifier: Apache-2.0
// A data set whose training pictures are changed at random.
#pragma once

#include <memory>

#include "data/augment/augment.h"
#include "data/dataset.h"

namespace lockstep {

// The set with every picture augmented, after its crop and mirroring. The changes depend on the
// seed and the number of the draw alone. The set must have bytes.
std::unique_ptr<Dataset> augmented(std::unique_ptr<Dataset> images,
                                   const Augmentation& augmentation, uint64_t seed);

}  // namespace lockstep
