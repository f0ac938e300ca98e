// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "data/masked_images.h"
#include "data/streams.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr int64_t kMostShapes = 4;

struct DrawnShape {
  int64_t kind = 1;  // 1: disc, 2: square, 3: triangle
  double top = 0, left = 0, reach = 0;
  std::array<float, 3> colour{};

  bool covers(double y, double x) const {
    const double down = y - top, across = std::abs(x - left);
    if (kind == 1) return down * down + across * across <= reach * reach;
    if (kind == 2) return std::abs(down) <= reach && across <= reach;
    return std::abs(down) <= reach && across <= (down + reach) / 2;
  }
};

class DrawnShapes final : public MaskedImages {
 public:
  explicit DrawnShapes(const MaskedImageOptions& options)
      : MaskedImages({3,
                      options.image_size,
                      options.image_size,
                      options.image_size,
                      {0.5F, 0.5F, 0.5F},
                      {0.25F, 0.25F, 0.25F}}),
        options_(options) {
    check(options.size > 0 && options.image_size > 0, options.size, " drawn pictures of side ",
          options.image_size, "; both should be at least 1");
  }

  int64_t size() const override { return options_.size; }

  // Colours do not tell the classes, so that a network has to see the shapes.
  void read(int64_t index, uint64_t, float* image, int64_t* mask) const override {
    const auto stream = options_.held_out ? streams::kHeldOutShapes : streams::kShapes;
    PhiloxSequence random(options_.seed, stream + static_cast<uint64_t>(index));
    const int64_t side = options_.image_size, pixels = side * side;
    std::array<float, 3> ground;
    for (float& value : ground) value = static_cast<float>(random.uniform(0, 0.4));
    std::vector<DrawnShape> shapes(1 + random.below(kMostShapes));
    for (DrawnShape& shape : shapes) {
      shape.kind = 1 + random.below(kClassesOfShapes - 1);
      shape.top = random.uniform(0, static_cast<double>(side));
      shape.left = random.uniform(0, static_cast<double>(side));
      shape.reach = random.uniform(0.1, 0.3) * static_cast<double>(side);
      for (float& value : shape.colour) value = static_cast<float>(random.uniform(0.5, 1));
    }
    for (int64_t at = 0; at < pixels; ++at) {
      const int64_t row = at / side, column = at % side;
      const double y = static_cast<double>(row) + 0.5;
      const double x = static_cast<double>(column) + 0.5;
      const DrawnShape* top = nullptr;  // a later shape hides an earlier one
      for (const DrawnShape& shape : shapes)
        if (shape.covers(y, x)) top = &shape;
      mask[at] = top ? top->kind : 0;
      const auto noise = static_cast<float>(random.uniform(-0.1, 0.1));
      for (int64_t c = 0; c < 3; ++c) {
        const float light = std::clamp((top ? top->colour : ground)[c] + noise, 0.0F, 1.0F);
        image[c * pixels + at] = preparation().normalised(c, 255 * light);
      }
    }
  }

 private:
  MaskedImageOptions options_;
};

}  // namespace

std::unique_ptr<MaskedImages> drawn_shapes(const MaskedImageOptions& options) {
  return std::make_unique<DrawnShapes>(options);
}

}  // namespace lockstep
