// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/shape_views.h"

#include <algorithm>

#include "models/detection/detector.h"

namespace lockstep {
namespace {

bool same_view(const ViewRules& a, const ViewRules& b) {
  return a.scale == b.scale && a.longest == b.longest && a.widening == b.widening &&
         a.mirrored == b.mirrored;
}

// One view serves for masks and for points. A list that has a view twice counts the view twice, as
// in Detectron.
void add_views(std::vector<ShapeView>& all, const std::vector<ViewRules>& views,
               bool ShapeView::*purpose) {
  for (const ViewRules& rules : views) {
    auto known = std::find_if(all.begin(), all.end(), [&](const ShapeView& view) {
      return same_view(view.rules, rules) && !(view.*purpose);
    });
    if (known == all.end()) known = all.insert(all.end(), ShapeView{rules});
    (*known).*purpose = true;
  }
}

}  // namespace

ShapeViews::ShapeViews(const DetectorConfig& config, KeypointRules points)
    : config_(config),
      points_(std::move(points)),
      masks_(has_mask_head(config.network)),
      keypoints_(has_keypoint_head(config.network)) {
  const DetectionTestOptions& plain = config.network.test;
  if (masks_)
    add_views(views_, views_of(config.test.mask_aug, "TEST.MASK_AUG", plain), &ShapeView::of_masks);
  if (keypoints_)
    add_views(views_, views_of(config.test.kps_aug, "TEST.KPS_AUG", plain), &ShapeView::of_points);
}

bool ShapeViews::one_view_for_all() const {
  const DetectionScoring& test = config_.test;
  return !test.bbox_aug.enabled && !(masks_ && test.mask_aug.enabled) &&
         !(keypoints_ && test.kps_aug.enabled);
}

bool ShapeViews::needs_points(const ShapeView& view, const FoundBox& box) const {
  return keypoints_ && view.of_points && points_.has_points(box.kind) &&
         suits_size(view.rules, box.corners);
}

// TEST.KPS_AUG.SCALE_SIZE_DEP: large objects are not scaled up, others are not scaled down.
bool ShapeViews::suits_size(const ViewRules& view, const Corners& box) const {
  const KeypointAugmentation& rules = config_.test.kps_aug;
  if (!rules.enabled || !rules.scale_size_dep) return true;
  const auto area = static_cast<double>((box[2] - box[0]) * (box[3] - box[1]));
  const int64_t plain = config_.network.test.scale;
  return area < rules.area_th ? view.scale >= plain : view.scale <= plain;
}

}  // namespace lockstep
