// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/classification/config.h"
#include "app/predict/scorer.h"

namespace lockstep {

// Scores a classifier on its held-out images.
std::unique_ptr<Scorer> classifier_scorer(ClassificationConfig config);

}  // namespace lockstep
