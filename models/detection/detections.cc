// SPDX-License-Identifier: Apache-2.0
#include "models/detection/detections.h"

namespace lockstep {

RefinedAttrs result_rules(const DetectorOptions& options, double score_threshold) {
  const DetectionTestOptions& test = options.test;
  RefinedAttrs rules;
  rules.classes = options.model.num_classes;
  rules.score_threshold = static_cast<float>(score_threshold);
  rules.overlap = static_cast<float>(test.nms);
  rules.capacity = test.detections_per_im;
  if (test.soft_nms.enabled) rules.method = test.soft_nms.method;
  if (test.soft_nms.enabled) rules.sigma = static_cast<float>(test.soft_nms.sigma);
  if (!test.bbox_vote.enabled) return rules;
  rules.vote = test.bbox_vote.scoring_method;
  rules.vote_overlap = static_cast<float>(test.bbox_vote.vote_th);
  rules.vote_beta = static_cast<float>(test.bbox_vote.scoring_method_beta);
  return rules;
}

std::optional<Detections> output_detections(Net& net, const DetectorOptions& options,
                                            const Candidates& candidates,
                                            const DetectorInputs& in) {
  Graph& graph = net.graph;
  const Limits<PictureBoxes> limits = picture_limits(graph, in.im_info, "picture");
  const PictureBoxes boxes = clip_boxes(graph, candidates.boxes, limits, "boxes_clipped");
  if (options.test.all_candidates) {
    net.output("boxes", boxes.value);
    net.output("scores", candidates.scores);
    if (candidates.classes) net.output("classes", candidates.classes);
    return std::nullopt;
  }
  const RefinedAttrs rules = result_rules(options, candidates.score_threshold);
  const bool refined = options.test.soft_nms.enabled || options.test.bbox_vote.enabled;
  const Detections found = refined ? refined_detections(graph, boxes.value, candidates.scores,
                                                        candidates.classes, rules, "detections")
                                   : detection_results(graph, boxes.value, candidates.scores,
                                                       candidates.classes, rules, "detections");
  net.output("boxes", found.boxes);
  net.output("scores", found.scores);
  net.output("classes", found.classes);
  net.output("count", found.count);
  return found;
}

}  // namespace lockstep
