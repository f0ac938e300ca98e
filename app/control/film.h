// SPDX-License-Identifier: Apache-2.0
// An episode in HTML: as an animation and as a strip of stills, in SVG.
#pragma once

#include <string>
#include <vector>

#include "lockstep/episodes.h"

namespace lockstep {

// `states` has the state at each step, from the first on. Returns "" for an environment without a
// picture.
std::string film_of(const EnvironmentKind& kind, const std::vector<std::vector<double>>& states);

}  // namespace lockstep
