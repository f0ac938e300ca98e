// SPDX-License-Identifier: Apache-2.0
// What a detector got wrong, for people to look at: its surest wrong detections, and the largest
// objects that it missed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/results.h"

namespace lockstep {

enum class MistakeKind {
  background,   // a detection where no object is
  other_class,  // of an object of another class
  badly_placed,
  duplicate,  // of an object that a surer detection has found
  missed      // an object
};
inline constexpr std::size_t kMistakeKinds = 5;
std::string_view name_of(MistakeKind kind);

struct CocoMistake {
  MistakeKind kind = MistakeKind::background;
  int32_t image = 0;       // place in Annotations::images
  int64_t detection = -1;  // place among the detections; -1 for a missed object
  int64_t object = -1;     // place in Annotations::objects: the one meant or missed; -1 for none
  double overlap = 0;      // of the two
};

struct MistakeOptions {
  double least_score = 0.5;  // detections below it are as if they were not there
  std::size_t most = 5;      // of each kind; all are counted
};

struct CocoMistakes {
  std::vector<CocoMistake> wrong;               // the highest score first
  std::vector<CocoMistake> missed;              // the largest object first
  std::array<int64_t, kMistakeKinds> counts{};  // by kind

  int64_t count(MistakeKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
};

// A detection finds an object of its class at an overlap of 0.5. One that finds none is no mistake
// in a crowd of its class. Objects that any detection covers so far are not missed, nor are crowds
// and those that the file says to ignore.
CocoMistakes find_mistakes(const Annotations& truth, const std::vector<Detection>& detections,
                           const MistakeOptions& options = {});

}  // namespace lockstep
