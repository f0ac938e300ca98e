// SPDX-License-Identifier: Apache-2.0
// The feature maps from which RoIs are pooled. One prediction graph may end with these maps, and
// another graph may begin with them.
#pragma once

#include "models/detection/features.h"
#include "models/detection/options.h"

namespace lockstep {

// True if each RoI is pooled from the level of its size.
bool pools_from_levels(const DetectorOptions& options, const Features& features);

// Finest first.
std::vector<Feature> roi_maps(const DetectorOptions& options, const Features& features);

// Adds outputs roi_map_0, roi_map_1, ..
void output_roi_maps(Net& net, const DetectorOptions& options, const Features& features);

// Adds inputs roi_map_0, .. with the shapes of `features`, which are of the graph `of`. Sizes that
// are open there are open here.
Features fed_roi_maps(Net& net, const DetectorOptions& options, const Features& features,
                      const Graph& of);

}  // namespace lockstep
