// SPDX-License-Identifier: Apache-2.0
// KeypointTargets: the cell of each point in the heatmap over its RoI.
#include <cmath>

#include "operators/targets/attributes.h"
#include "operators/targets/kernels_cpu.h"
#include "operators/targets/roi_frame.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

class KeypointTargetsKernel final : public Kernel {
 public:
  explicit KeypointTargetsKernel(const KernelRequest& request)
      : size_(read_keypoint_targets(request.attributes()).size),
        images_(request.in[0].dims[0]),
        rois_(request.in[0].dims[1]),
        objects_(request.in[2].dims[1]),
        points_(request.in[2].dims[2]),
        threads_(request.threads),
        node_(request.node.description()) {}

  void run(const KernelArgs& args) override {
    check_matches(args.in[1].as<int64_t>());
    constexpr int64_t kGrain = 64;  // RoIs
    parallel_for(images_ * rois_, kGrain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t roi = begin; roi < end; ++roi) place_points(args, roi);
    });
  }

 private:
  void check_matches(const int64_t* matches) const {
    for (int64_t i = 0; i < images_ * rois_; ++i)
      if (matches[i] >= objects_)
        fail(node_, ": RoI ", i % rois_, " of image ", i / rois_, " matches object ", matches[i],
             ", there are ", objects_);
  }

  void place_points(const KernelArgs& args, int64_t roi) const {
    int64_t* places = args.out[0].as<int64_t>() + roi * points_;
    std::fill_n(places, points_, int64_t{-1});
    const int64_t object = args.in[1].as<int64_t>()[roi];
    const TargetBox box = box_at(args.in[0].as<float>(), roi);
    if (object < 0 || !has_area(box)) return;
    const RoiFrame frame(box);
    const float* points = args.in[2].as<float>() + (roi / rois_ * objects_ + object) * points_ * 3;
    for (int64_t k = 0; k < points_; ++k) {
      const float* point = points + 3 * k;
      if (!(point[2] > 0)) continue;
      const float x = cell(point[0], frame.x1, frame.last_x, frame.width);
      const float y = cell(point[1], frame.y1, frame.last_y, frame.height);
      if (is_cell(x) && is_cell(y))
        places[k] = static_cast<int64_t>(y) * size_ + static_cast<int64_t>(x);
    }
  }

  // The column or row of a coordinate. The edge of the last pixel belongs to the last cell.
  float cell(float at, float first, float last, float side) const {
    const auto cells = static_cast<float>(size_);
    return at == last ? cells - 1 : std::floor((at - first) * (cells / side));
  }
  bool is_cell(float cell) const { return cell >= 0 && cell < static_cast<float>(size_); }

  const int64_t size_, images_, rois_, objects_, points_;
  const int threads_;
  const std::string node_;  // for errors
};

}  // namespace

std::unique_ptr<Kernel> prepare_keypoint_targets(const KernelRequest& request) {
  return std::make_unique<KeypointTargetsKernel>(request);
}

}  // namespace lockstep
