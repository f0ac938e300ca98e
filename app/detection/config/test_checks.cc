// SPDX-License-Identifier: Apache-2.0
// Checks of the keys of TEST.
#include "app/detection/config/detector_checks.h"
#include "app/detection/find/merged_views.h"
#include "models/detection/detector.h"
#include "models/detection/inputs.h"
#include "operators/boxes/refining.h"

namespace lockstep {
namespace {

class TestChecks : DetectorKeys {
 public:
  using DetectorKeys::DetectorKeys;

  void all() const {
    check_results();
    check_views();
    check_views_of("TEST.MASK_AUG", config_.test.mask_aug, has_mask_head(network_), "MODEL.MASK_ON",
                   "masks");
    check_views_of("TEST.KPS_AUG", config_.test.kps_aug, has_keypoint_head(network_),
                   "MODEL.KEYPOINTS_ON", "heatmaps");
    need(!config_.test.mask_aug.enabled || !config_.test.mask_aug.scale_size_dep,
         {"TEST.MASK_AUG.SCALE_SIZE_DEP"},
         "is true, but Detectron chooses scales by the size of an object only for keypoints: set "
         "it to false");
    need(!network_.krcnn.nms_oks || has_keypoint_head(network_),
         {"KRCNN.NMS_OKS", "MODEL.KEYPOINTS_ON"},
         "is true, but the network predicts no keypoints: set it to false");
  }

 private:
  // Soft suppression and voting of results.
  void check_results() const {
    const SoftSuppression& soft = network_.test.soft_nms;
    need(!soft.enabled || !model_.rpn_only, {"TEST.SOFT_NMS.ENABLED"},
         "is true, but an RPN alone has no classes to suppress in: set it to false; "
         "TEST.RPN_NMS_THRESH suppresses proposals");
    need(!soft.enabled || soft.sigma > 0, {"TEST.SOFT_NMS.SIGMA"}, "should be more than 0");
    const BoxVote& vote = network_.test.bbox_vote;
    if (!vote.enabled) return;
    need(!model_.rpn_only && !network_.retinanet.retinanet_on, {"TEST.BBOX_VOTE.ENABLED"},
         "is true, but Detectron votes only on the results of a box head: set it to false for ",
         model_.rpn_only ? "an RPN alone" : "RetinaNet");
    need(!vote_scoring(vote.scoring_method).divides_by_beta || vote.scoring_method_beta > 0,
         {"TEST.BBOX_VOTE.SCORING_METHOD_BETA", "TEST.BBOX_VOTE.SCORING_METHOD"},
         "does not fit: SCORING_METHOD ", vote.scoring_method, " divides by the beta of ",
         vote.scoring_method_beta);
  }

  // Views of a head's outputs need the head.
  void check_views_of(const std::string& section, const TestAugmentation& views, bool has_head,
                      const std::string& head, const char* outputs) const {
    need(!views.enabled || has_head, {section + ".ENABLED", head},
         "is true, but the network predicts no ", outputs, " to merge: set it to false, or ", head,
         " to true for a detector with a box head");
  }

  // Detectron's rules for the views of TEST.BBOX_AUG.
  void check_views() const {
    const BoxAugmentation& views = config_.test.bbox_aug;
    if (!views.enabled) return;
    need(!model_.rpn_only && !network_.retinanet.retinanet_on, {"TEST.BBOX_AUG.ENABLED"},
         "is true, but Detectron merges views only after a box head: set it to false for ",
         model_.rpn_only ? "an RPN alone" : "RetinaNet");
    need(!views.scale_size_dep, {"TEST.BBOX_AUG.SCALE_SIZE_DEP"},
         "is true, but Detectron chooses scales by the size of an object only for keypoints: set "
         "it to false");
    const bool scores = merge_heuristic(views.score_heur).unites,
               boxes = merge_heuristic(views.coord_heur).unites;
    need(scores == boxes, {"TEST.BBOX_AUG.SCORE_HEUR", "TEST.BBOX_AUG.COORD_HEUR"},
         "does not fit: SCORE_HEUR ", views.score_heur, ", but COORD_HEUR ", views.coord_heur,
         "; UNION needs UNION for both");
    need(scores || takes_proposals(network_), {"TEST.BBOX_AUG.SCORE_HEUR", "MODEL.FASTER_RCNN"},
         "does not fit: SCORE_HEUR ", views.score_heur,
         " needs the same proposals in all views, but the RPN proposes anew in each view: set "
         "SCORE_HEUR and COORD_HEUR to UNION");
  }
};

}  // namespace

void check_testing(const DetectorConfig& config) { TestChecks(config).all(); }

}  // namespace lockstep
