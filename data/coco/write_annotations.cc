// SPDX-License-Identifier: Apache-2.0
#include "data/coco/write_annotations.h"

#include <nlohmann/json.hpp>

#include "data/coco/rle.h"
#include "graph/file.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

ordered_json of_image(const CocoImage& image) {
  return {{"id", image.id},
          {"file_name", image.file},
          {"height", image.height},
          {"width", image.width}};
}

ordered_json of_category(const CocoCategory& category, const std::vector<double>& sigmas) {
  ordered_json out{{"id", category.id}, {"name", category.name}};
  if (category.keypoints.empty()) return out;
  out["keypoints"] = category.keypoints;
  if (!sigmas.empty()) out["keypoint_sigmas"] = sigmas;
  return out;
}

ordered_json numbers(const std::vector<double>& pool, PoolPart part) {
  ordered_json list = ordered_json::array();
  for (uint32_t i = 0; i < part.count; ++i) list.push_back(pool[part.first + i]);
  return list;
}

ordered_json segmentation(const Annotations& table, const CocoObject& object) {
  if (object.mask >= 0) {
    const RunLengths& mask = table.masks[object.mask];
    return {{"size", {mask.height, mask.width}}, {"counts", encode_run_lengths(mask.counts)}};
  }
  ordered_json polygons = ordered_json::array();
  for (uint32_t i = 0; i < object.polygons.count; ++i)
    polygons.push_back(numbers(table.coordinates, table.polygons[object.polygons.first + i]));
  return polygons;
}

ordered_json of_object(const Annotations& table, const CocoObject& object) {
  ordered_json out{{"id", object.id},
                   {"image_id", table.images[object.image].id},
                   {"category_id", table.categories[object.category].id},
                   {"bbox", object.bbox},
                   {"area", object.area},
                   {"iscrowd", object.crowd ? 1 : 0}};
  if (object.ignore) out["ignore"] = 1;
  if (object.mask >= 0 || object.polygons.count > 0)
    out["segmentation"] = segmentation(table, object);
  if (object.keypoints.count > 0) {
    out["keypoints"] = numbers(table.keypoints, object.keypoints);
    out["num_keypoints"] = object.num_keypoints;
  }
  return out;
}

// Writes one element per line.
template <class Item, class ToJson>
void write_list(const FileSink& sink, const char* name, const std::vector<Item>& items,
                const ToJson& to_json) {
  const auto put = [&](const std::string& text) { sink(std::as_bytes(std::span(text))); };
  put(std::string("\"") + name + "\": [");
  for (std::size_t i = 0; i < items.size(); ++i)
    put((i == 0 ? "\n" : ",\n") +
        to_json(items[i]).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  put("\n]");
}

}  // namespace

void write_annotations(const std::string& path, const Annotations& table) {
  write_file(path, [&](const FileSink& sink) {
    const auto put = [&](std::string_view text) { sink(std::as_bytes(std::span(text))); };
    put("{");
    write_list(sink, "images", table.images, of_image);
    put(",\n");
    write_list(sink, "categories", table.categories, [&](const CocoCategory& category) {
      return of_category(category, table.keypoint_sigmas);
    });
    put(",\n");
    write_list(sink, "annotations", table.objects,
               [&](const CocoObject& object) { return of_object(table, object); });
    put("}\n");
  });
}

}  // namespace lockstep
