// SPDX-License-Identifier: Apache-2.0
#include "data/coco/evaluation.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "data/coco/category_scores.h"
#include "data/coco/keypoints.h"
#include "data/coco/overlap.h"
#include "data/coco/overlaps.h"
#include "data/coco/rle.h"
#include "lockstep/error.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// The parts in which boxes, masks and keypoints differ.
struct ScoredShapes {
  const CocoRules& rules;
  OverlapMatrix overlaps;
  std::function<double(std::size_t detection)> area;
  std::function<bool(const CocoObject&)> ignored;
};

bool is_crowd(const CocoObject& object) { return object.crowd; }
bool has_mask(const CocoObject& object) { return object.mask >= 0 || object.polygons.count > 0; }

// Collects the objects and detections of each image by category.
class ImageGroups {
 public:
  ImageGroups(const Annotations& truth, const std::vector<Detection>& detections,
              const ScoredShapes& shapes)
      : truth_(truth), detections_(detections), shapes_(shapes) {}

  // `found` are places of the image's detections. Returns groups by ascending category.
  std::vector<ScoredGroup> of(std::size_t image, std::vector<std::size_t> found) const {
    std::vector<std::size_t> objects(truth_.objects_of(image).size());
    std::iota(objects.begin(), objects.end(), truth_.first_object[image]);
    std::stable_sort(objects.begin(), objects.end(), [&](std::size_t a, std::size_t b) {
      return truth_.objects[a].category < truth_.objects[b].category;
    });
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
      const Detection &one = detections_[a], &other = detections_[b];
      return one.category != other.category ? one.category < other.category
                                            : one.score > other.score;
    });
    std::vector<ScoredGroup> groups;
    for (std::size_t o = 0, d = 0; o < objects.size() || d < found.size();) {
      int32_t category = std::numeric_limits<int32_t>::max();
      if (o < objects.size()) category = truth_.objects[objects[o]].category;
      if (d < found.size()) category = std::min(category, detections_[found[d]].category);
      const std::size_t first_object = o, first_found = d;
      while (o < objects.size() && truth_.objects[objects[o]].category == category) ++o;
      while (d < found.size() && detections_[found[d]].category == category) ++d;
      const std::size_t counted = std::min(d - first_found, shapes_.rules.limits.back());
      groups.push_back(group(category, Places(found).subspan(first_found, counted),
                             Places(objects).subspan(first_object, o - first_object)));
    }
    return groups;
  }

 private:
  ScoredGroup group(int32_t category, Places found, Places objects) const {
    ScoredGroup group;
    group.category = category;
    for (const std::size_t place : objects) {
      const CocoObject& object = truth_.objects[place];
      group.objects.push_back({object.area, object.crowd, shapes_.ignored(object)});
    }
    for (const std::size_t place : found)
      group.detections.push_back({detections_[place].score, shapes_.area(place)});
    group.overlaps = shapes_.overlaps(found, objects);
    return group;
  }

  const Annotations& truth_;
  const std::vector<Detection>& detections_;
  const ScoredShapes& shapes_;
};

// Images by ascending id, as in pycocotools. Joined sets may have an id twice, for different
// images.
std::vector<std::size_t> images_by_id(const Annotations& truth) {
  std::vector<std::size_t> images(truth.images.size());
  std::iota(images.begin(), images.end(), std::size_t{0});
  std::stable_sort(images.begin(), images.end(), [&](std::size_t a, std::size_t b) {
    return truth.images[a].id < truth.images[b].id;
  });
  return images;
}

