// SPDX-License-Identifier: Apache-2.0
#include "operators/targets/attributes.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr int64_t kMostCells = int64_t{1} << 20;    // along one side of a level
constexpr int64_t kMostAnchors = int64_t{1} << 31;  // numbered by 31 bits in draws
constexpr int64_t kMostSampled = int64_t{1} << 24;
constexpr int64_t kMostInFrame = 4096;  // cells along a side of a mask or a heatmap

// Checks that every box has a finite, positive area, so overlaps are never NaN.
void check_base_boxes(const std::vector<float>& boxes, int64_t level) {
  for (std::size_t i = 0; i + 3 < boxes.size(); i += 4) {
    const float area = (boxes[i + 2] - boxes[i]) * (boxes[i + 3] - boxes[i + 1]);
    check(boxes[i + 2] > boxes[i] && boxes[i + 3] > boxes[i + 1] && area > 0 && std::isfinite(area),
          "anchor ", i / 4, " of level ", level, " is [", boxes[i], ", ", boxes[i + 1], ", ",
          boxes[i + 2], ", ", boxes[i + 3], "], which has no area");
  }
}

void check_level(const AnchorLevel& level, int64_t number) {
  check(level.stride > 0 && level.stride <= kMostCells, "level ", number, " has a stride of ",
        level.stride, ", should be positive");
  check(level.height >= 0 && level.width >= 0 && level.height <= kMostCells &&
            level.width <= kMostCells,
        "level ", number, " has ", level.height, " x ", level.width, " cells");
  check_base_boxes(level.anchors, number);
}

void check_sample(int64_t sample, int64_t foreground, int64_t least) {
  check(sample >= least && sample <= kMostSampled, "sample is ", sample, ", should be ", least,
        "..", kMostSampled);
  check(foreground >= 0 && (sample == 0 || foreground <= sample), "foreground is ", foreground,
        ", should be 0..", sample);
}

void check_anchor_targets(const AnchorTargetsAttrs& attrs) {
  check(!attrs.levels.empty(), "there is no level");
  int64_t anchors = 0;
  for (std::size_t l = 0; l < attrs.levels.size(); ++l) {
    check_level(attrs.levels[l], static_cast<int64_t>(l));
    anchors += anchors_of(attrs.levels[l]);
    check(anchors < kMostAnchors, "there are ", anchors, " anchors or more, should be fewer than ",
          kMostAnchors);
  }
  check(attrs.positive_overlap > 0 && attrs.positive_overlap <= 1, "positive_overlap is ",
        attrs.positive_overlap, ", should be above 0, at most 1");
  check(attrs.negative_overlap >= 0 && attrs.negative_overlap <= attrs.positive_overlap,
        "negative_overlap is ", attrs.negative_overlap, ", should be 0..", attrs.positive_overlap);
  check(attrs.straddle == -1 || (attrs.straddle >= 0 && std::isfinite(attrs.straddle)),
        "straddle is ", attrs.straddle, ", should be a number of pixels, or -1 for any");
  check_sample(attrs.sample, attrs.foreground, 0);
}

}  // namespace

int64_t anchors_of_a_cell(const AnchorTargetsAttrs& attrs) {
  return static_cast<int64_t>(attrs.levels.at(0).anchors.size()) / 4;
}

int64_t anchors_of(const AnchorLevel& level) {
  return static_cast<int64_t>(level.anchors.size()) / 4 * level.height * level.width;
}

int64_t anchors_of(const AnchorTargetsAttrs& attrs) {
  int64_t all = 0;
  for (const AnchorLevel& level : attrs.levels) all += anchors_of(level);
  return all;
}

Attributes write_anchor_targets(const AnchorTargetsAttrs& attrs) {
  std::vector<float> anchors;
  std::vector<int64_t> strides, heights, widths;
  for (const AnchorLevel& level : attrs.levels) {
    check(level.anchors.size() == attrs.levels[0].anchors.size() && level.anchors.size() % 4 == 0,
          "levels have anchors of ", attrs.levels[0].anchors.size(), " and of ",
          level.anchors.size(), " numbers; should be equal, and a multiple of 4");
    anchors.insert(anchors.end(), level.anchors.begin(), level.anchors.end());
    strides.push_back(level.stride);
    heights.push_back(level.height);
    widths.push_back(level.width);
  }
  return {{"anchors", anchors},
          {"strides", strides},
          {"heights", heights},
          {"widths", widths},
          {"positive_overlap", attrs.positive_overlap},
          {"negative_overlap", attrs.negative_overlap},
          {"straddle", attrs.straddle},
          {"sample", attrs.sample},
          {"foreground", attrs.foreground}};
}

