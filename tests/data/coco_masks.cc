// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_masks.py.
//   coco_masks FOLDER   reads FOLDER/cases.json, a list of {"size": [height, width],
//                       "polygons": [[x, y, ..], ..], "bitmaps": ["0110..", ..], "crowd": [0, ..]},
//                       and FOLDER/truth.json, annotations; writes FOLDER/masks.json: for each case
//                       the masks of the polygons, the masks of the bitmaps and all that is
//                       computed from them; for each annotation its mask and the mask of its rings
#include <iostream>
#include <nlohmann/json.hpp>

#include "data/coco/mask_overlap.h"
#include "data/coco/masks.h"
#include "data/coco/read_annotations.h"
#include "data/coco/rle.h"
#include "data/detection/rings_of.h"
#include "graph/file.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

using nlohmann::json;

std::string text_of(const RunLengths& mask) { return encode_run_lengths(mask.counts); }

json texts_of(const std::vector<RunLengths>& masks) {
  json texts = json::array();
  for (const RunLengths& mask : masks) texts.push_back(text_of(mask));
  return texts;
}

// The strings go through the reader of strings, too.
RunLengths read_back(const RunLengths& mask) {
  return {mask.height, mask.width, decode_run_lengths(text_of(mask))};
}

json computed(const std::vector<RunLengths>& masks, const std::vector<bool>& crowd) {
  json out{{"masks", texts_of(masks)},
           {"joined", text_of(joined(masks))},
           {"common", text_of(common(masks))},
           {"overlaps", overlaps(masks, masks, crowd)}};
  for (const RunLengths& mask : masks) {
    out["areas"].push_back(area_of(mask));
    out["boxes"].push_back(box_of(mask));
    out["mirrored"].push_back(text_of(mirrored(mask)));
    std::string bitmap;
    for (uint8_t pixel : bitmap_of(mask)) bitmap.push_back(static_cast<char>('0' + pixel));
    out["bitmaps"].push_back(bitmap);
    out["rings"].push_back(text_of(mask_of(rings_of(mask), mask.height, mask.width)));
  }
  return out;
}

json result_of(const json& c) {
  const int64_t height = c.at("size").at(0), width = c.at("size").at(1);
  std::vector<RunLengths> polygons, bitmaps;
  for (const json& polygon : c.at("polygons"))
    polygons.push_back(mask_of(polygon.get<std::vector<double>>(), height, width));
  for (const json& text : c.at("bitmaps")) {
    std::vector<uint8_t> bitmap;
    for (char pixel : text.get<std::string>()) bitmap.push_back(pixel == '1');
    bitmaps.push_back(read_back(mask_of_bitmap(bitmap, height, width)));
  }
  std::vector<bool> crowd;
  for (const json& flag : c.at("crowd")) crowd.push_back(flag == 1);
  return {{"polygons", texts_of(polygons)}, {"bitmaps", computed(bitmaps, crowd)}};
}

int run(const std::vector<std::string>& words) {
  check(words.size() == 1, "coco_masks FOLDER");
  json out{{"cases", json::array()}, {"objects", json::object()}};
  for (const json& c : json::parse(read_file(words[0] + "/cases.json")))
    out["cases"].push_back(result_of(c));
  const Annotations truth = read_annotations(words[0] + "/truth.json");
  for (const CocoObject& object : truth.objects) {
    const RunLengths mask = mask_of(truth, object);
    const RunLengths drawn = mask_of(rings_of(truth, object), mask.height, mask.width);
    out["objects"][std::to_string(object.id)] = {text_of(mask), text_of(drawn)};
  }
  write_file(words[0] + "/masks.json", out.dump());
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run);
}
