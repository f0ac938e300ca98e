// SPDX-License-Identifier: Apache-2.0
#include "data/scenes/scenes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/scenes/placement.h"
#include "data/streams.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr int64_t kSceneSide = Scenes::kSide;

using Colour = std::array<double, 3>;
using Canvas = std::vector<Colour>;

uint64_t stream_of(const SceneOptions& options, std::size_t scene) {
  return (options.held_out ? streams::kHeldOutScenes : streams::kScenes) + scene;
}

// A colour far enough from black and white that noise is rarely clipped.
Colour any_colour(PhiloxSequence& random) {
  Colour colour;
  for (double& channel : colour) channel = random.uniform(60, 195);
  return colour;
}

double apart(const Colour& a, const Colour& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// A ground with triangular waves in three directions.
Canvas textured_ground(const Colour& base, PhiloxSequence& random) {
  Canvas canvas(kSceneSide * kSceneSide, base);
  for (int wave = 0; wave < 3; ++wave) {
    const double along = random.uniform(-0.08, 0.08), across = random.uniform(-0.08, 0.08);
    const double phase = random.uniform(), height = random.uniform(8, 24);
    Colour tint;
    for (double& channel : tint) channel = random.uniform(-1, 1);
    for (int64_t row = 0; row < kSceneSide; ++row)
      for (int64_t column = 0; column < kSceneSide; ++column) {
        const double at =
            along * static_cast<double>(column) + across * static_cast<double>(row) + phase;
        const double level = height * (4 * std::abs(at - std::floor(at) - 0.5) - 1);
        Colour& pixel = canvas[row * kSceneSide + column];
        for (std::size_t c = 0; c < 3; ++c) pixel[c] += tint[c] * level;
      }
  }
  return canvas;
}

// A colour that clearly differs from the ground's mean colour.
Colour colour_on(const Colour& ground, PhiloxSequence& random) {
  constexpr double kLeastApart = 70;
  Colour colour = any_colour(random);
  while (apart(colour, ground) < kLeastApart) colour = any_colour(random);
  return colour;
}

void paint(Canvas& canvas, const RunLengths& mask, const Colour& colour) {
  std::size_t at = 0;
  for (std::size_t run = 0; run < mask.counts.size(); ++run)
    for (uint32_t i = 0; i < mask.counts[run]; ++i, ++at)
      if (run % 2 == 1) canvas[at % kSceneSide * kSceneSide + at / kSceneSide] = colour;
}

void paint(Canvas& canvas, const Outline& outline, const Colour& colour) {
  fill(outline, kSceneSide, kSceneSide, [&](int64_t row, int64_t first, int64_t last) {
    std::fill(canvas.begin() + row * kSceneSide + first, canvas.begin() + row * kSceneSide + last,
              colour);
  });
}

Outline outline_in(const Annotations& table, PoolPart part) {
  Outline outline;
  for (uint32_t i = 0; i < part.count; i += 2)
    outline.push_back({table.coordinates[part.first + i], table.coordinates[part.first + i + 1]});
  return outline;
}

// Nearly normal noise with standard deviation 1: the scaled sum of four uniform 16-bit numbers.
double noise_of(PhiloxSequence& random) {
  const uint32_t a = random.bits(), b = random.bits();
  const double sum = (a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16);
  return (sum - 2 * 65535.0) / 65536 * std::sqrt(3.0);
}

}  // namespace

Scenes::Scenes(const SceneOptions& options) : options_(options) {
  check(options.count >= 1, "the number of scenes is ", options.count, ", should be at least 1");
  annotations_.path = options.held_out ? "scenes_val" : "scenes_train";
  for (std::size_t i = 0; i < kSceneShapes.size(); ++i)
    annotations_.categories.push_back({static_cast<int64_t>(i) + 1, kSceneShapes[i], {}, {}});
  CocoCategory& arrow = annotations_.categories.back();
  arrow.keypoints.assign(kArrowPoints.begin(), kArrowPoints.end());
  arrow.swap = {{1, 2}, {3, 4}};
  annotations_.keypoint_sigmas.assign(kArrowPoints.size(), kArrowSigma);
  annotations_.first_object.push_back(0);
  for (int64_t i = 0; i < options.count; ++i) {
    PhiloxSequence random(options.seed, stream_of(options, i));
    append_scene(annotations_, plan_scene(random, kSceneSide), kSceneSide);
  }
}

Image Scenes::picture(std::size_t scene) const {
  PhiloxSequence random(options_.seed, stream_of(options_, scene) + streams::kScenePaint);
  const Colour ground = any_colour(random);
  Canvas canvas = textured_ground(ground, random);
  for (const CocoObject& object : annotations_.objects_of(scene)) {
    const Colour colour = colour_on(ground, random);
    if (object.mask >= 0)
      paint(canvas, annotations_.masks[object.mask], colour);
    else
      paint(canvas, outline_in(annotations_, annotations_.polygons[object.polygons.first]), colour);
  }
  Image image{kSceneSide, kSceneSide, {}};
  image.rgb.reserve(canvas.size() * 3);
  for (const Colour& pixel : canvas)
    for (double channel : pixel)
      image.rgb.push_back(static_cast<uint8_t>(
          std::clamp(std::round(channel + options_.noise * noise_of(random)), 0.0, 255.0)));
  return image;
}

}  // namespace lockstep
