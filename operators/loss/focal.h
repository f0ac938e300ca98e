// Part of this folder: the focal losses.
#pragma once

#include "operators/loss/loss.h"

namespace lockstep {

FocalAttrs read_focal(AttributeReader attributes);
std::vector<Op> focal_ops();
std::vector<KernelEntry> focal_cpu();

}  // namespace lockstep
