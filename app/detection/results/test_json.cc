// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/test_json.h"

#include <utility>

#include "app/detection/results/test_report.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

void add_precision(ordered_json& of_class, const std::string& prefix,
                   const std::optional<CocoScores>& scores, std::size_t category) {
  if (!scores) return;
  of_class[prefix + "ap"] = scores->average_precision(0, category);
  of_class[prefix + "ap50"] = scores->average_precision_at(0, category);
}

}  // namespace

ordered_json json_of(const BoxTestResult& result, const Annotations& table) {
  ordered_json said{{"pictures", table.images.size() - result.left_out.size()}};
  if (!result.left_out.empty()) said["left_out"] = result.left_out_texts();
  for (const auto& [name, number] : numbers_of(result)) said[name] = number;
  if (!result.scores) return said;
  for (std::size_t i = 0; i < table.categories.size(); ++i) {
    ordered_json of_class{{"name", table.categories[i].name}};
    add_precision(of_class, "", result.scores, i);
    add_precision(of_class, "mask_", result.mask_scores, i);
    add_precision(of_class, "keypoint_", result.keypoint_scores, i);
    if (result.voc) {
      of_class["voc_ap"] = result.voc->area[i];
      of_class["voc07_ap"] = result.voc->eleven_points[i];
    }
    said["classes"].push_back(std::move(of_class));
  }
  return said;
}

}  // namespace lockstep
