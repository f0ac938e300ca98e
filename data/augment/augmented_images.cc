// SPDX-License-Identifier: Apache-2.0
#include "data/augment/augmented_images.h"

#include <utility>

#include "data/streams.h"

namespace lockstep {
namespace {

// Floats are the normalised bytes of Dataset::read().
class AugmentedImages final : public Dataset {
 public:
  AugmentedImages(std::unique_ptr<Dataset> images, const Augmentation& augmentation, uint64_t seed)
      : Dataset(images->preparation()),
        images_(std::move(images)),
        augmentation_(augmentation),
        seed_(seed) {}

  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  std::string class_name(int64_t label) const override { return images_->class_name(label); }
  void look_at_header(int64_t index) const override { images_->look_at_header(index); }
  bool has_headers() const override { return images_->has_headers(); }
  std::string digest() const override { return images_->digest(); }
  int64_t classes_with_images() const override { return images_->classes_with_images(); }
  std::string left_out() const override { return images_->left_out(); }

  void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const override {
    images_->read_bytes(index, draw, image, label);
    PhiloxSequence random(seed_, streams::kAugmentation | draw);
    augment({channels(), height(), width(), image}, augmentation_, random);
  }

 private:
  std::unique_ptr<Dataset> images_;
  Augmentation augmentation_;
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<Dataset> augmented(std::unique_ptr<Dataset> images,
                                   const Augmentation& augmentation, uint64_t seed) {
  return std::make_unique<AugmentedImages>(std::move(images), augmentation, seed);
}

}  // namespace lockstep
