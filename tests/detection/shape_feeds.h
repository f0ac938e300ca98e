// SPDX-License-Identifier: Apache-2.0
// Outlines and points for the true boxes of a batch: a rhombus with a hole in each box, and points
// within.
#pragma once

#include <array>
#include <map>
#include <string>

#include "lockstep/feeds.h"
#include "lockstep/training_model.h"

namespace lockstep::testing {

class ShapeFeeds {
 public:
  explicit ShapeFeeds(const TrainingModel& model) {
    for (const StepInput& input : model.inputs) {
      if (input.name != "gt_vertices" && input.name != "gt_vertex_of" &&
          input.name != "gt_keypoints")
        continue;
      const TensorType& type = model.step.type(model.step.at(input.values[0]));
      Dims dims = to_dims(type.shape);
      dims[0] *= model.replicas;
      values_.insert_or_assign(input.name, Literal(type.dtype, dims));
    }
  }

  // Draws a shape for each box with an area of gt_boxes [I, G, 4], and feeds the shapes.
  void feed(const Tensor& boxes, Feeds& feeds) {
    if (values_.contains("gt_vertices")) draw(boxes);
    if (values_.contains("gt_keypoints")) place(boxes);
    for (const auto& [name, value] : values_) feeds.set(name, view_of(value));
  }

 private:
  static constexpr int64_t kVertices = 4;

  struct Box {
    float x, y, width, height;
    bool empty() const { return width <= 0 || height <= 0; }
  };
  static Box box_at(const Tensor& boxes, int64_t number) {
    const float* corners = boxes.as<float>() + 4 * number;
    return {corners[0], corners[1], corners[2] - corners[0], corners[3] - corners[1]};
  }

  void draw(const Tensor& boxes) {
    const Tensor vertices = view_of(values_.at("gt_vertices"));
    const Tensor vertex_of = view_of(values_.at("gt_vertex_of"));
    std::fill_n(vertex_of.as<int64_t>(), element_count(vertex_of.desc.dims), int64_t{-1});
    const int64_t most = vertices.desc.dims[1];
    for (int64_t image = 0; image < boxes.desc.dims[0]; ++image) {
      int64_t place = image * most;
      for (int64_t row = 0; row < boxes.desc.dims[1]; ++row) {
        const Box box = box_at(boxes, image * boxes.desc.dims[1] + row);
        for (const int64_t ring : {int64_t{0}, int64_t{1}}) {
          const float reach = ring == 0 ? 0.5F : 0.15F;
          const std::array<float, 2 * kVertices> corners{0, -reach, reach, 0, 0, reach, -reach, 0};
          for (int64_t v = 0; v < kVertices && !box.empty(); ++v, ++place) {
            const float* corner = corners.data() + 2 * v;
            vertices.as<float>()[2 * place] = box.x + box.width * (0.5F + corner[0]);
            vertices.as<float>()[2 * place + 1] = box.y + box.height * (0.5F + corner[1]);
            vertex_of.as<int64_t>()[2 * place] = row;
            vertex_of.as<int64_t>()[2 * place + 1] = ring;
          }
        }
      }
    }
  }

  // Each third point is not marked, and each fourth object has no point.
  void place(const Tensor& boxes) {
    const Tensor points = view_of(values_.at("gt_keypoints"));
    const int64_t count = points.desc.dims[2];
    for (int64_t object = 0; object < boxes.desc.dims[0] * boxes.desc.dims[1]; ++object) {
      const Box box = box_at(boxes, object);
      for (int64_t k = 0; k < count; ++k) {
        const float along = static_cast<float>(k + 1) / static_cast<float>(count + 1);
        float* point = points.as<float>() + 3 * (object * count + k);
        const bool marked = !box.empty() && object % 4 != 3 && k % 3 != 2;
        point[0] = marked ? box.x + box.width * along : 0;
        point[1] = marked ? box.y + box.height * (1 - along) : 0;
        point[2] = marked ? static_cast<float>(1 + k % 2) : 0;
      }
    }
  }

  std::map<std::string, Literal> values_;
};

}  // namespace lockstep::testing
