// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Writes the table in COCO's form; read_annotations() gives it back.
void write_annotations(const std::string& path, const Annotations& table);

}  // namespace lockstep
