// Resize (x, roi, scales, sizes): sizes or scales decide the output; both must be constants. Its
// gradient is not written yet.
#include "operators/resize/resize.h"

#include <cmath>

#include "operators/room.h"

namespace lockstep {
namespace {

bool holds_values(const Inference& inference, std::size_t i) {
  return i < inference.inputs.size() && inference.inputs[i] && inference.constants[i] &&
         inference.constants[i]->count() > 0;
}

// ONNX 1.12 infers the output from scales without the region of interest.
void resize_law(Inference& inference) {
  inference.require_ranked();
  const Shape& x = inference.input(0).shape;
  TensorType& y = inference.outputs[0];
  y = {inference.input(0).dtype, Shape(x.size(), Dim("?"))};
  if (holds_values(inference, 3)) {
    y.shape = to_shape(inference.constants[3]->integers());
  } else if (holds_values(inference, 2)) {
    auto scales = inference.constants[2]->values<float>();
    check(scales.size() == x.size(), "has ", scales.size(), " scales for ", x.size(),
          " dimensions");
    const bool crops =
        inference.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x[i].known()) continue;
      double size = static_cast<double>(x[i].size());
      if (crops && holds_values(inference, 1)) {
        auto roi = inference.constants[1]->values<float>();
        size *= roi[x.size() + i] - roi[i];
      }
      y.shape[i] = static_cast<int64_t>(std::floor(size * scales[i]));
    }
  }
  check(y.shape.size() == x.size(), "sizes has ", y.shape.size(), " entries for ", x.size(),
        " dimensions");
}

}  // namespace

std::vector<Op> resize_ops() { return {{.type = "Resize", .domain = "", .law = resize_law}}; }

}  // namespace lockstep
