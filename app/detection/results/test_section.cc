// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/test_section.h"

#include "app/report/detections.h"
#include "data/coco/mistakes.h"

namespace lockstep {
namespace {

constexpr std::size_t kScenes = 12;  // pictures that the report shows

// Pictures with objects, from the first on. Pictures without objects are used if there are too few.
std::vector<std::size_t> shown_pictures(const Annotations& table, const BoxTestResult& result) {
  std::vector<std::size_t> some, empty;
  for (std::size_t i = 0; i < table.images.size() && some.size() < kScenes; ++i)
    if (result.left_out.count(i) == 0) (table.objects_of(i).empty() ? empty : some).push_back(i);
  for (std::size_t i : empty)
    if (some.size() < kScenes) some.push_back(i);
  return some;
}

// A test and the pictures to show.
struct Shown {
  const PictureSet& pictures;
  const Annotations& truth;  // of the pictures that were tested
  const BoxTestResult& result;
  ShownDetections found;

  int64_t tested() const {
    return static_cast<int64_t>(truth.images.size() - result.left_out.size());
  }
  std::vector<ShownScene> scenes(const ShownOptions& options) const {
    std::vector<ShownScene> scenes;
    for (std::size_t i : shown_pictures(truth, result))
      scenes.push_back(shown_scene(truth, i, found, pictures.picture(i), options));
    return scenes;
  }
};

CocoMistakes mistakes_of(const Shown& shown, const MistakeOptions& options) {
  const auto& [boxes, shapes] = shown.found;
  return shown.result.mask_scores ? find_mask_mistakes(shown.truth, boxes, shapes.masks, options)
                                  : find_mistakes(shown.truth, boxes, options);
}

std::string section_of_boxes(const Shown& shown, int64_t iterations) {
  const Annotations& table = shown.truth;
  DetectionTested tested;
  tested.scores = *shown.result.scores;
  tested.mask_scores = shown.result.mask_scores;
  tested.keypoint_scores = shown.result.keypoint_scores;
  tested.objects.resize(table.categories.size());
  for (const CocoCategory& category : table.categories) tested.classes.push_back(category.name);
  for (const CocoObject& object : table.objects)
    if (!object.crowd) ++tested.objects[object.category];
  const ShownOptions options{.least_score = tested.least_score,
                             .masks = tested.mask_scores.has_value(),
                             .keypoints = tested.keypoint_scores.has_value()};
  tested.scenes = shown.scenes(options);
  const CocoMistakes mistakes = mistakes_of(shown, {.least_score = tested.least_score});
  for (const auto* kind : {&mistakes.wrong, &mistakes.missed})
    for (const CocoMistake& mistake : *kind)
      tested.mistakes.push_back(shown_mistake(mistake, table, shown.found,
                                              shown.pictures.picture(mistake.image), options));
  tested.mistake_counts = mistakes.counts;
  tested.iteration = iterations;
  tested.pictures = shown.tested();
  return html_of(tested);
}

std::string section_of_proposals(const Shown& shown, int64_t iterations) {
  ProposalsTested tested;
  tested.few = shown.result.proposals->at_100;
  tested.many = shown.result.proposals->at_1000;
  tested.scenes = shown.scenes({.least_score = 0, .most = 10, .classes = false});
  tested.iteration = iterations;
  tested.pictures = shown.tested();
  return html_of(tested);
}

}  // namespace

std::string section_of(const BoxTestResult& result, const PictureSet& pictures,
                       int64_t iterations) {
  if (!result.scores && !result.proposals) return "";
  const Annotations& all = pictures.annotations();
  const Annotations rest =
      result.left_out.empty() ? Annotations{} : without_objects_of(all, result.left_out);
  const Shown shown{pictures,
                    result.left_out.empty() ? all : rest,
                    result,
                    {detections_of(result.found), shapes_of(result.found)}};
  return result.proposals ? section_of_proposals(shown, iterations)
                          : section_of_boxes(shown, iterations);
}

}  // namespace lockstep