// Scores the detections at `places`, in ascending order.
CocoScores evaluate(const Annotations& truth, const std::vector<Detection>& detections,
                    Places places, const ScoredShapes& shapes, int threads) {
  std::vector<std::vector<std::size_t>> of_image(truth.images.size());
  for (const std::size_t place : places) of_image[detections[place].image].push_back(place);
  const ImageGroups groups_of(truth, detections, shapes);
  std::vector<std::vector<ScoredGroup>> groups(of_image.size());
  parallel_for(static_cast<int64_t>(groups.size()), 1, threads, [&](int64_t begin, int64_t end) {
    for (std::size_t image = begin; image < static_cast<std::size_t>(end); ++image)
      groups[image] = groups_of.of(image, std::move(of_image[image]));
  });

  std::vector<std::vector<const ScoredGroup*>> of_category(truth.categories.size());
  for (const std::size_t image : images_by_id(truth))
    for (const ScoredGroup& group : groups[image]) of_category[group.category].push_back(&group);
  CocoScores scores(of_category.size(), shapes.rules);
  const std::size_t areas = shapes.rules.areas.size();
  parallel_for(static_cast<int64_t>(of_category.size() * areas), 1, threads,
               [&](int64_t begin, int64_t end) {
                 for (std::size_t i = begin; i < static_cast<std::size_t>(end); ++i)
                   score_category(scores, i / areas, i % areas, of_category[i / areas]);
               });
  return scores;
}

std::vector<std::size_t> all_places(std::size_t count) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

void check_points(const Annotations& truth, const std::vector<std::vector<float>>& keypoints,
                  const std::vector<double>& sigmas) {
  check_sigmas(sigmas);
  for (const CocoCategory& category : truth.categories)
    check(category.keypoints.empty() || category.keypoints.size() == sigmas.size(), truth.path,
          ": category '", category.name, "' has ", category.keypoints.size(),
          " keypoints, but there are ", sigmas.size(), " sigmas");
  for (const CocoObject& object : truth.objects)
    check(object.keypoints.count == 0 || object.keypoints.count == 3 * sigmas.size(), truth.path,
          ": annotation ", object.id, " has ", object.keypoints.count / 3,
          " keypoints, but there are ", sigmas.size(), " sigmas");
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    check(keypoints[i].empty() || keypoints[i].size() == 3 * sigmas.size(), "detection ", i,
          " has ", keypoints[i].size(), " numbers of keypoints, should have 3 for each of ",
          sigmas.size(), " points");
}

}  // namespace

CocoScores evaluate_boxes(const Annotations& truth, const std::vector<Detection>& detections,
                          int threads) {
  const auto area = [&](std::size_t place) { return area_of(detections[place].bbox); };
  return evaluate(truth, detections, all_places(detections.size()),
                  {coco_box_rules(), box_overlaps(truth, detections), area, is_crowd}, threads);
}

CocoScores evaluate_masks(const Annotations& truth, const std::vector<Detection>& detections,
                          const std::vector<RunLengths>& masks, int threads) {
  check_masks(truth, detections, masks);
  check(truth.objects.empty() || std::any_of(truth.objects.begin(), truth.objects.end(), has_mask),
        truth.path, ": no annotation has a 'segmentation' to compare masks with");
  const auto area = [&](std::size_t place) { return static_cast<double>(area_of(masks[place])); };
  return evaluate(truth, detections, all_places(detections.size()),
                  {coco_box_rules(), mask_overlaps(truth, masks), area, is_crowd}, threads);
}

CocoScores evaluate_keypoints(const Annotations& truth, const std::vector<Detection>& detections,
                              const std::vector<std::vector<float>>& keypoints,
                              const std::vector<double>& sigmas, int threads) {
  check(keypoints.size() == detections.size(), "keypoints of ", keypoints.size(),
        " detections for ", detections.size(), " detections");
  check_points(truth, keypoints, sigmas);
  std::vector<std::size_t> with_points = all_places(detections.size());
  std::erase_if(with_points, [&](std::size_t place) { return keypoints[place].empty(); });
  const auto area = [&](std::size_t place) { return area_of(box_around(keypoints[place])); };
  const auto ignored = [](const CocoObject& object) {
    return object.crowd || object.num_keypoints == 0;
  };
  return evaluate(
      truth, detections, with_points,
      {coco_keypoint_rules(), keypoint_overlaps(truth, keypoints, sigmas), area, ignored}, threads);
}

}  // namespace lockstep
