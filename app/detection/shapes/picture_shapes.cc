// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/picture_shapes.h"

#include "app/detection/find/picture_rounds.h"

namespace lockstep {
namespace {

std::size_t numbers_of_head(bool predicted, int64_t channels, int64_t side) {
  return predicted ? static_cast<std::size_t>(channels * side * side) : 0;
}

std::span<const float> row_at(const std::vector<float>& rows, std::size_t row,
                              std::size_t numbers) {
  return std::span(rows).subspan(row * numbers, numbers);
}

// Without augmentation there is one view, and HEUR has no effect.
const ShapeHeuristic& rule_for(const std::vector<ShapeHeuristic>& rows, bool augmented,
                               const std::string& name) {
  return augmented ? shape_heuristic(rows, name) : rows.front();
}

}  // namespace

BoxesInView boxes_in(const ShapeViews& rules, const ShapeView& kind, const View& view,
                     const FoundBoxes& boxes) {
  BoxesInView in;
  in.extent = extent_of(view.scale());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!rules.needs_mask(kind) && !rules.needs_points(kind, boxes[i])) continue;
    in.which.push_back(i);
    in.boxes.push_back(view.in_view(boxes[i].corners));
    in.classes.push_back(boxes[i].kind);
  }
  return in;
}

PictureShapes::PictureShapes(const ShapeViews& rules, const FoundBoxes& boxes)
    : rules_(rules),
      boxes_(boxes),
      of_mask_(numbers_of_head(rules.has_masks(), 1, rules.config().network.mrcnn.resolution)),
      of_heatmaps_(numbers_of_head(rules.has_points(), rules.config().network.krcnn.num_keypoints,
                                   rules.config().network.krcnn.heatmap_size)),
      masks_(rule_for(mask_heuristics(), rules.config().test.mask_aug.enabled,
                      rules.config().test.mask_aug.heur),
             boxes.size(), of_mask_),
      heatmaps_(rule_for(heatmap_heuristics(), rules.config().test.kps_aug.enabled,
                         rules.config().test.kps_aug.heur),
                boxes.size(), of_heatmaps_) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (rules.has_masks() || rules.points().has_points(boxes[i].kind)) places_.push_back(i);
}

void PictureShapes::add(const ShapeView& view, const std::vector<std::size_t>& which,
                        const HeadOutputs& outputs) {
  for (std::size_t row = 0; row < which.size(); ++row) {
    const std::size_t box = which[row];
    if (rules_.needs_points(view, boxes_[box]))
      add_heatmaps(view, box, row_at(outputs.heatmaps, row, of_heatmaps_));
    if (!rules_.needs_mask(view)) continue;
    const auto mask = row_at(outputs.masks, row, of_mask_);
    if (view.rules.mirrored)
      masks_.add(box, mirrored_back(mask, rules_.config().network.mrcnn.resolution));
    else
      masks_.add(box, mask);
  }
}

void PictureShapes::add_heatmaps(const ShapeView& view, std::size_t box,
                                 std::span<const float> heatmaps) {
  if (!view.rules.mirrored) return heatmaps_.add(box, heatmaps);
  const KeypointPairs& pairs = rules_.points().pairs(boxes_[box].kind);
  heatmaps_.add(box, mirrored_back(heatmaps, rules_.config().network.krcnn.heatmap_size, pairs));
}

HeadOutputs PictureShapes::joined() const {
  HeadOutputs outputs;
  const auto append = [](std::vector<float>& rows, const std::vector<float>& row) {
    rows.insert(rows.end(), row.begin(), row.end());
  };
  for (const std::size_t box : places_) {
    if (rules_.has_masks()) append(outputs.masks, masks_.of(box));
    if (!rules_.has_points()) continue;
    // A row for a box without points keeps the rows in step.
    append(outputs.heatmaps, rules_.points().has_points(boxes_[box].kind)
                                 ? heatmaps_.of(box)
                                 : std::vector<float>(of_heatmaps_));
  }
  return outputs;
}

}  // namespace lockstep
