// SPDX-License-Identifier: Apache-2.0
// Generated 28x28 images of handwritten-looking digits: strokes of random width under a random
// affine map, with noise. Needs no download. A network must learn shapes to classify the digits.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace lockstep {

Preparation digits_preparation(const DatasetOptions& options);

class DigitImages final : public Dataset {
 public:
  // Draws all images. The seed determines every pixel.
  explicit DigitImages(const DatasetOptions& options);

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t classes() const override { return 10; }
  void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const override;

 private:
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
};

}  // namespace lockstep
