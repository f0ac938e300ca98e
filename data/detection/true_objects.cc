// SPDX-License-Identifier: Apache-2.0
#include "data/detection/true_objects.h"

#include <algorithm>

#include "data/detection/rings_of.h"

namespace lockstep {
namespace {

class TruthWriter {
 public:
  TruthWriter(const FeedRow& row, const Annotations& table, const ShownPart& part)
      : row_(row), table_(table), part_(part) {}

  void write_boxes(const std::vector<TrainingBox>& boxes) const {
    const std::span<float> corners = cleared<float>("gt_boxes", 0);
    const std::span<int64_t> classes = cleared<int64_t>("gt_classes", 0);
    const std::span<int64_t> crowd = cleared<int64_t>("gt_crowd", 0);
    check_room("gt_boxes", boxes.size(), classes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      std::copy(boxes[i].corners.begin(), boxes[i].corners.end(), &corners[4 * i]);
      classes[i] = boxes[i].kind;
      crowd[i] = boxes[i].crowd;
    }
  }

  void write_outlines(const std::vector<TrainingBox>& boxes) const {
    const std::span<float> vertices = cleared<float>("gt_vertices", 0);
    const std::span<int64_t> vertex_of = cleared<int64_t>("gt_vertex_of", -1);
    std::size_t at = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (boxes[i].crowd) continue;
      const Rings rings = rings_of(table_, table_.objects[boxes[i].object]);
      check_room("gt_vertices", at + rings.vertices(), vertices.size() / 2);
      for (std::size_t v = 0; v < rings.vertices(); ++v, ++at) {
        write_point(part_.point(rings.xy[2 * v], rings.xy[2 * v + 1]), &vertices[2 * at]);
        vertex_of[2 * at] = static_cast<int64_t>(i);
        vertex_of[2 * at + 1] = rings.ring_of[v];
      }
    }
  }

  void write_keypoints(const std::vector<TrainingBox>& boxes, int64_t keypoints) const {
    const std::span<float> all = cleared<float>("gt_keypoints", 0);
    const std::size_t numbers = 3 * keypoints;
    check_room("gt_keypoints", numbers * boxes.size(), all.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const CocoObject& object = table_.objects[boxes[i].object];
      if (boxes[i].crowd || object.keypoints.count == 0) continue;
      check_room("gt_keypoints", object.keypoints.count, numbers);
      write_points_of(object, all.subspan(numbers * i, numbers));
    }
  }

 private:
  template <class T>
  std::span<T> cleared(const char* name, T value) const {
    const std::span<T> numbers = row_.of<T>(name);
    std::fill(numbers.begin(), numbers.end(), value);
    return numbers;
  }

  static void check_room(const char* name, std::size_t needed, std::size_t room) {
    check(needed <= room, "the feed ", name, " has ", room, " places, ", needed, " are needed");
  }

  // Keypoints are numbers of pixels, so the first pixel of a mirrored picture is the last one.
  static constexpr double kMiddle = 0.5;

  static void write_point(const PicturePoint& point, float* to) {
    to[0] = static_cast<float>(point[0]);
    to[1] = static_cast<float>(point[1]);
  }

  // A point that is not labelled, or not in the part that is shown, stays zeros.
  void write_points_of(const CocoObject& object, const std::span<float>& to) const {
    const std::span<const double> points = table_.points_of(object);
    std::vector<std::size_t> places(points.size() / 3);  // of each point
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    if (part_.is_mirrored())
      for (const auto& [one, other] : table_.categories[object.category].swap)
        std::swap(places[one], places[other]);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double visibility = points[3 * i + 2];
      const PicturePoint middle = part_.point(points[3 * i] + kMiddle, points[3 * i + 1] + kMiddle);
      if (!(visibility > 0) || !part_.holds(middle)) continue;
      write_point({middle[0] - kMiddle, middle[1] - kMiddle}, &to[3 * places[i]]);
      to[3 * places[i] + 2] = static_cast<float>(visibility);
    }
  }

  const FeedRow& row_;
  const Annotations& table_;
  const ShownPart& part_;
};

}  // namespace

MinibatchForm truth_form(int64_t rows, const TruthPlaces& places) {
  const int64_t boxes = places.boxes, vertices = places.vertices, points = places.keypoints;
  MinibatchForm form{{"gt_boxes", {DType::float32, {rows, boxes, 4}}},
                     {"gt_classes", {DType::int64, {rows, boxes}}},
                     {"gt_crowd", {DType::int64, {rows, boxes}}}};
  if (vertices > 0) {
    form.push_back({"gt_vertices", {DType::float32, {rows, vertices, 2}}});
    form.push_back({"gt_vertex_of", {DType::int64, {rows, vertices, 2}}});
  }
  if (points > 0) form.push_back({"gt_keypoints", {DType::float32, {rows, boxes, points, 3}}});
  return form;
}

void write_truth(const FeedRow& row, const TruthPlaces& places, const Annotations& table,
                 const std::vector<TrainingBox>& boxes, const ShownPart& part) {
  const std::vector<TrainingBox> shown = part.boxes(boxes);
  const TruthWriter writer(row, table, part);
  writer.write_boxes(shown);
  if (places.vertices > 0) writer.write_outlines(shown);
  if (places.keypoints > 0) writer.write_keypoints(shown, places.keypoints);
}

int64_t vertices_of(const Annotations& table, const std::vector<TrainingBox>& boxes) {
  int64_t vertices = 0;
  for (const TrainingBox& box : boxes)
    if (!box.crowd) vertices += vertices_of(table, table.objects[box.object]);
  return vertices;
}

int64_t most_vertices(const Annotations& table, double least_area) {
  LeftOut left_out;
  int64_t most = 1;
  for (std::size_t image = 0; image < table.images.size(); ++image)
    most = std::max(most, vertices_of(table, training_boxes(table, image, least_area, left_out)));
  return most;
}

}  // namespace lockstep
