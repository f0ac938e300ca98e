// SPDX-License-Identifier: Apache-2.0
#include "app/detection/test_report.h"

#include <algorithm>

#include "app/format.h"
#include "app/report/detections.h"
#include "data/coco/mistakes.h"

namespace lockstep {
namespace {

constexpr std::size_t kScenes = 12;  // pictures that the report shows

void add_counted(NamedNumbers& numbers, const std::string& name, double number) {
  if (number >= 0) numbers.emplace_back(name, number);
}

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
  std::vector<Detection> found;

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

std::string section_of_boxes(const Shown& shown, int64_t iterations) {
  const Annotations& table = shown.truth;
  DetectionTested tested;
  tested.scores = *shown.result.scores;
  tested.objects.resize(table.categories.size());
  for (const CocoCategory& category : table.categories) tested.classes.push_back(category.name);
  for (const CocoObject& object : table.objects)
    if (!object.crowd) ++tested.objects[object.category];
  tested.scenes = shown.scenes({.least_score = tested.least_score});
  const CocoMistakes mistakes =
      find_mistakes(table, shown.found, {.least_score = tested.least_score});
  for (const auto* kind : {&mistakes.wrong, &mistakes.missed})
    for (const CocoMistake& mistake : *kind)
      tested.mistakes.push_back(
          shown_mistake(mistake, table, shown.found, shown.pictures.picture(mistake.image)));
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

std::string section_of(const BoxTestResult& result, const PictureSet& pictures,
                       int64_t iterations) {
  if (!result.scores && !result.proposals) return "";
  const Annotations& all = pictures.annotations();
  const Annotations rest =
      result.left_out.empty() ? Annotations{} : without_objects_of(all, result.left_out);
  const Shown shown{pictures, result.left_out.empty() ? all : rest, result,
                    detections_of(result.found)};
  return result.proposals ? section_of_proposals(shown, iterations)
                          : section_of_boxes(shown, iterations);
}

std::string text_of_number(const NamedNumbers& numbers, const std::string& name) {
  for (const auto& [known, number] : numbers)
    if (known == name) return fixed(number, 3);
  return "-";
}

}  // namespace

ScoreKind score_of_detectors(bool proposals_only) {
  if (proposals_only) return {"ar100", "recall of 100 proposals (AR@100)", "held_out_ar100"};
  return {"ap", "box AP", "held_out_box_ap"};
}

NamedNumbers numbers_of(const BoxTestResult& result) {
  NamedNumbers numbers;
  if (result.scores) {
    const CocoNumbers n = result.scores->numbers();
    for (const auto& [name, number] : {std::pair{"ap", n.ap},
                                       {"ap50", n.ap50},
                                       {"ap75", n.ap75},
                                       {"ap_small", n.ap_small},
                                       {"ap_medium", n.ap_medium},
                                       {"ap_large", n.ap_large},
                                       {"ar1", n.ar1},
                                       {"ar10", n.ar10},
                                       {"ar100", n.ar100},
                                       {"ar_small", n.ar_small},
                                       {"ar_medium", n.ar_medium},
                                       {"ar_large", n.ar_large}})
      add_counted(numbers, name, number);
  }
  if (!result.proposals) return numbers;
  for (const auto& [name, recall] :
       {std::pair{"ar100", result.proposals->at_100}, {"ar1000", result.proposals->at_1000}}) {
    add_counted(numbers, name, recall.average[0]);
    add_counted(numbers, join(name, "_small"), recall.average[1]);
    add_counted(numbers, join(name, "_medium"), recall.average[2]);
    add_counted(numbers, join(name, "_large"), recall.average[3]);
    add_counted(numbers, join(name, "_at_half"), recall.at_half[0]);
  }
  return numbers;
}

HeldOutLine line_of(const BoxTestResult& result) {
  const NamedNumbers numbers = numbers_of(result);
  const auto said = [&](const std::string& name) { return text_of_number(numbers, name); };
  if (result.proposals)
    return {join("AR@100 ", said("ar100")),
            join("AR@1000 ", said("ar1000"), "  recall of 100 at an overlap of 0.5 ",
                 said("ar100_at_half"))};
  return {join("box AP ", said("ap")), join("AP50 ", said("ap50"), "  AP75 ", said("ap75"))};
}

// Complete only on rank 0.
HeldOutTest reported(const BoxTestResult& result, const PictureSet& pictures, int64_t iterations) {
  HeldOutTest test;
  test.numbers = numbers_of(result);
  const ScoreKind kind = score_of_detectors(result.proposals.has_value());
  for (const auto& [name, number] : test.numbers)
    if (name == kind.number) test.score = number;
  const HeldOutLine line = line_of(result);
  test.headline = line.headline;
  test.detail = line.detail;
  test.left_out = result.left_out_texts();
  if (!test.left_out.empty())
    test.detail += join("  without ", test.left_out.size(), " of ",
                        pictures.annotations().images.size(), " pictures");
  test.section = section_of(result, pictures, iterations);
  return test;
}

}  // namespace lockstep
