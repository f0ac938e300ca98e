// SPDX-License-Identifier: Apache-2.0
// Box heads, which turn pooled RoIs into features of the whole RoI.
#pragma once

#include "models/detection/resnet_body.h"

namespace lockstep {

// Maps pooled RoIs [n, C, r, r] to features [n, channels, ..].
using BoxHead = Feature (*)(Net& net, const DetectorOptions& options, const ResidualBody& body,
                            const Feature& pooled);
Feature box_head_2mlp(Net& net, const DetectorOptions& options, const ResidualBody& body,
                      const Feature& pooled);
Feature box_head_convs_fc(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled);
Feature box_head_convs_gn_fc(Net& net, const DetectorOptions& options, const ResidualBody& body,
                             const Feature& pooled);
Feature box_head_residual(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled);

}  // namespace lockstep
