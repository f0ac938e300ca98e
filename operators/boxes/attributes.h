// SPDX-License-Identifier: Apache-2.0
// Readers of the attributes of BoxSuppression, DetectionResults and RefinedDetections.
#pragma once

#include "operators/boxes/boxes.h"

namespace lockstep {

BoxSuppressionAttrs read_box_suppression(AttributeReader attributes);
DetectionAttrs read_detection(AttributeReader attributes);
RefinedAttrs read_refined(AttributeReader attributes);

}  // namespace lockstep
