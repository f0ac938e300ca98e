// SPDX-License-Identifier: Apache-2.0
// The command that trains with the options that a search has found.
#pragma once

#include <string>
#include <vector>

#include "app/simulate/simulation.h"

namespace lockstep {

// Lines for people: the command, and before it what a shell cannot say, such as the hosts. The
// command sets the devices and the batch of the simulated cluster where the configuration has
// others. `buckets`: the file of the found buckets. A step that is no CONFIG.yaml has no such
// command; the lines then name the options.
std::vector<std::string> found_command(const ModelRequest& request, const Simulation& simulation,
                                       const std::string& buckets);

}  // namespace lockstep
