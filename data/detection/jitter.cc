// SPDX-License-Identifier: Apache-2.0
#include "data/detection/jitter.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

// A side of the scaled picture, in whole pixels.
int64_t jittered_side(int64_t side, double scale) {
  return std::max<int64_t>(1, std::lrint(static_cast<double>(side) * scale));
}

}  // namespace

PicturePlace jittered(const CocoImage& image, const JitterOptions& options,
                      PhiloxSequence& random) {
  const double ratio = random.uniform(options.least, options.most);
  const double scale =
      ratio * std::min(static_cast<double>(options.size.height) / static_cast<double>(image.height),
                       static_cast<double>(options.size.width) / static_cast<double>(image.width));
  PicturePlace place(
      {scale, jittered_side(image.height, scale), jittered_side(image.width, scale)});
  place.crop.height = std::min(place.scale.height, options.size.height);
  place.crop.width = std::min(place.scale.width, options.size.width);
  place.crop.top = random.below(place.scale.height - place.crop.height + 1);
  place.crop.left = random.below(place.scale.width - place.crop.width + 1);
  return place;
}

Corners cut(const Corners& box, const PicturePlace& place) {
  const auto within = [&](float at, int64_t first, int64_t size) {
    const double scale = place.scale.scale;
    return static_cast<float>(
        std::clamp(static_cast<double>(at) - static_cast<double>(first) / scale, 0.0,
                   static_cast<double>(size) / scale));
  };
  const PictureCrop& crop = place.crop;
  return {within(box[0], crop.left, crop.width), within(box[1], crop.top, crop.height),
          within(box[2], crop.left, crop.width), within(box[3], crop.top, crop.height)};
}

void drop_narrow(std::vector<TrainingBox>& boxes) {
  std::erase_if(boxes, [](const TrainingBox& box) {
    const Corners& at = box.corners;
    return !(at[2] - at[0] > 1 && at[3] - at[1] > 1);
  });
}

}  // namespace lockstep
