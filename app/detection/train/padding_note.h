// SPDX-License-Identifier: Apache-2.0
// A warning about networks with results that depend on the padding of pictures.
#pragma once

#include <string>

#include "lockstep/graph.h"

namespace lockstep {

// A line if a normalisation of the detector's prediction graph sums over a whole padded picture,
// otherwise "". Normalisations of RoIs see no padding.
std::string padding_note(const Graph& prediction);

}  // namespace lockstep
