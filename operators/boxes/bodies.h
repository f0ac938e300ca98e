// SPDX-License-Identifier: Apache-2.0
// Part of this folder: its operators in ONNX's.
#pragma once

#include "operators/boxes/boxes.h"

namespace lockstep {

std::vector<Value> box_suppression_body(const BodyRequest& r);
std::vector<Value> detection_results_body(const BodyRequest& r);

}  // namespace lockstep
