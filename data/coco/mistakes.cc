// SPDX-License-Identifier: Apache-2.0
#include "data/coco/mistakes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "data/coco/overlaps.h"

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
                const std::vector<Detection>& detections, const OverlapMatrix& overlaps,
                CocoMistakes& to)
      : objects_(truth.objects_of(image)),
        image_(static_cast<int32_t>(image)),
        first_(static_cast<int64_t>(truth.first_object[image])),
        detections_(detections),
        matrix_of_(overlaps),
        to_(to),
        taken_(objects_.size(), false),
        covered_(objects_.size(), false) {}

  // `places` are indices of the image's detections, best first.
  void judge(const std::vector<std::size_t>& places) {
    std::vector<std::size_t> objects(objects_.size());
    std::iota(objects.begin(), objects.end(), static_cast<std::size_t>(first_));
    const std::vector<double> overlaps = matrix_of_(places, objects);
    for (std::size_t i = 0; i < places.size(); ++i)
      judge(places[i], std::span(overlaps).subspan(i * objects.size(), objects.size()));
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!covered_[i] && !objects_[i].crowd && !objects_[i].ignore)
        add({MistakeKind::missed, image_, -1, first_ + static_cast<int64_t>(i), 0});
  }

 private:
  // `overlaps` are by object.
  void judge(std::size_t place, std::span<const double> overlaps) {
    const Detection& detection = detections_[place];
    const auto of_class = [&](std::size_t i) {
      return objects_[i].category == detection.category && !objects_[i].crowd;
    };
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!objects_[i].crowd && overlaps[i] >= kFinds) covered_[i] = true;

    const NearestObject free =
        nearest(overlaps, [&](std::size_t i) { return of_class(i) && !taken_[i]; });
    if (free.overlap >= kFinds) {
      taken_[free.object] = true;
      return;
    }
    const NearestObject crowd = nearest(overlaps, [&](std::size_t i) {
      return objects_[i].category == detection.category && objects_[i].crowd;
    });
    if (crowd.overlap >= kFinds) return;

    const NearestObject same = nearest(overlaps, of_class);
    const NearestObject other = nearest(overlaps, [&](std::size_t i) {
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

  // The object with the largest overlap among objects that `meant` accepts, the first among equals.
  template <class Meant>
  NearestObject nearest(std::span<const double> overlaps, const Meant& meant) const {
    NearestObject best;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const double here = meant(i) ? overlaps[i] : 0;
      if (here > best.overlap) best = {static_cast<int64_t>(i), here};
    }
    return best;
  }

  void add(MistakeKind kind, std::size_t detection, const NearestObject& meant) {
    add({kind, image_, static_cast<int64_t>(detection),
         meant.object < 0 ? -1 : first_ + meant.object, meant.overlap});
  }
  void add(const CocoMistake& mistake) {
    ++to_.counts[static_cast<std::size_t>(mistake.kind)];
    (mistake.kind == MistakeKind::missed ? to_.missed : to_.wrong).push_back(mistake);
  }

  const std::span<const CocoObject> objects_;
  const int32_t image_;
  const int64_t first_;
  const std::vector<Detection>& detections_;
  const OverlapMatrix& matrix_of_;
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

CocoMistakes mistakes_by(const Annotations& truth, const std::vector<Detection>& detections,
                         const OverlapMatrix& overlaps, const MistakeOptions& options) {
  const auto score = [&](std::size_t place) { return detections[place].score; };
  std::vector<std::vector<std::size_t>> of_image(truth.images.size());
  for (std::size_t i = 0; i < detections.size(); ++i)
    if (is_counted(detections[i], options.least_score)) of_image[detections[i].image].push_back(i);
  CocoMistakes mistakes;
  for (std::size_t image = 0; image < of_image.size(); ++image) {
    std::stable_sort(of_image[image].begin(), of_image[image].end(),
                     [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
    MistakenImage(truth, image, detections, overlaps, mistakes).judge(of_image[image]);
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
  return mistakes_by(truth, detections, box_overlaps(truth, detections), options);
}

CocoMistakes find_mask_mistakes(const Annotations& truth, const std::vector<Detection>& detections,
                                const std::vector<RunLengths>& masks,
                                const MistakeOptions& options) {
  check_masks(truth, detections, masks);
  return mistakes_by(truth, detections, mask_overlaps(truth, masks), options);
}

}  // namespace lockstep
