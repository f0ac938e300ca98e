// SPDX-License-Identifier: Apache-2.0
// Places the objects of a scene.
#pragma once

#include "data/coco/annotations.h"
#include "data/scenes/outline.h"
#include "lockstep/random.h"

namespace lockstep {

struct SceneObject {
  SceneShape shape = SceneShape::disc;
  Outline outline;
};

// The plan of a scene. Objects are drawn in order, the largest first, so that no object hides a
// smaller object completely.
struct ScenePlan {
  std::vector<Outline> crowd;  // many small objects of one shape, annotated as one region
  SceneShape crowd_shape = SceneShape::disc;
  std::vector<SceneObject> objects;
};

ScenePlan plan_scene(PhiloxSequence& random, int64_t side);

// Appends the scene's image and objects to the table.
void append_scene(Annotations& table, const ScenePlan& plan, int64_t side);

}  // namespace lockstep
