// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/coco/annotations.h"

namespace lockstep {

// Reads a file of annotations in COCO's form: the lists `images`, `categories` and, for what has
// any, `annotations`, in any order. Unknown keys are skipped. Throws naming the file, the element
// by its id, and the key. Boxes are taken as they are (see training_boxes.h). Polygons of fewer
// than three points are dropped and counted, as Detectron drops them.
Annotations read_annotations(const std::string& path);

}  // namespace lockstep
