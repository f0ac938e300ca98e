// SPDX-License-Identifier: Apache-2.0
// Views of a picture: how a test with augmentation shows the picture to a network, and the way back
// for whatever the network finds. Boxes, masks and keypoints share views.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "data/coco/boxes.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/picture.h"
#include "data/image.h"

namespace lockstep {

// A view of any picture. The picture is first widened, then mirrored, then scaled.
struct ViewRules {
  int64_t scale = 0, longest = 0;  // as in scale_to()
  double widening = 1;             // factor of the width
  bool mirrored = false;
  // The key that asks for other sides than the plain view has, for errors; "": none does.
  std::string key = "";
};

// The views that an augmentation asks for, in Detectron's order: the plain view is the last one.
// `section` is TEST.BBOX_AUG, .. Without augmentation, only the plain view.
std::vector<ViewRules> views_of(const TestAugmentation& augmentation, const std::string& section,
                                const DetectionTestOptions& plain);

// A view of a picture of a given size.
class View {
 public:
  // Throws, naming the key, if a side of the view would have no pixel.
  View(const ViewRules& rules, const PictureSize& picture);

  bool mirrored() const { return rules_.mirrored; }
  // The input of the network, without padding.
  const PictureScale& scale() const { return scale_; }
  // The picture before scaling. It is not mirrored: write_picture() mirrors while it scales.
  Image widened(Image picture) const;

  // A box of the picture as the network sees it before scaling, and the inverse. The plain view
  // changes no bit.
  Corners in_view(const Corners& in_picture) const;
  Corners in_picture(const Corners& in_view) const;

 private:
  ViewRules rules_;
  PictureSize size_;     // the picture's size before scaling
  double widening_ = 1;  // the factor of whole widths
  PictureScale scale_;
};

}  // namespace lockstep
