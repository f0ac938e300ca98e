#include "tools/detection/test_report.h"

#include <algorithm>

#include "data/coco/mistakes.h"
#include "tools/report/detections.h"
#include "tools/texts.h"

namespace lockstep {
namespace {

constexpr std::size_t kScenes = 12;  // pictures that the report shows

void add_counted(NamedNumbers& numbers, const std::string& name, double number) {
  if (number >= 0) numbers.emplace_back(name, number);
}

// Pictures with objects, from the first on; others only where there are too few.
std::vector<std::size_t> shown_pictures(const Annotations& table) {
  std::vector<std::size_t> some, empty;
  for (std::size_t i = 0; i < table.images.size() && some.size() < kScenes; ++i)
    (table.objects_of(i).empty() ? empty : some).push_back(i);
  for (std::size_t i : empty)
    if (some.size() < kScenes) some.push_back(i);
  return some;
}

std::vector<ShownScene> scenes_of(const PictureSet& pictures, const std::vector<Detection>& found,
                                  const ShownOptions& options) {
  const Annotations& table = pictures.annotations();
  std::vector<ShownScene> scenes;
  for (std::size_t i : shown_pictures(table))
    scenes.push_back(shown_scene(table, i, found, pictures.picture(i), options));
  return scenes;
}

std::string section_of_boxes(const CocoScores& scores, const std::vector<Detection>& found,
                             const PictureSet& pictures, int64_t iterations) {
  const Annotations& table = pictures.annotations();
  DetectionTested tested;
  tested.scores = scores;
  tested.objects.resize(table.categories.size());
  for (const CocoCategory& category : table.categories) tested.classes.push_back(category.name);
  for (const CocoObject& object : table.objects)
    if (!object.crowd) ++tested.objects[static_cast<std::size_t>(object.category)];
  tested.scenes = scenes_of(pictures, found, {.least_score = tested.least_score});
  const CocoMistakes mistakes = find_mistakes(table, found, {.least_score = tested.least_score});
  for (const auto* kind : {&mistakes.wrong, &mistakes.missed})
    for (const CocoMistake& mistake : *kind)
      tested.mistakes.push_back(shown_mistake(
          mistake, table, found, pictures.picture(static_cast<std::size_t>(mistake.image))));
  tested.mistake_counts = mistakes.counts;
  tested.iteration = iterations;
  tested.pictures = static_cast<int64_t>(table.images.size());
  return html_of(tested);
}

std::string section_of_proposals(const ProposalScores& scores, const std::vector<Detection>& found,
                                 const PictureSet& pictures, int64_t iterations) {
  ProposalsTested tested;
  tested.few = scores.at_100;
  tested.many = scores.at_1000;
  tested.scenes = scenes_of(pictures, found, {.least_score = 0, .most = 10, .classes = false});
  tested.iteration = iterations;
  tested.pictures = static_cast<int64_t>(pictures.annotations().images.size());
  return html_of(tested);
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

// Complete on rank 0 alone.
HeldOutTest reported(const BoxTestResult& result, const PictureSet& pictures, int64_t iterations) {
  HeldOutTest test;
  test.numbers = numbers_of(result);
  const ScoreKind kind = score_of_detectors(result.proposals.has_value());
  for (const auto& [name, number] : test.numbers)
    if (name == kind.number) test.score = number;
  const HeldOutLine line = line_of(result);
  test.headline = line.headline;
  test.detail = line.detail;
  const std::vector<Detection> found = detections_of(result.found);
  if (result.proposals)
    test.section = section_of_proposals(*result.proposals, found, pictures, iterations);
  else if (result.scores)
    test.section = section_of_boxes(*result.scores, found, pictures, iterations);
  return test;
}

}  // namespace lockstep
