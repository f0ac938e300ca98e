// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/test_report.h"

#include "app/detection/results/test_section.h"
#include "app/format.h"

namespace lockstep {
namespace {

void add_counted(NamedNumbers& numbers, const std::string& name, double number) {
  if (number >= 0) numbers.emplace_back(name, number);
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
  for (const auto& [prefix, scores] : {std::pair{"", &result.scores},
                                       {"mask_", &result.mask_scores},
                                       {"keypoint_", &result.keypoint_scores}})
    if (*scores)
      for (const auto& [name, number] : (*scores)->named_numbers())
        add_counted(numbers, join(prefix, name), number);
  if (result.voc) {
    add_counted(numbers, "voc_ap", VocScores::mean(result.voc->area));
    add_counted(numbers, "voc07_ap", VocScores::mean(result.voc->eleven_points));
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
  std::string detail = join("AP50 ", said("ap50"), "  AP75 ", said("ap75"));
  if (result.mask_scores) detail += join("  mask AP ", said("mask_ap"));
  if (result.keypoint_scores) detail += join("  keypoint AP ", said("keypoint_ap"));
  if (result.voc) detail += join("  VOC AP ", said("voc_ap"), "  of 11 points ", said("voc07_ap"));
  return {join("box AP ", said("ap")), detail};
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
