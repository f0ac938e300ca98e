// SPDX-License-Identifier: Apache-2.0
// TEST: detection, scores, and tests on transformed images.
#include "app/config/one_of.h"
#include "app/detection/config/key_tables.h"
#include "app/detection/datasets/data_sets.h"
#include "app/detection/find/merged_views.h"
#include "app/detection/shapes/merged_shapes.h"
#include "graph/listed.h"
#include "operators/boxes/refining.h"

namespace lockstep {
namespace {

ConfigKeys result_keys(DetectorConfig& config) {
  DetectionTestOptions& c = config.network.test;
  DetectionScoring& test = config.test;
  return {
      {"TEST.WEIGHTS", &test.data.weights, "file with the weights to test"},
      {"TEST.DATASETS",
       &test.data.datasets,
       "names of data sets",
       {.words = names_of_sets(kScenesVal)}},
      {"TEST.SCALE",
       &c.scale,
       "length of the shorter side of an image",
       {.least = 1, .most = 1 << 16}},
      {"TEST.MAX_SIZE",
       &c.max_size,
       "largest length of the longer side",
       {.least = 1, .most = 1 << 16}},
      {"TEST.NMS", &c.nms, "IoU above which the worse of two boxes of a class is dropped", share()},
      {"TEST.BBOX_REG", &c.bbox_reg,
       "results are the predicted boxes, not the proposals; false with RetinaNet: the anchors"},
      {"TEST.PROPOSAL_FILES", &test.data.proposal_files,
       "a file of proposals for each data set, in models without an RPN"},
      {"TEST.GENERATE_PROPOSALS_ON_GPU", &config.unused.test_proposals_on_gpu,
       "the plan chooses the device", unused_key()},
      {"TEST.PROPOSAL_LIMIT", &c.proposal_limit, "number of proposals of an image that are used",
       at_least(1)},
      {"TEST.RPN_NMS_THRESH", &c.rpn_nms_thresh,
       "IoU above which the worse of two proposals is dropped", share()},
      {"TEST.RPN_PRE_NMS_TOP_N", &c.rpn_pre_nms_top_n,
       "number of proposals before suppression; of each level with an FPN", at_least(1)},
      {"TEST.RPN_POST_NMS_TOP_N", &c.rpn_post_nms_top_n, "number of proposals after suppression",
       at_least(1)},
      {"TEST.RPN_MIN_SIZE", &c.rpn_min_size, "smallest side of a proposal", {.least = 0}},
      {"TEST.DETECTIONS_PER_IM", &c.detections_per_im, "largest number of detections in an image",
       at_least(1)},
      {"TEST.SCORE_THRESH", &c.score_thresh, "detections have larger scores than this", share()},
      {"TEST.COMPETITION_MODE", &test.competition_mode,
       "results always have the form that the data set's server accepts", unused_key()},
      {"TEST.FORCE_JSON_DATASET_EVAL", &test.force_json_dataset_eval,
       "every data set is scored by COCO's rules", unused_key()},
      {"TEST.PRECOMPUTED_PROPOSALS", &test.precomputed_proposals,
       "proposals come from files; inferred from RPN and RETINANET"},
      {"TEST.CLASS_SPECIFIC_AR", &test.class_specific_ar,
       "the recall of proposals is the mean over the classes of each class's recall"},
      {"TEST.SOFT_NMS.ENABLED", &c.soft_nms.enabled,
       "lower the scores of overlapping boxes instead of dropping them"},
      {"TEST.SOFT_NMS.METHOD", one_of(c.soft_nms.method, names_of_suppression_methods()),
       listed_before(names_of_suppression_methods(), " or ")},
      {"TEST.SOFT_NMS.SIGMA", &c.soft_nms.sigma, "width of the Gaussian", {.least = 0}},
      {"TEST.BBOX_VOTE.ENABLED", &c.bbox_vote.enabled,
       "replace a box by the mean of the boxes around it"},
      {"TEST.BBOX_VOTE.VOTE_TH", &c.bbox_vote.vote_th, "smallest IoU of the boxes in the mean",
       share()},
      {"TEST.BBOX_VOTE.SCORING_METHOD",
       one_of(c.bbox_vote.scoring_method, names_of_vote_scorings()),
       "score of the mean box: " + listed_before(names_of_vote_scorings(), " or ")},
      {"TEST.BBOX_VOTE.SCORING_METHOD_BETA",
       &c.bbox_vote.scoring_method_beta,
       "parameter of TEMP_AVG, GENERALIZED_AVG and QUASI_SUM",
       {.least = 0}}};
}

ConfigKeys augmentation_keys(const std::string& section, TestAugmentation& c) {
  return {{section + ".ENABLED", &c.enabled, "also test on transformed images"},
          {section + ".H_FLIP", &c.h_flip, "mirror images"},
          {section + ".SCALES",
           &c.scales,
           "lengths of the shorter side of further images",
           {.least = 1, .most = 1 << 16}},
          {section + ".MAX_SIZE",
           &c.max_size,
           "largest length of the longer side of further images",
           {.least = 1, .most = 1 << 16}},
          {section + ".SCALE_H_FLIP", &c.scale_h_flip, "also mirror the images of SCALES"},
          {section + ".SCALE_SIZE_DEP", &c.scale_size_dep,
           "keypoints: do not scale large objects up, nor others down"},
          {section + ".ASPECT_RATIOS",
           &c.aspect_ratios,
           "factors that further images are widened by",
           {.least = 1e-3, .most = 1e3}},
          {section + ".ASPECT_RATIO_H_FLIP", &c.aspect_ratio_h_flip,
           "also mirror the images of ASPECT_RATIOS"}};
}

ConfigKeys heuristic_keys(DetectionScoring& test) {
  const std::vector<std::string> joins = names_of_rows(merge_heuristics());
  const std::vector<std::string> masks = names_of_rows(mask_heuristics());
  const std::vector<std::string> heatmaps = names_of_rows(heatmap_heuristics());
  return {{"TEST.BBOX_AUG.SCORE_HEUR", one_of(test.bbox_aug.score_heur, joins),
           "how scores are joined: " + listed_before(joins, " or ")},
          {"TEST.BBOX_AUG.COORD_HEUR", one_of(test.bbox_aug.coord_heur, joins),
           "how boxes are joined: " + listed_before(joins, " or ")},
          {"TEST.BBOX_AUG.AREA_TH_LO", &test.bbox_aug.area_th_lo, "Detectron never reads it",
           unused_number()},
          {"TEST.BBOX_AUG.AREA_TH_HI", &test.bbox_aug.area_th_hi, "Detectron never reads it",
           unused_number()},
          {"TEST.MASK_AUG.HEUR", one_of(test.mask_aug.heur, masks),
           "how masks are joined: " + listed_before(masks, " or ")},
          {"TEST.MASK_AUG.AREA_TH", &test.mask_aug.area_th, "Detectron never reads it",
           unused_number()},
          {"TEST.KPS_AUG.HEUR", one_of(test.kps_aug.heur, heatmaps),
           "how heatmaps are joined: " + listed_before(heatmaps, " or ")},
          {"TEST.KPS_AUG.AREA_TH",
           &test.kps_aug.area_th,
           "area from which an object is large, for SCALE_SIZE_DEP",
           {.least = 0}}};
}

}  // namespace

ConfigKeys detector_testing_keys(DetectorConfig& config) {
  DetectionScoring& test = config.test;
  return joined({result_keys(config), augmentation_keys("TEST.BBOX_AUG", test.bbox_aug),
                 augmentation_keys("TEST.MASK_AUG", test.mask_aug),
                 augmentation_keys("TEST.KPS_AUG", test.kps_aug), heuristic_keys(test)});
}

}  // namespace lockstep
