// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Reads a file of annotations in COCO's form: the lists `images`, `categories` and, if present,
// `annotations`, in any order. Unknown keys are skipped. Errors name the file, the element's id and
// the key. Boxes are not changed (see training_boxes.h). Polygons with fewer than three points are
// dropped, as in Detectron, and counted.
Annotations read_annotations(const std::string& path);

}  // namespace lockstep
