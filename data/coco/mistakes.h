// SPDX-License-Identifier: Apache-2.0
// Finds a detector's mistakes for people to look at: wrong detections with the highest scores, and
// the largest missed objects.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/coco/annotations.h"
#include "data/coco/results.h"

namespace lockstep {

enum class MistakeKind {
  background,   // a detection without an object
  other_class,  // a detection of an object of another class
  badly_placed,
  duplicate,  // a detection of an object that another detection with a higher score has found
  missed      // an object without a detection
};
inline constexpr std::size_t kMistakeKinds = 5;
std::string_view name_of(MistakeKind kind);

struct CocoMistake {
  MistakeKind kind = MistakeKind::background;
  int32_t image = 0;       // index in Annotations::images
  int64_t detection = -1;  // index of the detection; -1 for a missed object
  int64_t object = -1;  // index in Annotations::objects of the meant or missed object; -1 for none
  double overlap = 0;   // overlap of detection and object
};

struct MistakeOptions {
  double least_score = 0.5;  // detections with lower scores are ignored
  std::size_t most = 5;      // listed mistakes of each kind; `counts` counts all
};

struct CocoMistakes {
  std::vector<CocoMistake> wrong;               // highest score first
  std::vector<CocoMistake> missed;              // largest object first
  std::array<int64_t, kMistakeKinds> counts{};  // by kind

  int64_t count(MistakeKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
};

// A detection finds an object of its class at an overlap of at least 0.5. A detection in a crowd of
// its class is no mistake. An object is not missed if a detection of any class overlaps by at least
// 0.5, if it is a crowd, or if the file marks it as ignored.
CocoMistakes find_mistakes(const Annotations& truth, const std::vector<Detection>& detections,
                           const MistakeOptions& options = {});

// Compares masks, one for each detection, instead of boxes: a detection with a good box and a bad
// mask is a mistake. Throws as evaluate_masks.
CocoMistakes find_mask_mistakes(const Annotations& truth, const std::vector<Detection>& detections,
                                const std::vector<RunLengths>& masks,
                                const MistakeOptions& options = {});

}  // namespace lockstep
