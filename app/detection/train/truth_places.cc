// SPDX-License-Identifier: Apache-2.0
#include "app/detection/train/truth_places.h"

#include "data/coco/training_boxes.h"
#include "models/detection/inputs.h"

namespace lockstep {

TruthPlaces truth_places(const DetectorConfig& config) {
  const DetectorOptions& network = config.network;
  return {network.shape.true_boxes, takes_outlines(network) ? network.shape.vertices : 0,
          takes_keypoints(network) ? network.krcnn.num_keypoints : 0};
}

TruthPlaces places_needed(const DetectorConfig& config, const Annotations& table) {
  const double least_area = config.train.gt_min_area;
  TruthPlaces places = truth_places(config);
  places.boxes = most_training_boxes(table, least_area);
  if (takes_outlines(config.network)) places.vertices = most_vertices(table, least_area);
  return places;
}

void fit_truth_places(DetectorConfig& config, const Annotations& training) {
  const TruthPlaces needed = places_needed(config, training);
  const auto fit = [&](const char* key, int64_t& slots, int64_t now) {
    if (config.origins.is_set(key) || now == 0) return;
    slots = now;
    config.origins.places[key] = "inferred from TRAIN.DATASETS";
  };
  fit("TRAIN.TRUE_BOXES", config.network.shape.true_boxes, needed.boxes);
  fit("TRAIN.VERTICES", config.network.shape.vertices, needed.vertices);
}

}  // namespace lockstep
