// SPDX-License-Identifier: Apache-2.0
// Pictures with a class for each pixel, for segmentation, and their minibatches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/transform.h"
#include "lockstep/loader.h"

namespace lockstep {

inline constexpr int64_t kIgnoredPixel = 255;  // no class

struct MaskedImageOptions {
  // image_masks: the folder that holds train/ and val/, or test/ for held-out pictures.
  std::string root = "";
  bool held_out = false;
  uint64_t seed = 1;
  int64_t image_size = 224;
  int64_t resize = 256;  // held out: length of the shorter side before the centre crop
  std::array<double, 2> scale{0.25, 1};  // training: fraction of the picture's area
  bool flip = true;                      // training: half of the pictures are mirrored
  int64_t classes = 0;  // a mask with another class is an error; 0: classes up to 254
  int64_t size = 1000;  // drawn_shapes: number of pictures
};

class MaskedImages {
 public:
  explicit MaskedImages(Preparation preparation) : preparation_(std::move(preparation)) {}
  virtual ~MaskedImages() = default;
  virtual int64_t size() const = 0;
  // Writes picture `index`, 3 x height x width values, and the class of each pixel. Augmentation
  // depends on (seed, draw) alone. Thread-safe.
  virtual void read(int64_t index, uint64_t draw, float* image, int64_t* mask) const = 0;
  virtual std::string digest() const { return ""; }  // "": no files
  virtual std::string name_of(int64_t index) const { return std::to_string(index); }
  const Preparation& preparation() const { return preparation_; }

 private:
  Preparation preparation_;
};

// Pictures ROOT/train/images/NAME.jpg (or any picture format) and masks ROOT/train/masks/NAME.png.
// A pixel of a mask, grey or an index of a palette, is the class; 255 is ignored. Both are cropped,
// scaled and mirrored together, masks without mixing pixels.
std::unique_ptr<MaskedImages> image_masks(const MaskedImageOptions& options);

// Drawn discs, squares and triangles, classes 1 to 3, over a background of class 0, for trying and
// testing. The masks are exact.
std::unique_ptr<MaskedImages> drawn_shapes(const MaskedImageOptions& options);
inline constexpr int64_t kClassesOfShapes = 4;

// A tensor of examples: pictures, float32 [3, height, width], or masks.
struct MaskedFeed {
  std::string name = "";
  bool is_mask = false;
  DType dtype = DType::int64;  // of a mask: int64, int32, uint8 or float32
  bool channel = false;        // a mask is [1, height, width], not [height, width]

  TensorDesc desc(const Preparation& preparation, int64_t count) const;
};
// Writes a picture and its mask as row `row` of the tensors of `feeds`.
void write_masked(const MaskedImages& images, int64_t index, uint64_t draw, int64_t row,
                  std::span<const MaskedFeed> feeds, std::span<const Tensor> tensors);

struct MaskedBatchOptions {
  int64_t batch = 16;
  // The process's part of each batch.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;  // false: in the set's order, epoch after epoch
  std::vector<MaskedFeed> feeds = {{.name = "images"}, {.name = "masks", .is_mask = true}};
};

// Minibatches of the feeds.
class MaskedImageBatches final : public MinibatchSource {
 public:
  // `images` must outlive this object.
  MaskedImageBatches(const MaskedImages& images, const MaskedBatchOptions& options);
  ~MaskedImageBatches() override;

  const std::vector<MinibatchForm>& forms() const override;
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override;
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
