// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/shape_drawer.h"

#include <algorithm>
#include <memory>

#include "app/detection/shapes/found_points.h"
#include "app/detection/shapes/pasted_mask.h"
#include "lockstep/error.h"
#include "runtime/finite.h"

namespace lockstep {
namespace {

constexpr std::size_t kBoxesOfTask = 4;

std::span<const float> drawn_row(const std::vector<float>& rows, std::size_t row, int64_t numbers) {
  return std::span(rows).subspan(row * static_cast<std::size_t>(numbers),
                                 static_cast<std::size_t>(numbers));
}

}  // namespace

struct ShapeDrawer::Job {
  std::size_t picture;
  PictureSize size;
  FoundBoxes* boxes;
  std::vector<std::size_t> which;
  HeadOutputs outputs;

  void check_finite(std::span<const float> numbers, const char* what, std::size_t box) const {
    check(all_finite(numbers.data(), static_cast<int64_t>(numbers.size())), "picture ", picture,
          ": the ", what, " of box ", box,
          " has a number that is not finite: numbers have overflowed, training has diverged");
  }
};

ShapeDrawer::ShapeDrawer(const DetectorConfig& config, const KeypointRules& points)
    : config_(config), points_(points), tasks_(static_cast<int>(config.loader.num_threads)) {}

void ShapeDrawer::draw(std::size_t picture, const PictureSize& size, FoundBoxes& boxes,
                       std::vector<std::size_t> which, HeadOutputs outputs) {
  const auto job =
      std::make_shared<const Job>(Job{picture, size, &boxes, std::move(which), std::move(outputs)});
  for (std::size_t first = 0; first < job->which.size(); first += kBoxesOfTask)
    tasks_.add([this, job, first] {
      const std::size_t end = std::min(first + kBoxesOfTask, job->which.size());
      for (std::size_t row = first; row < end; ++row) draw_box(*job, row);
    });
}

void ShapeDrawer::draw_box(const Job& job, std::size_t row) const {
  const MaskOptions& masks = config_.network.mrcnn;
  const KeypointOptions& points = config_.network.krcnn;
  const std::size_t place = job.which[row];
  FoundBox& box = (*job.boxes)[place];
  if (!job.outputs.masks.empty()) {
    const auto mask = drawn_row(job.outputs.masks, row, masks.resolution * masks.resolution);
    job.check_finite(mask, "mask", place);
    box.mask = pasted_mask(mask, masks.resolution, box.corners, job.size, masks.thresh_binarize);
  }
  if (!job.outputs.heatmaps.empty() && points_.has_points(box.kind)) {
    const int64_t side = points.heatmap_size;
    const auto heatmaps = drawn_row(job.outputs.heatmaps, row, points.num_keypoints * side * side);
    job.check_finite(heatmaps, "heatmap", place);
    box.points =
        found_points(heatmaps, points.num_keypoints, side, box.corners, points.inference_min_size);
  }
}

}  // namespace lockstep
