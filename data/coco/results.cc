// SPDX-License-Identifier: Apache-2.0
#include "data/coco/results.h"

#include <cmath>
#include <unordered_map>

#include "data/coco/elements.h"
#include "data/coco/fields.h"
#include "graph/file.h"

namespace lockstep {

using nlohmann::ordered_json;

void write_results(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections) {
  write_file(path, [&](const FileSink& sink) {
    const auto put = [&](std::string_view text) { sink(std::as_bytes(std::span(text))); };
    put("[");
    for (std::size_t i = 0; i < detections.size(); ++i) {
      const Detection& each = detections[i];
      const ordered_json out{{"image_id", of.images[each.image].id},
                             {"category_id", of.categories[each.category].id},
                             {"bbox", each.bbox},
                             {"score", each.score}};
      put(i == 0 ? "\n" : ",\n");
      put(out.dump());
    }
    put("\n]\n");
  });
}

std::vector<Detection> read_results(const std::string& path, const Annotations& of) {
  std::unordered_map<int64_t, int32_t> images, categories;
  for (std::size_t i = 0; i < of.images.size(); ++i)
    images.emplace(of.images[i].id, static_cast<int32_t>(i));
  for (std::size_t i = 0; i < of.categories.size(); ++i)
    categories.emplace(of.categories[i].id, static_cast<int32_t>(i));
  std::vector<Detection> detections;
  for_each_element(path, [&](const std::string& section, const nlohmann::json& element) {
    const Fields fields(element, join("result ", detections.size()));
    if (!section.empty())
      fields.refuse("is in '", section, "'; a file of results should be one list");
    Detection detection;
    const auto place = [&](const auto& known, const char* key, const char* what) {
      const int64_t id = fields.integer(key, std::numeric_limits<int64_t>::min());
      const auto found = known.find(id);
      if (found == known.end())
        fields.refuse("'", key, "' is ", id, ", but ", of.path, " has no such ", what,
                      "; are these results of another data set?");
      return found->second;
    };
    detection.image = place(images, "image_id", "image");
    detection.category = place(categories, "category_id", "category");
    detection.bbox = fields.box("bbox");
    detection.score = fields.number("score");
    detections.push_back(detection);
  });
  return detections;
}

}  // namespace lockstep
