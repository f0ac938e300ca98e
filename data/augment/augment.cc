// SPDX-License-Identifier: Apache-2.0
#include "data/augment/augment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/augment/colours.h"
#include "data/augment/geometry.h"

namespace lockstep {
namespace {

// The magnitude's place between two ends: in single precision from the nearer end, rounded once.
double between(double first, double last, int64_t magnitude) {
  const float start = static_cast<float>(first), end = static_cast<float>(last);
  const float step = (end - start) / static_cast<float>(kMostMagnitude);
  return magnitude < kMostMagnitude / 2
             ? std::fma(step, static_cast<float>(magnitude), start)
             : std::fma(-step, static_cast<float>(kMostMagnitude - magnitude), end);
}

constexpr double kMostShear = 0.3, kMostShift = 150.0 / 331.0, kMostTurn = 30, kMostChange = 0.9;

double shift_of(int64_t side, int64_t magnitude) {
  return between(0, kMostShift * static_cast<double>(side), magnitude);
}

// `amount` includes the sign.
struct Operation {
  const char* name;
  bool has_sign;
  double (*amount)(const BytePicture& picture, int64_t magnitude);
  void (*apply)(const BytePicture& picture, double amount);
};

double nothing(const BytePicture&, int64_t) { return 0; }
double change(const BytePicture&, int64_t magnitude) { return between(0, kMostChange, magnitude); }
double shear(const BytePicture&, int64_t magnitude) { return between(0, kMostShear, magnitude); }

constexpr Operation kOperations[] = {
    {"Identity", false, nothing, [](const BytePicture&, double) {}},
    {"ShearX", true, shear, shear_across},
    {"ShearY", true, shear, shear_down},
    {"TranslateX", true,
     [](const BytePicture& picture, int64_t magnitude) {
       return shift_of(picture.width, magnitude);
     },
     [](const BytePicture& picture, double by) {
       shift_across(picture, static_cast<int64_t>(by));
     }},
    {"TranslateY", true,
     [](const BytePicture& picture, int64_t magnitude) {
       return shift_of(picture.height, magnitude);
     },
     [](const BytePicture& picture, double by) { shift_down(picture, static_cast<int64_t>(by)); }},
    {"Rotate", true,
     [](const BytePicture&, int64_t magnitude) { return between(0, kMostTurn, magnitude); }, turn},
    {"Brightness", true, change,
     [](const BytePicture& picture, double by) { adjust_brightness(picture, 1 + by); }},
    {"Color", true, change,
     [](const BytePicture& picture, double by) { adjust_saturation(picture, 1 + by); }},
    {"Contrast", true, change,
     [](const BytePicture& picture, double by) { adjust_contrast(picture, 1 + by); }},
    {"Sharpness", true, change,
     [](const BytePicture& picture, double by) { adjust_sharpness(picture, 1 + by); }},
    {"Posterize", false,
     [](const BytePicture&, int64_t magnitude) {
       return 8 - std::nearbyint(static_cast<double>(magnitude) / (kMostMagnitude / 4.0));
     },
     [](const BytePicture& picture, double bits) { posterize(picture, static_cast<int>(bits)); }},
    {"Solarize", false,
     [](const BytePicture&, int64_t magnitude) { return between(255, 0, magnitude); }, solarize},
    {"AutoContrast", false, nothing,
     [](const BytePicture& picture, double) { autocontrast(picture); }},
    {"Equalize", false, nothing, [](const BytePicture& picture, double) { equalize(picture); }}};

void jitter(const BytePicture& picture, const ColourJitter& by, PhiloxSequence& random) {
  const std::pair<double, void (*)(const BytePicture&, double)> changes[] = {
      {by.brightness, adjust_brightness},
      {by.contrast, adjust_contrast},
      {by.saturation, adjust_saturation}};
  std::array<int, 4> order{0, 1, 2, 3};
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[random.below(static_cast<int64_t>(i) + 1)]);
  // Every draw is made, so that one range does not change the draws of the others.
  std::array<double, 4> draws{};
  for (double& draw : draws) draw = random.uniform();
  for (const int which : order) {
    const double draw = draws[which];
    if (which == 3) {
      if (by.hue > 0) adjust_hue(picture, by.hue * (2 * draw - 1));
      continue;
    }
    const auto& [range, adjust] = changes[which];
    const double least = std::max(0.0, 1 - range);
    if (range > 0) adjust(picture, least + (1 + range - least) * draw);
  }
}

}  // namespace

std::vector<std::string> augment_operations() {
  std::vector<std::string> names;
  for (const Operation& operation : kOperations) names.emplace_back(operation.name);
  return names;
}

void apply_operation(const BytePicture& picture, std::size_t operation, int64_t magnitude,
                     bool negative) {
  const Operation& chosen = kOperations[operation];
  const double amount = chosen.amount(picture, magnitude);
  chosen.apply(picture, negative && chosen.has_sign ? -amount : amount);
}

void augment(const BytePicture& picture, const Augmentation& augmentation, PhiloxSequence& random) {
  for (int64_t i = 0; i < augmentation.rand_augment.operations; ++i) {
    const auto operation = static_cast<std::size_t>(random.below(std::size(kOperations)));
    const bool negative = random.below(2) == 1;
    apply_operation(picture, operation, augmentation.rand_augment.magnitude, negative);
  }
  if (augmentation.jitter.active()) jitter(picture, augmentation.jitter, random);
}

}  // namespace lockstep
