// SPDX-License-Identifier: Apache-2.0
// The input of a classifier.
#pragma once

#include "lockstep/models.h"
#include "models/image_input.h"

namespace lockstep {

// The input "data" of a classifier: images as float32 numbers.
Value image_input(Net& net, const ClassifierOptions& options, const Where& where = Where::here());

}  // namespace lockstep
