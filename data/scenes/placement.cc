// SPDX-License-Identifier: Apache-2.0
#include "data/scenes/placement.h"

#include <algorithm>

#include "data/coco/overlap.h"
#include "data/coco/rle.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kLeastSide = 16, kMostSide = 64, kMostOverlap = 0.4;
constexpr double kEmptyShare = 0.04, kCrowdShare = 0.12;  // fractions of all scenes
constexpr int kTries = 60;

SceneShape any_shape(PhiloxSequence& random) {
  return static_cast<SceneShape>(random.below(static_cast<int64_t>(kSceneShapes.size())));
}

Outline any_outline(SceneShape shape, double side, ScenePoint corner, PhiloxSequence& random) {
  const bool round = shape == SceneShape::disc;
  const double slant = round ? random.uniform(0.75, 1) : random.uniform(0.5, 1);
  // Boxes stay nearly upright. Other shapes turn by any angle.
  const double turn = shape == SceneShape::box ? random.uniform(-0.03, 0.03) : random.uniform();
  return placed(outline_of(shape, slant), turn, side, corner);
}

// A random upper left corner for a square of side `side` within the picture.
ScenePoint any_corner(double side, int64_t picture, PhiloxSequence& random) {
  const double room = static_cast<double>(picture) - side;
  const double x = random.uniform(0, room);
  return {x, random.uniform(0, room)};
}

std::vector<Outline> any_crowd(SceneShape shape, int64_t picture, PhiloxSequence& random) {
  const double region = random.uniform(32, 52);
  const ScenePoint corner = any_corner(region, picture, random);
  std::vector<Outline> crowd;
  const int64_t count = 6 + random.below(5);
  for (int64_t i = 0; i < count; ++i) {
    const double side = random.uniform(8, 14);
    const double x = random.uniform(0, region - side), y = random.uniform(0, region - side);
    crowd.push_back(any_outline(shape, side, {corner.x + x, corner.y + y}, random));
  }
  return crowd;
}

CocoBox bounds_of_all(const std::vector<Outline>& outlines) {
  Outline all;
  for (const Outline& outline : outlines) all.insert(all.end(), outline.begin(), outline.end());
  return bounds_of(all);
}

RunLengths mask_of(const std::vector<Outline>& outlines, int64_t side) {
  std::vector<bool> inside(side * side);  // in column-major order
  for (const Outline& outline : outlines)
    fill(outline, side, side, [&](int64_t row, int64_t first, int64_t last) {
      for (int64_t column = first; column < last; ++column) inside[column * side + row] = true;
    });
  RunLengths runs{side, side, {0}};
  for (bool pixel : inside) {
    if (pixel != (runs.counts.size() % 2 == 0)) runs.counts.push_back(0);
    ++runs.counts.back();
  }
  return runs;
}

PoolPart append_points(std::vector<double>& pool, const Outline& outline) {
  const PoolPart part{static_cast<uint32_t>(pool.size()),
                      static_cast<uint32_t>(2 * outline.size())};
  for (const ScenePoint& p : outline) {
    pool.push_back(p.x);
    pool.push_back(p.y);
  }
  return part;
}

// Appends x, y and visibility of each point: 2 for a visible point, 1 for a point that a later
// object hides. As in COCO, coordinates are numbers of pixels: 0 is the middle of the first pixel.
PoolPart append_arrow_points(Annotations& table, const ScenePlan& plan, std::size_t place) {
  const auto first = static_cast<uint32_t>(table.keypoints.size());
  for (std::size_t corner : kArrowPlaces) {
    const ScenePoint p = plan.objects[place].outline[corner];
    const bool hidden =
        std::any_of(plan.objects.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                    plan.objects.end(), [&](const auto& o) { return contains(o.outline, p); });
    for (double number : {p.x - 0.5, p.y - 0.5, hidden ? 1.0 : 2.0})
      table.keypoints.push_back(number);
  }
  return {first, static_cast<uint32_t>(3 * kArrowPlaces.size())};
}

}  // namespace

ScenePlan plan_scene(PhiloxSequence& random, int64_t side) {
  ScenePlan plan;
  if (random.uniform() < kEmptyShare) return plan;
  std::vector<CocoBox> taken;
  if (random.uniform() < kCrowdShare) {
    plan.crowd_shape = any_shape(random);
    plan.crowd = any_crowd(plan.crowd_shape, side, random);
    taken.push_back(bounds_of_all(plan.crowd));
  }
  const std::size_t wanted = 2 + random.below(7);
  for (int tries = 0; plan.objects.size() < wanted && (tries < kTries || plan.objects.size() < 2);
       ++tries) {
    const SceneShape shape = any_shape(random);
    const double size = random.uniform(kLeastSide + 1, kMostSide);
    const ScenePoint corner = any_corner(size + 1, side, random);
    Outline outline = any_outline(shape, size, corner, random);
    const CocoBox bounds = bounds_of(outline);
    const bool fits = std::min(bounds[2], bounds[3]) >= kLeastSide &&
                      std::all_of(taken.begin(), taken.end(), [&](const auto& other) {
                        return overlap(bounds, other, false) <= kMostOverlap;
                      });
    if (!fits) continue;
    taken.push_back(bounds);
    plan.objects.push_back({shape, std::move(outline)});
  }
  std::stable_sort(plan.objects.begin(), plan.objects.end(),
                   [](const SceneObject& a, const SceneObject& b) {
                     return area_of(a.outline) > area_of(b.outline);
                   });
  return plan;
}

void append_scene(Annotations& table, const ScenePlan& plan, int64_t side) {
  const std::size_t image = table.images.size();
  std::string number = std::to_string(image);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  table.images.push_back({static_cast<int64_t>(image) + 1, number + ".jpg", side, side});
  const auto next = [&](SceneShape shape, const CocoBox& bounds) {
    CocoObject object;
    object.id = static_cast<int64_t>(table.objects.size()) + 1;
    object.image = static_cast<int32_t>(image);
    object.category = static_cast<int32_t>(shape);
    object.bbox = bounds;
    return object;
  };
  if (!plan.crowd.empty()) {
    CocoObject crowd = next(plan.crowd_shape, bounds_of_all(plan.crowd));
    crowd.crowd = true;
    crowd.mask = static_cast<int32_t>(table.masks.size());
    table.masks.push_back(mask_of(plan.crowd, side));
    crowd.area = static_cast<double>(area_of(table.masks.back()));
    table.objects.push_back(crowd);
  }
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const SceneObject& each = plan.objects[i];
    CocoObject object = next(each.shape, bounds_of(each.outline));
    object.area = area_of(each.outline);
    object.polygons = {static_cast<uint32_t>(table.polygons.size()), 1};
    table.polygons.push_back(append_points(table.coordinates, each.outline));
    if (each.shape == SceneShape::arrow) {
      object.keypoints = append_arrow_points(table, plan, i);
      object.num_keypoints = static_cast<int32_t>(kArrowPlaces.size());  // hidden ones count, too
    }
    table.objects.push_back(object);
  }
  table.first_object.push_back(table.objects.size());
}

}  // namespace lockstep