AnchorTargetsAttrs read_anchor_targets(AttributeReader reader) {
  const std::vector<float> anchors = reader.numbers("anchors");
  const std::vector<int64_t> strides = reader.integers("strides");
  const std::vector<int64_t> heights = reader.integers("heights");
  const std::vector<int64_t> widths = reader.integers("widths");
  AnchorTargetsAttrs attrs;
  attrs.positive_overlap = reader.number("positive_overlap", attrs.positive_overlap);
  attrs.negative_overlap = reader.number("negative_overlap", attrs.negative_overlap);
  attrs.straddle = reader.number("straddle", attrs.straddle);
  attrs.sample = reader.integer("sample", attrs.sample);
  attrs.foreground = reader.integer("foreground", attrs.foreground);
  reader.done();
  const std::size_t levels = strides.size();
  check(levels > 0 && heights.size() == levels && widths.size() == levels, "there are ", levels,
        " strides, ", heights.size(), " heights and ", widths.size(),
        " widths; should be one of each per level");
  check(anchors.size() % (4 * levels) == 0, "anchors are ", anchors.size(), " numbers, should be ",
        levels, " levels with equal numbers of boxes");
  const std::size_t each = anchors.size() / levels;
  for (std::size_t l = 0; l < levels; ++l) {
    const auto first = anchors.begin() + static_cast<std::ptrdiff_t>(l * each);
    attrs.levels.push_back({std::vector<float>(first, first + static_cast<std::ptrdiff_t>(each)),
                            strides[l], heights[l], widths[l]});
  }
  check_anchor_targets(attrs);
  return attrs;
}

Attributes write_proposal_targets(const ProposalTargetsAttrs& attrs) {
  Attributes written{{"sample", attrs.sample},
                     {"foreground", attrs.foreground},
                     {"foreground_overlap", attrs.foreground_overlap},
                     {"background_high", attrs.background_high},
                     {"background_low", attrs.background_low},
                     {"crowd_overlap", attrs.crowd_overlap},
                     {"weights", attrs.weights}};
  if (attrs.box_overlap > 0) written.emplace_back("box_overlap", attrs.box_overlap);
  return written;
}

ProposalTargetsAttrs read_proposal_targets(AttributeReader reader) {
  ProposalTargetsAttrs attrs;
  attrs.sample = reader.integer("sample", attrs.sample);
  attrs.foreground = reader.integer("foreground", attrs.foreground);
  attrs.foreground_overlap = reader.number("foreground_overlap", attrs.foreground_overlap);
  attrs.background_high = reader.number("background_high", attrs.background_high);
  attrs.background_low = reader.number("background_low", attrs.background_low);
  attrs.crowd_overlap = reader.number("crowd_overlap", attrs.crowd_overlap);
  attrs.weights = reader.numbers("weights", attrs.weights);
  attrs.box_overlap = reader.number("box_overlap", attrs.box_overlap);
  reader.done();
  check_sample(attrs.sample, attrs.foreground, 1);
  check(attrs.foreground_overlap > 0 && attrs.foreground_overlap <= 1, "foreground_overlap is ",
        attrs.foreground_overlap, ", should be above 0, at most 1");
  check(std::isfinite(attrs.background_low) && std::isfinite(attrs.background_high),
        "background is from ", attrs.background_low, " to ", attrs.background_high);
  check(attrs.crowd_overlap >= 0, "crowd_overlap is ", attrs.crowd_overlap,
        ", should be 0 (any) or more");
  check(attrs.box_overlap >= 0 && attrs.box_overlap <= 1, "box_overlap is ", attrs.box_overlap,
        ", should be from 0 (of all objects) to 1");
  check(attrs.weights.size() == 4, "weights are ", attrs.weights.size(), " numbers, should be 4");
  for (const float weight : attrs.weights) check(std::isfinite(weight), "a weight is ", weight);
  return attrs;
}

Attributes write_mask_targets(const MaskTargetsAttrs& attrs) {
  return {{"resolution", attrs.resolution}};
}

MaskTargetsAttrs read_mask_targets(AttributeReader reader) {
  MaskTargetsAttrs attrs;
  attrs.resolution = reader.integer("resolution", attrs.resolution);
  reader.done();
  check(attrs.resolution >= 1 && attrs.resolution <= kMostInFrame, "resolution is ",
        attrs.resolution, ", should be 1..", kMostInFrame);
  return attrs;
}

Attributes write_keypoint_targets(const KeypointTargetsAttrs& attrs) {
  return {{"size", attrs.size}};
}

KeypointTargetsAttrs read_keypoint_targets(AttributeReader reader) {
  KeypointTargetsAttrs attrs;
  attrs.size = reader.integer("size", attrs.size);
  reader.done();
  check(attrs.size >= 1 && attrs.size <= kMostInFrame, "size is ", attrs.size, ", should be 1..",
        kMostInFrame);
  return attrs;
}

}  // namespace lockstep
