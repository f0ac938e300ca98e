// SPDX-License-Identifier: Apache-2.0
// Whether a profile is of the step that takes its times.
#pragma once

#include <string>
#include <vector>

#include "app/simulate/kernel_times.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Throws if the profile is of another batch or network: an operator of the forward or backward pass
// has a step's name and type, but other shapes. Its weights have the same shapes in any batch, so
// times by shape would be wrong without a sign. Otherwise returns a note if the profile is of
// another step: operators of one are not in the other. `path`: of the profile, for the texts.
std::vector<std::string> check_profile(const KernelProfile& profile, const Plan& plan,
                                       const TrainingModel& model, const std::string& path);

}  // namespace lockstep
