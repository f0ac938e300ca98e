// SPDX-License-Identifier: Apache-2.0
// Where the objects of a scene are.
#pragma once

#include "data/coco/annotations.h"
#include "data/scenes/outline.h"
#include "runtime/philox.h"

namespace lockstep {

struct SceneObject {
  SceneShape shape = SceneShape::disc;
  Outline outline;
};

// Drawn in this order: the largest first, so that none hides a smaller one.
struct ScenePlan {
  std::vector<Outline> crowd;  // many small objects of one shape, which count as one region
  SceneShape crowd_shape = SceneShape::disc;
  std::vector<SceneObject> objects;
};

ScenePlan plan_scene(PhiloxSequence& random, int64_t side);

// Appends the scene's image and objects to the table.
void append_scene(Annotations& table, const ScenePlan& plan, int64_t side);

}  // namespace lockstep
