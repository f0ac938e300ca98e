// SPDX-License-Identifier: Apache-2.0
// What turns pooled RoIs into features of the whole RoI.
#pragma once

#include "models/detection/resnet_body.h"

namespace lockstep {

// Pooled RoIs [n, C, r, r] to [n, channels, ..].
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
