// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/coco/evaluation.h"
#include "data/coco/mask_overlap.h"
#include "data/coco/masks.h"
#include "data/coco/read_annotations.h"
#include "data/coco/training_boxes.h"
#include "data/coco/write_annotations.h"
#include "data/detection/rings_of.h"
#include "lockstep/error.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

constexpr int64_t kMostPixels = 1 << 16;  // larger masks only take longer

// Draws the masks of the first objects, directly and as rings.
void draw(const Annotations& table) {
  for (std::size_t i = 0; i < std::min<std::size_t>(table.objects.size(), 8); ++i) {
    const CocoImage& image = table.images[table.objects[i].image];
    if (image.height * image.width > kMostPixels) continue;
    const RunLengths mask = mask_of(table, table.objects[i]);
    const RunLengths rings = mask_of(rings_of(table, table.objects[i]), mask.height, mask.width);
    expect(bitmap_of(mask) == bitmap_of(rings) && box_of(mask) == box_of(rings));
  }
}

}  // namespace

void read_coco(const std::string& bytes) {
  const MemoryFile file(bytes);
  const Annotations table = read_annotations(file.path());
  draw(table);
  LeftOut left_out;
  std::vector<Detection> found;
  for (std::size_t image = 0; image < table.images.size(); ++image)
    for (const TrainingBox& box : training_boxes(table, image, 1, left_out)) {
      const CocoObject& object = table.objects[box.object];
      found.push_back({object.image, object.category, object.bbox, object.area});
    }
  const double ap = evaluate_boxes(table, found).numbers().ap;
  check(ap == -1 || (ap >= 0 && ap <= 1), "the average precision is ", ap);
  check(evaluate_proposals(table, found, 10).average[0] <= 1, "the recall is above 1");
  const std::string again =
      written([&](const std::string& path) { write_annotations(path, table); });
  const MemoryFile second(again);
  const Annotations same = read_annotations(second.path());
  check(
      same.objects.size() == table.objects.size() && same.keypoint_sigmas == table.keypoint_sigmas,
      "what is written is not what was read");
}

Seeds coco_seeds() {
  return {R"({"images":[{"id":1,"file_name":"a.jpg","height":40,"width":60}],
"categories":[{"id":1,"name":"person","keypoints":["left_eye","right_eye"],
"keypoint_sigmas":[0.025,0.5]},{"id":2,"name":"dog"}],
"annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[1,2,30,20.5],"area":100,"iscrowd":0,
"segmentation":[[1,2,3,4,5,6.5]],"keypoints":[1,2,2,0,0,0],"num_keypoints":1},
{"id":2,"image_id":1,"category_id":2,"bbox":[0,0,2,2],"iscrowd":1,
"segmentation":{"size":[40,60],"counts":"02nZ2"}},{"id":3,"image_id":1,"category_id":2,
"bbox":[5,5,9,9],"ignore":1,"segmentation":{"size":[40,60],"counts":[1,2399]}}]})"};
}

}  // namespace lockstep::fuzz
