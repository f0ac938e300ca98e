// SPDX-License-Identifier: Apache-2.0
// Moving averages of parameters in the steps of a test.
#pragma once

#include "lockstep/training_model.h"

namespace lockstep {

// Makes the test's step read the moving averages of the trained model's parameters, as far as it
// has averages.
void read_averages(TrainingModel& test, const TrainingModel& trained);

}  // namespace lockstep
