// SPDX-License-Identifier: Apache-2.0
#include "models/detection/detections.h"

#include "operators/boxes/boxes.h"

namespace lockstep {

void output_detections(Net& net, const DetectorOptions& options, const Candidates& candidates,
                       const DetectorInputs& in) {
  Graph& graph = net.graph;
  const Limits<PictureBoxes> limits = picture_limits(graph, in.im_info, "picture");
  const PictureBoxes boxes = clip_boxes(graph, candidates.boxes, limits, "boxes_clipped");
  const Detections found =
      detection_results(graph, boxes.value, candidates.scores, candidates.classes,
                        {.classes = options.model.num_classes,
                         .score_threshold = static_cast<float>(candidates.score_threshold),
                         .overlap = static_cast<float>(options.test.nms),
                         .capacity = options.test.detections_per_im},
                        "detections");
  net.output("boxes", found.boxes);
  net.output("scores", found.scores);
  net.output("classes", found.classes);
  net.output("count", found.count);
}

}  // namespace lockstep
