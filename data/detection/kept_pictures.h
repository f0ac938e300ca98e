// SPDX-License-Identifier: Apache-2.0
// The pictures of a set that a detector trains on.
#pragma once

#include <string>
#include <vector>

#include "data/coco/training_boxes.h"
#include "data/detection/picture_set.h"
#include "data/detection/true_objects.h"

namespace lockstep {

struct KeptPicture {
  std::size_t picture = 0;
  std::vector<TrainingBox> boxes;
};

struct TrainingRules {
  double least_area = -1;       // smaller objects are omitted
  bool empty_pictures = false;  // keeps pictures without any object
  TruthPlaces places;
};

struct KeptPictures {
  std::vector<KeptPicture> pictures;
  LeftOut left_out;   // objects
  int64_t empty = 0;  // kept pictures without any object
  // Pictures without a box to train on, and pictures whose objects have no labelled keypoint.
  int64_t without_box = 0, without_point = 0;
  int64_t without_outline = 0;  // kept objects, crowds apart, that have no mask to learn

  std::string text() const;  // "; 2 pictures without a box left out; .."; "" if nothing is missing
};

// Keeps pictures with a box to train on; with places for keypoints only pictures with a labelled
// keypoint, as Detectron does. Throws if a picture needs more places, or if an object has another
// number of keypoints.
KeptPictures keep_pictures(const PictureSet& set, const TrainingRules& rules);

// Throws if the kept pictures have nothing for a part of the network to learn.
void check_something_to_learn(const KeptPictures& kept, const Annotations& table,
                              const TruthPlaces& places);

}  // namespace lockstep
