// SPDX-License-Identifier: Apache-2.0
#include "data/coco/mistakes.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "data/coco/overlap.h"

namespace lockstep {
namespace {

constexpr double kFinds = 0.5, kTouches = 0.1;

// An object and its overlap with a detection.
struct NearestObject {
  int64_t object = -1;
  double overlap = 0;
};

// Judges the detections of one image.
class MistakenImage {
 public:
  MistakenImage(const Annotations& truth, std::size_t image,
                const std::vector<Detection>& detections, CocoMistakes& to)
      : objects_(truth.objects_of(image)),
        image_(static_cast<int32_t>(image)),
        first_(static_cast<int64_t>(truth.first_object[image])),
        detections_(detections),
        to_(to),
        taken_(objects_.size(), false),
        covered_(objects_.size(), false) {}

  // `places` are indices of the image's detections, best first.
  void judge(const std::vector<int64_t>& places) {
    for (int64_t place : places) judge(place);
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!covered_[i] && !objects_[i].crowd && !objects_[i].ignore)
        add({MistakeKind::missed, image_, -1, first_ + static_cast<int64_t>(i), 0});
  }

 private:
  void judge(int64_t place) {
    const Detection& detection = detections_[place];
    const auto of_class = [&](std::size_t i) {
      return objects_[i].category == detection.category && !objects_[i].crowd;
    };
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!objects_[i].crowd && overlap_with(detection, i) >= kFinds) covered_[i] = true;

    const NearestObject free =
        nearest(detection, [&](std::size_t i) { return of_class(i) && !taken_[i]; });
    if (free.overlap >= kFinds) {
      taken_[free.object] = true;
      return;
    }
    const NearestObject crowd = nearest(detection, [&](std::size_t i) {
      return objects_[i].category == detection.category && objects_[i].crowd;
    });
    if (crowd.overlap >= kFinds) return;

    const NearestObject same = nearest(detection, of_class);
    const NearestObject other = nearest(detection, [&](std::size_t i) {
      return objects_[i].category != detection.category && !objects_[i].crowd;
    });
    if (same.overlap >= kFinds)
      add(MistakeKind::duplicate, place, same);
    else if (other.overlap >= kFinds)
      add(MistakeKind::other_class, place, other);
    else if (same.overlap >= kTouches)
      add(MistakeKind::badly_placed, place, same);
    else
      add(MistakeKind::background, place, {});
  }

  double overlap_with(const Detection& detection, std::size_t i) const {
    return overlap(detection.bbox, objects_[i].bbox, objects_[i].crowd);
  }

  // The object with the largest overlap among objects that `meant` accepts, the first among equals.
  template <class Meant>
  NearestObject nearest(const Detection& detection, const Meant& meant) const {
    NearestObject best;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const double here = meant(i) ? overlap_with(detection, i) : 0;
      if (here > best.overlap) best = {static_cast<int64_t>(i), here};
    }
    return best;
  }

  void add(MistakeKind kind, int64_t detection, const NearestObject& meant) {
    add({kind, image_, detection, meant.object < 0 ? -1 : first_ + meant.object, meant.overlap});
  }
  void add(const CocoMistake& mistake) {
    ++to_.counts[static_cast<std::size_t>(mistake.kind)];
    (mistake.kind == MistakeKind::missed ? to_.missed : to_.wrong).push_back(mistake);
  }

  const std::span<const CocoObject> objects_;
  const int32_t image_;
  const int64_t first_;
  const std::vector<Detection>& detections_;
  CocoMistakes& to_;
  std::vector<bool> taken_, covered_;
};

bool is_counted(const Detection& detection, double least_score) {
  return detection.score >= least_score &&
         std::all_of(detection.bbox.begin(), detection.bbox.end(),
                     [](double each) { return std::isfinite(each); });
}

// Keeps the first `most` mistakes of each kind.
void keep_first(std::vector<CocoMistake>& mistakes, std::size_t most) {
  std::array<std::size_t, kMistakeKinds> kept{};
  std::erase_if(mistakes, [&](const CocoMistake& mistake) {
    return ++kept[static_cast<std::size_t>(mistake.kind)] > most;
  });
}

}  // namespace

std::string_view name_of(MistakeKind kind) {
  switch (kind) {
    case MistakeKind::background:
      return "no object there";
    case MistakeKind::other_class:
      return "object of another class";
    case MistakeKind::badly_placed:
      return "badly placed";
    case MistakeKind::duplicate:
      return "found already";
    case MistakeKind::missed:
      return "object missed";
  }
  return "";
}

CocoMistakes find_mistakes(const Annotations& truth, const std::vector<Detection>& detections,
                           const MistakeOptions& options) {
  const auto score = [&](int64_t place) { return detections[place].score; };
  std::vector<std::vector<int64_t>> of_image(truth.images.size());
  for (std::size_t i = 0; i < detections.size(); ++i)
    if (is_counted(detections[i], options.least_score))
      of_image[detections[i].image].push_back(static_cast<int64_t>(i));
  CocoMistakes mistakes;
  for (std::size_t image = 0; image < of_image.size(); ++image) {
    std::stable_sort(of_image[image].begin(), of_image[image].end(),
                     [&](int64_t a, int64_t b) { return score(a) > score(b); });
    MistakenImage(truth, image, detections, mistakes).judge(of_image[image]);
  }

  // Among equal scores, mistakes keep the order of images.
  std::stable_sort(mistakes.wrong.begin(), mistakes.wrong.end(),
                   [&](const CocoMistake& a, const CocoMistake& b) {
                     return score(a.detection) > score(b.detection);
                   });
  const auto size = [&](const CocoMistake& mistake) { return truth.objects[mistake.object].area; };
  std::stable_sort(mistakes.missed.begin(), mistakes.missed.end(),
                   [&](const CocoMistake& a, const CocoMistake& b) { return size(a) > size(b); });
  keep_first(mistakes.wrong, options.most);
  keep_first(mistakes.missed, options.most);
  return mistakes;
}

}  // namespace lockstep
