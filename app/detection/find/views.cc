// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/views.h"

#include <algorithm>
#include <cmath>

#include "data/detection/widened.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kMostPixels = 1 << 16;  // of a side, as for TEST.SCALE

Corners times_width(Corners box, double factor) {
  for (const std::size_t i : {0, 2})
    box[i] = static_cast<float>(static_cast<double>(box[i]) * factor);
  return box;
}

}  // namespace

std::vector<ViewRules> views_of(const TestAugmentation& augmentation, const std::string& section,
                                const DetectionTestOptions& plain) {
  std::vector<ViewRules> views;
  const auto add = [&](ViewRules rules, bool mirrored_too) {
    views.push_back(rules);
    rules.mirrored = true;
    if (mirrored_too) views.push_back(rules);
  };
  const ViewRules usual{plain.scale, plain.max_size};
  if (augmentation.enabled) {
    if (augmentation.h_flip) views.push_back({plain.scale, plain.max_size, 1, true});
    for (const int64_t scale : augmentation.scales)
      add({scale, augmentation.max_size, 1, false, section + ".SCALES"}, augmentation.scale_h_flip);
    for (const double ratio : augmentation.aspect_ratios)
      add({plain.scale, plain.max_size, ratio, false, section + ".ASPECT_RATIOS"},
          augmentation.aspect_ratio_h_flip);
  }
  views.push_back(usual);
  return views;
}

View::View(const ViewRules& rules, const PictureSize& picture) : rules_(rules), size_(picture) {
  const auto width = static_cast<double>(picture.width);
  const double wide = std::nearbyint(width * rules.widening);
  check(wide >= 1 && wide <= std::max(width, kMostPixels), rules.key, " ", rules.widening,
        ": a picture of ", picture.height, " x ", picture.width, " pixels would be ", wide,
        " pixels wide");
  size_.width = static_cast<int64_t>(wide);
  widening_ = static_cast<double>(size_.width) / width;
  scale_ = scale_to(size_.height, size_.width, rules.scale, rules.longest);
  const double shorter = static_cast<double>(std::min(size_.height, size_.width)) * scale_.scale;
  check(rules.key.empty() || std::nearbyint(shorter) >= 1, rules.key, ": a picture of ",
        size_.height, " x ", size_.width, " pixels, scaled to ", rules.scale, " and at most ",
        rules.longest, ", has a side of ", shorter, " pixels: nothing is left of it");
}

Image View::widened(Image picture) const {
  if (size_.width == picture.width) return picture;
  return lockstep::widened(picture, size_.width);
}

Corners View::in_view(const Corners& in_picture) const {
  Corners box = widening_ == 1 ? in_picture : times_width(in_picture, widening_);
  return rules_.mirrored ? lockstep::mirrored(box, static_cast<float>(size_.width)) : box;
}

Corners View::in_picture(const Corners& in_view) const {
  const Corners box =
      rules_.mirrored ? lockstep::mirrored(in_view, static_cast<float>(size_.width)) : in_view;
  return widening_ == 1 ? box : times_width(box, 1 / widening_);
}

}  // namespace lockstep
