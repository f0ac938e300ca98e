// SPDX-License-Identifier: Apache-2.0
// TEST: detection, scores, and tests on transformed images.
#include "app/config/one_of.h"
#include "app/detection/data_sets.h"
#include "app/detection/key_tables.h"

namespace lockstep {
namespace {

// Refused only by a test of proposals, which computes their recall.
KeyFacts class_specific_recall(const DetectorConfig& config) {
  KeyFacts facts = unused_key();
  facts.not_done = {{"test"}, [&config] {
                      return config.test.class_specific_ar && config.network.model.rpn_only;
                    }};
  return facts;
}

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
      {"TEST.BBOX_REG",
       &c.bbox_reg,
       "results are the predicted boxes, not the proposals; false with RetinaNet: the anchors",
       {.not_done = {{"test", "infer", "export"},
                     [&config] {
                       return config.network.retinanet.retinanet_on &&
                              !config.network.test.bbox_reg;
                     }}}},
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
       "recall of proposals is always over all classes together", class_specific_recall(config)},
      {"TEST.SOFT_NMS.ENABLED", &test.soft_nms.enabled,
       "lower the scores of overlapping boxes instead of dropping them",
       not_done(test.soft_nms.enabled, {"test", "infer", "export"})},
      {"TEST.SOFT_NMS.METHOD", one_of(test.soft_nms.method, {"hard", "linear", "gaussian"}),
       "hard, linear or gaussian"},
      {"TEST.SOFT_NMS.SIGMA", &test.soft_nms.sigma, "width of the Gaussian", {.least = 0}},
      {"TEST.BBOX_VOTE.ENABLED", &test.bbox_vote.enabled,
       "replace a box by the mean of the boxes around it",
       not_done(test.bbox_vote.enabled, {"test", "infer", "export"})},
      {"TEST.BBOX_VOTE.VOTE_TH", &test.bbox_vote.vote_th, "smallest IoU of the boxes in the mean",
       share()},
      {"TEST.BBOX_VOTE.SCORING_METHOD",
       one_of(test.bbox_vote.scoring_method,
              {"ID", "TEMP_AVG", "AVG", "IOU_AVG", "GENERALIZED_AVG", "QUASI_SUM"}),
       "score of the mean box: ID, TEMP_AVG, AVG, IOU_AVG, GENERALIZED_AVG or QUASI_SUM"},
      {"TEST.BBOX_VOTE.SCORING_METHOD_BETA",
       &test.bbox_vote.scoring_method_beta,
       "parameter of some values of SCORING_METHOD",
       {.least = 0}}};
}

ConfigKeys augmentation_keys(const std::string& section, TestAugmentation& c) {
  return {
      {section + ".ENABLED", &c.enabled, "also test on transformed images",
       not_done(c.enabled, {"test", "infer"})},
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
      {section + ".SCALE_SIZE_DEP", &c.scale_size_dep, "use large scales for small objects only"},
      {section + ".ASPECT_RATIOS",
       &c.aspect_ratios,
       "factors that further images are widened by",
       {.least = 1e-3, .most = 1e3}},
      {section + ".ASPECT_RATIO_H_FLIP", &c.aspect_ratio_h_flip,
       "also mirror the images of ASPECT_RATIOS"}};
}

ConfigKeys heuristic_keys(DetectionScoring& test) {
  const std::vector<std::string> unions{"ID", "AVG", "UNION"};
  return {
      {"TEST.BBOX_AUG.SCORE_HEUR", one_of(test.bbox_aug.score_heur, unions),
       "how scores are joined: ID, AVG or UNION"},
      {"TEST.BBOX_AUG.COORD_HEUR", one_of(test.bbox_aug.coord_heur, unions),
       "how boxes are joined: ID, AVG or UNION"},
      {"TEST.BBOX_AUG.AREA_TH_LO",
       &test.bbox_aug.area_th_lo,
       "Detectron never reads it",
       {.least = 0}},
      {"TEST.BBOX_AUG.AREA_TH_HI",
       &test.bbox_aug.area_th_hi,
       "Detectron never reads it",
       {.least = 0}},
      {"TEST.MASK_AUG.HEUR", one_of(test.mask_aug.heur, {"SOFT_AVG", "SOFT_MAX", "LOGIT_AVG"}),
       "how masks are joined: SOFT_AVG, SOFT_MAX or LOGIT_AVG"},
      {"TEST.MASK_AUG.AREA_TH", &test.mask_aug.area_th, "Detectron never reads it", {.least = 0}},
      {"TEST.KPS_AUG.HEUR", one_of(test.kps_aug.heur, {"HM_AVG", "HM_MAX"}),
       "how heatmaps are joined: HM_AVG or HM_MAX"},
      {"TEST.KPS_AUG.AREA_TH",
       &test.kps_aug.area_th,
       "area from which an object is large",
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
