// SPDX-License-Identifier: Apache-2.0
#include "data/detection/kept_pictures.h"

#include <algorithm>

#include "data/detection/rings_of.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

bool has_labelled_point(const Annotations& table, const std::vector<TrainingBox>& boxes) {
  for (const TrainingBox& box : boxes) {
    const std::span<const double> points = table.points_of(table.objects[box.object]);
    for (std::size_t i = 2; i < points.size(); i += 3)
      if (points[i] > 0 && !box.crowd) return true;
  }
  return false;
}

void check_keypoints(const PictureSet& set, const KeptPicture& kept, int64_t keypoints) {
  for (const TrainingBox& box : kept.boxes) {
    const CocoObject& object = set.annotations().objects[box.object];
    check(object.keypoints.count == 0 || object.keypoints.count == 3 * keypoints,
          set.name_of(kept.picture), ": annotation ", object.id, " has ",
          object.keypoints.count / 3, " keypoints, but KRCNN.NUM_KEYPOINTS is ", keypoints);
  }
}

void check_places(const PictureSet& set, const KeptPicture& kept, const TruthPlaces& places) {
  const auto boxes = static_cast<int64_t>(kept.boxes.size());
  if (boxes > places.boxes)
    fail(set.name_of(kept.picture), " has ", boxes, " boxes to train on, more than ", places.boxes,
         " (TRAIN.TRUE_BOXES)");
  if (places.vertices > 0) {
    const int64_t vertices = vertices_of(set.annotations(), kept.boxes);
    check(vertices <= places.vertices, set.name_of(kept.picture), " has outlines of ", vertices,
          " vertices, more than ", places.vertices, " (TRAIN.VERTICES)");
  }
  if (places.keypoints > 0) check_keypoints(set, kept, places.keypoints);
}

int64_t without_outline(const Annotations& table, const std::vector<TrainingBox>& boxes) {
  return std::count_if(boxes.begin(), boxes.end(), [&](const TrainingBox& box) {
    return !box.crowd && vertices_of(table, table.objects[box.object]) == 0;
  });
}

}  // namespace

KeptPictures keep_pictures(const PictureSet& set, const TrainingRules& rules) {
  const Annotations& table = set.annotations();
  KeptPictures kept;
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    KeptPicture each{i, training_boxes(table, i, rules.least_area, kept.left_out)};
    const bool is_empty = table.objects_of(i).empty();
    if (!is_trained(table, i, each.boxes, rules.empty_pictures)) {
      ++kept.without_box;
    } else if (rules.places.keypoints > 0 && !is_empty && !has_labelled_point(table, each.boxes)) {
      ++kept.without_point;
    } else {
      check_places(set, each, rules.places);
      kept.empty += is_empty;
      if (rules.places.vertices > 0) kept.without_outline += without_outline(table, each.boxes);
      kept.pictures.push_back(std::move(each));
    }
  }
  return kept;
}

std::string KeptPictures::text() const {
  std::string text;
  for (const auto& [count, what] :
       {std::pair{without_box, " pictures without a box left out"},
        {without_point, " pictures without a labelled keypoint left out"},
        {empty, " pictures without an object as background"},
        {without_outline, " objects without an outline, whose masks are not learnt"}})
    if (count > 0) text += join("; ", count, what);
  if (const std::string why = left_out.text(); !why.empty()) text += "; objects left out: " + why;
  return text;
}

void check_something_to_learn(const KeptPictures& kept, const Annotations& table,
                              const TruthPlaces& places) {
  const std::string why = kept.left_out.text();
  const bool any = static_cast<int64_t>(kept.pictures.size()) > kept.empty;
  check(any || kept.without_point == 0, table.path, ": none of the ", kept.without_point,
        " images with a box to train on has a labelled keypoint (MODEL.KEYPOINTS_ON)");
  check(any, table.path, ": none of the ", table.images.size(), " images has a box to train on",
        why.empty() ? "" : "; objects left out: ", why);
  if (places.vertices == 0) return;
  int64_t objects = 0;
  for (const KeptPicture& each : kept.pictures)
    objects += std::count_if(each.boxes.begin(), each.boxes.end(),
                             [](const TrainingBox& box) { return !box.crowd; });
  check(kept.without_outline < objects, table.path, ": none of the ", objects,
        " objects to train on has an outline, a 'segmentation' (MODEL.MASK_ON)");
}

}  // namespace lockstep
