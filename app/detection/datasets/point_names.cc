// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/point_names.h"

#include <nlohmann/json.hpp>

namespace lockstep {

PointNames point_names_of(const Annotations& table) {
  PointNames names;
  for (const CocoCategory& category : table.categories)
    if (!category.keypoints.empty()) names.emplace_back(category.name, category.keypoints);
  return names;
}

std::string metadata_of(const PointNames& names) {
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  for (const auto& [kind, points] : names) said[kind] = points;
  return said.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

PointNames point_names_in(const TrainingModel& network) {
  PointNames names;
  const auto said = network.metadata.find(kPointNames);
  if (said == network.metadata.end()) return names;
  const auto classes = nlohmann::ordered_json::parse(said->second, nullptr, false);
  if (!classes.is_object()) return names;
  for (const auto& [kind, points] : classes.items()) {
    std::vector<std::string> of_class;
    for (const auto& point : points)
      if (point.is_string()) of_class.push_back(point);
    names.emplace_back(kind, of_class);
  }
  return names;
}

}  // namespace lockstep
