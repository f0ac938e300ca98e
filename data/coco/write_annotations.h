// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Writes the table in COCO's form, for read_annotations().
void write_annotations(const std::string& path, const Annotations& table);

}  // namespace lockstep
