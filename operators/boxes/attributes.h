// SPDX-License-Identifier: Apache-2.0
// Readers of the attributes of BoxSuppression and DetectionResults.
#pragma once

#include "operators/boxes/boxes.h"

namespace lockstep {

BoxSuppressionAttrs read_box_suppression(AttributeReader attributes);
DetectionAttrs read_detection(AttributeReader attributes);

}  // namespace lockstep
