// SPDX-License-Identifier: Apache-2.0
// An episode in HTML: as an animation and as a strip of stills, in SVG.
#pragma once

#include <string>
#include <vector>

#include "data/episodes/environment.h"

namespace lockstep {

// `states`: of each step, from the first on. "" for an environment that has no picture.
std::string film_of(const EnvironmentKind& kind, const std::vector<std::vector<double>>& states);

}  // namespace lockstep
