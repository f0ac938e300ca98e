// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "data/coco/training_boxes.h"
#include "data/voc/read_voc.h"
#include "data/voc/scores.h"
#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::fuzz {

namespace {

// A data set of one picture, whose annotations are written again for each input.
struct OnePicture {
  testing::TemporaryFolder folder;

  OnePicture() {
    for (const char* name : {"Annotations", "ImageSets/Main", "JPEGImages"})
      std::filesystem::create_directories(folder / name);
    write_file(folder / "ImageSets/Main/one.txt", "000001\n");
    write_file(folder / "JPEGImages/000001.jpg", "");
  }
};

}  // namespace

void read_voc_file(const std::string& bytes) {
  static const OnePicture picture;
  std::ofstream(picture.folder / "Annotations/000001.xml", std::ios::binary) << bytes;
  const Annotations table = read_voc({picture.folder.path(), "one"});
  LeftOut left_out;
  std::vector<Detection> found;
  for (const TrainingBox& box : training_boxes(table, 0, 1, left_out)) {
    const CocoObject& object = table.objects[box.object];
    found.push_back({object.image, object.category, object.bbox, object.area});
  }
  const double ap = VocScores::mean(evaluate_voc(table, found).area);
  check(ap == -1 || (ap >= 0 && ap <= 1), "the average precision is ", ap);
}

Seeds voc_seeds() {
  return {R"(<?xml version="1.0"?>
<annotation><folder>VOC2007</folder><filename>000001.jpg</filename>
<size><width>353</width><height>500</height><depth>3</depth></size><segmented>0</segmented>
<object><name>dog</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>
<bndbox><xmin>48</xmin><ymin>240</ymin><xmax>195</xmax><ymax>371</ymax></bndbox></object>
<!-- a comment --><object type="x"><name>person</name><difficult>1</difficult>
<bndbox><xmax>352.5</xmax><xmin>8</xmin><ymin>12</ymin><ymax>498</ymax></bndbox>
<part><name>head &amp; &#104;at</name><bndbox/></part></object></annotation>
)"};
}

}  // namespace lockstep::fuzz
