// SPDX-License-Identifier: Apache-2.0
// Box heads, which turn pooled RoIs into features of the whole RoI, and their results.
#pragma once

#include "models/detection/resnet_body.h"

namespace lockstep {

struct BoxScores {
  Value scores;  // [n, classes]
  Value deltas;  // [n, 4 per class, or 8 if they do not depend on the class]
};

// Maps pooled RoIs [n, C, r, r] to features [n, channels, ..]. `stage_5` is of the body's kind;
// only one head uses it.
using BoxHead = Feature (*)(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                            const Feature& pooled);
Feature box_head_2mlp(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                      const Feature& pooled);
Feature box_head_convs_fc(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                          const Feature& pooled);
Feature box_head_convs_gn_fc(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                             const Feature& pooled);
Feature box_head_vgg16(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                       const Feature& pooled);
Feature box_head_vgg_m(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                       const Feature& pooled);
Feature box_head_residual(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                          const Feature& pooled);

}  // namespace lockstep
