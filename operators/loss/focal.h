// SPDX-License-Identifier: Apache-2.0
// The focal losses: records and bodies.
#pragma once

#include "operators/loss/loss.h"

namespace lockstep {

FocalAttrs read_focal(AttributeReader attributes);
std::vector<Value> sigmoid_focal_body(const BodyRequest& r);
std::vector<Value> softmax_focal_body(const BodyRequest& r);
std::vector<Op> focal_ops();
std::vector<KernelEntry> focal_cpu();

}  // namespace lockstep
