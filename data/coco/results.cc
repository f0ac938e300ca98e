// SPDX-License-Identifier: Apache-2.0
#include "data/coco/results.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "data/coco/elements.h"
#include "data/coco/fields.h"
#include "data/coco/mask_overlap.h"
#include "data/coco/read_shapes.h"
#include "data/coco/rle.h"
#include "graph/file.h"

namespace lockstep {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char *kMask = "segmentation", *kPoints = "keypoints";

// Writes the detections that `has` accepts, one per line. `shape` gives a detection's field `key`.
void write_list_of(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections, const char* key,
                   const std::function<bool(std::size_t)>& has,
                   const std::function<ordered_json(std::size_t)>& shape) {
  write_file(path, [&](const FileSink& sink) {
    const auto put = [&](std::string_view text) { sink(std::as_bytes(std::span(text))); };
    put("[");
    bool first = true;
    for (std::size_t i = 0; i < detections.size(); ++i) {
      if (!has(i)) continue;
      const Detection& each = detections[i];
      const ordered_json out{{"image_id", of.images[each.image].id},
                             {"category_id", of.categories[each.category].id},
                             {key, shape(i)},
                             {"score", each.score}};
      put(first ? "\n" : ",\n");
      put(out.dump());
      first = false;
    }
    put("\n]\n");
  });
}

class ResultReader {
 public:
  ResultReader(const Annotations& of, FoundShapes& shapes) : of_(of), shapes_(shapes) {
    shapes_ = {};
    for (std::size_t i = 0; i < of.images.size(); ++i)
      images_.emplace(of.images[i].id, static_cast<int32_t>(i));
    for (std::size_t i = 0; i < of.categories.size(); ++i)
      categories_.emplace(of.categories[i].id, static_cast<int32_t>(i));
  }

  void take(const std::string& section, const json& element) {
    const Fields fields(element, join("result ", detections_.size()));
    if (!section.empty())
      fields.refuse("is in '", section, "'; a file of results should be one list");
    Detection detection;
    detection.image = place(fields, images_, "image_id", "image");
    detection.category = place(fields, categories_, "category_id", "category");
    const bool has_mask = has(fields, kMask, has_masks_),
               has_points = has(fields, kPoints, has_points_);
    if (has_mask) take_mask(fields, detection);
    if (has_points) take_points(fields, detection);
    if ((!has_mask && !has_points) || fields.has("bbox")) detection.bbox = fields.box("bbox");
    detection.score = fields.number("score");
    detections_.push_back(detection);
  }

  std::vector<Detection> finish() { return std::move(detections_); }

 private:
  int32_t place(const Fields& fields, const std::unordered_map<int64_t, int32_t>& known,
                const char* key, const char* what) const {
    const int64_t id = fields.integer(key, std::numeric_limits<int64_t>::min());
    const auto found = known.find(id);
    if (found == known.end())
      fields.refuse("'", key, "' is ", id, ", but ", of_.path, " has no such ", what,
                    "; are these results of another data set?");
    return found->second;
  }

  // All elements have the shape, or none has.
  bool has(const Fields& fields, const char* key, bool& known) const {
    const bool has = fields.has(key);
    if (detections_.empty()) known = has;
    if (has != known)
      fields.refuse("has ", has ? "a" : "no", " '", key, "', but result 0 has ",
                    known ? "one" : "none");
    return has;
  }

  void take_mask(const Fields& fields, Detection& detection) {
    if (!fields.at(kMask).is_object())
      fields.refuse("'", kMask, "' is ", brief(fields.at(kMask)),
                    ", should be run lengths: {\"size\": [height, width], \"counts\": ..}");
    RunLengths runs = read_run_lengths(fields, kMask);
    const CocoImage& image = of_.images[detection.image];
    if (runs.height != image.height || runs.width != image.width)
      fields.refuse("'", kMask, "' is a mask of ", runs.height, " x ", runs.width, ", but image ",
                    image.id, " is ", image.height, " high and ", image.width, " wide");
    detection.bbox = box_of(runs);
    shapes_.masks.push_back(std::move(runs));
  }

  void take_points(const Fields& fields, Detection& detection) {
    const std::vector<double> numbers = fields.numbers(kPoints);
    const CocoCategory& category = of_.categories[detection.category];
    if (category.keypoints.empty())
      fields.refuse("has '", kPoints, "', but category '", category.name, "' has none");
    if (numbers.size() != 3 * category.keypoints.size())
      fields.refuse("'", kPoints, "' has ", numbers.size(), " numbers, should have 3 for each of ",
                    category.keypoints.size(), " points of category '", category.name, "'");
    std::vector<float> points;
    for (const double number : numbers) {
      if (std::abs(number) > std::numeric_limits<float>::max())
        fields.refuse("'", kPoints, "' has ", number, ", which is too large");
      points.push_back(static_cast<float>(number));
    }
    detection.bbox = box_around(points);
    shapes_.keypoints.push_back(std::move(points));
  }

  const Annotations& of_;
  FoundShapes& shapes_;
  std::unordered_map<int64_t, int32_t> images_, categories_;
  std::vector<Detection> detections_;
  bool has_masks_ = false, has_points_ = false;
};

void check_count(const std::vector<Detection>& detections, std::size_t shapes, const char* what) {
  check(shapes == detections.size(), what, " of ", shapes, " detections for ", detections.size(),
        " detections");
}

bool always(std::size_t) { return true; }

}  // namespace

CocoBox box_around(const std::vector<float>& points) {
  check(!points.empty() && points.size() % 3 == 0, "there is no box around ", points.size(),
        " numbers of points");
  CocoBox box{};
  for (const std::size_t side : {0, 1}) {
    double least = points[side], most = least;
    for (std::size_t i = side; i < points.size(); i += 3) {
      least = std::min<double>(least, points[i]);
      most = std::max<double>(most, points[i]);
    }
    box[side] = least;
    box[side + 2] = most - least;
  }
  return box;
}

void write_results(const std::string& path, const Annotations& of,
                   const std::vector<Detection>& detections) {
  write_list_of(path, of, detections, "bbox", always,
                [&](std::size_t i) { return ordered_json(detections[i].bbox); });
}

void write_masks(const std::string& path, const Annotations& of,
                 const std::vector<Detection>& detections, const std::vector<RunLengths>& masks) {
  check_count(detections, masks.size(), "masks");
  write_list_of(path, of, detections, kMask, always, [&](std::size_t i) {
    const RunLengths& mask = masks[i];
    return ordered_json{{"size", {mask.height, mask.width}},
                        {"counts", encode_run_lengths(mask.counts)}};
  });
}

void write_keypoints(const std::string& path, const Annotations& of,
                     const std::vector<Detection>& detections,
                     const std::vector<std::vector<float>>& keypoints) {
  check_count(detections, keypoints.size(), "keypoints");
  write_list_of(
      path, of, detections, kPoints, [&](std::size_t i) { return !keypoints[i].empty(); },
      [&](std::size_t i) { return ordered_json(keypoints[i]); });
}

std::vector<Detection> read_results(const std::string& path, const Annotations& of) {
  FoundShapes unused;
  return read_results(path, of, unused);
}

std::vector<Detection> read_results(const std::string& path, const Annotations& of,
                                    FoundShapes& shapes) {
  ResultReader reader(of, shapes);
  for_each_element(path, [&](const std::string& section, const json& element) {
    reader.take(section, element);
  });
  return reader.finish();
}

}  // namespace lockstep
