// SPDX-License-Identifier: Apache-2.0
// The bodies of BoxSuppression and DetectionResults, in ONNX's operators.
#pragma once

#include "operators/boxes/boxes.h"

namespace lockstep {

std::vector<Value> box_suppression_body(const BodyRequest& r);
std::vector<Value> detection_results_body(const BodyRequest& r);

}  // namespace lockstep
