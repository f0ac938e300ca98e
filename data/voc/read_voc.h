// SPDX-License-Identifier: Apache-2.0
// Pascal VOC's data sets: FOLDER/ImageSets/Main/LIST.txt names pictures, one a line;
// FOLDER/Annotations/NAME.xml has a picture's size and objects, FOLDER/JPEGImages the picture.
#pragma once

#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

// The 20 classes of VOC2007 to VOC2012, in their order.
const std::vector<std::string>& pascal_classes();

struct VocSet {
  std::string folder;  // such as VOCdevkit/VOC2007
  std::string list;    // such as trainval
  std::vector<std::string> classes = pascal_classes();

  std::string list_path() const;
  std::string pictures() const;  // the folder of the pictures
};

// Reads the annotations. Difficult objects are marked as ignored. A box of the pixels xmin to xmax,
// counted from 1, is the half-open box [xmin - 1, xmax]. Errors name the file and the line.
// An image's id is its name without underscores if all names are numbers, else the place in the
// list, from 1.
Annotations read_voc(const VocSet& set);

}  // namespace lockstep
