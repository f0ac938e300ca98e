// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/arrays/config.h"
#include "app/predict/scorer.h"

namespace lockstep {

// Scores a network on held-out arrays.
std::unique_ptr<Scorer> arrays_scorer(ArraysConfig config);

}  // namespace lockstep
