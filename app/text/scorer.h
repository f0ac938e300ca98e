// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/predict/scorer.h"
#include "app/text/config.h"

namespace lockstep {

// Scores a language model on its held-out text.
std::unique_ptr<Scorer> text_scorer(TextConfig config);

}  // namespace lockstep
