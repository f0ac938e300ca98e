// SPDX-License-Identifier: Apache-2.0
#include "graph/guarded_schemas.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/onnx.h"

namespace lockstep {
namespace {

using onnx::InferenceContext;

const onnx::TensorShapeProto* shape_of(InferenceContext& context, std::size_t i) {
  const onnx::TypeProto* type = i < context.getNumInputs() ? context.getInputType(i) : nullptr;
  return type && type->tensor_type().has_shape() ? &type->tensor_type().shape() : nullptr;
}

// Inference reads out of bounds if a convolution's weight has more dimensions than its data.
void check_convolution(InferenceContext& context) {
  const onnx::TensorShapeProto *data = shape_of(context, 0), *weight = shape_of(context, 1);
  if (!data || !weight) return;
  check(data->dim_size() >= 3, "data is ", from_proto(*context.getInputType(0)).shape,
        ", should be [batch, channels, one size or more]");
  check(data->dim_size() == weight->dim_size(), "data has ", data->dim_size(),
        " dimensions, weight has ", weight->dim_size());
}

// Limits sizes that get computed padding: inference subtracts the stride repeatedly, which takes
// hours from a size of 2^40 on. It does so for a node without pads and any auto_pad except VALID,
// even an invalid one.
void check_computed_padding(InferenceContext& context) {
  constexpr int64_t kMost = 1 << 28;
  const onnx::AttributeProto* pad = context.getAttribute("auto_pad");
  if (!pad || pad->s() == "VALID" || context.getAttribute("pads")) return;
  for (std::size_t i = 0; i < context.getNumInputs(); ++i)
    if (const onnx::TensorShapeProto* shape = shape_of(context, i))
      for (const auto& dim : shape->dim())
        check(dim.dim_value() <= kMost, "auto_pad ", pad->s(), " of a size of ", dim.dim_value(),
              ", the most is ", kMost);
}

// Inference reads the data's sizes from batch_dims on, out of bounds for a negative batch_dims.
void check_batch_dims(InferenceContext& context) {
  const onnx::TensorShapeProto* data = shape_of(context, 0);
  const onnx::AttributeProto* batch = context.getAttribute("batch_dims");
  if (!data || !batch) return;
  check(batch->i() >= 0 && batch->i() <= data->dim_size(), "batch_dims is ", batch->i(),
        ", should be 0 to ", data->dim_size(), ", the dimensions of the data");
}

// Inference writes a size of 1 at each dimension from the axis on, also before the first dimension.
void check_normal_axis(InferenceContext& context) {
  const onnx::TensorShapeProto* data = shape_of(context, 0);
  const onnx::AttributeProto* axis = context.getAttribute("axis");
  if (!data || !axis) return;
  const int64_t rank = data->dim_size();
  check(axis->i() >= -rank && axis->i() < rank, "axis is ", axis->i(), ", should be ", -rank,
        " to ", rank - 1, ", as its input 0 has ", rank, " dimensions");
}

// Limits the length of a shape operand. If its values are unknown, inference gives the result one
// dimension per element.
template <std::size_t kOperand>
void check_rank(InferenceContext& context) {
  constexpr int64_t kMost = 1 << 10;
  const onnx::TensorShapeProto* shape = shape_of(context, kOperand);
  if (shape && shape->dim_size() == 1)
    check(shape->dim(0).dim_value() <= kMost, "its input ", kOperand, ", a shape, has ",
          shape->dim(0).dim_value(), " elements, the most is ", kMost);
}

// A check that runs before ONNX's inference.
using Guard = void (*)(InferenceContext&);
std::vector<Guard> guards_of(const std::string& type, const onnx::OpSchema& schema) {
  std::vector<Guard> guards;
  if (type == "Conv" || type == "ConvTranspose") guards.push_back(check_convolution);
  if (type == "ConstantOfShape") guards.push_back(check_rank<0>);
  if (type == "Expand") guards.push_back(check_rank<1>);
  if (type == "GatherND") guards.push_back(check_batch_dims);
  if (type == "LayerNormalization") guards.push_back(check_normal_axis);
  if (schema.attributes().count("auto_pad")) guards.push_back(check_computed_padding);
  return guards;
}

class GuardedSchemas : public onnx::ISchemaRegistry {
 public:
  const onnx::OpSchema* GetSchema(const std::string& type, const int version,
                                  const std::string& domain) const override {
    const onnx::OpSchema* theirs =
        onnx::OpSchemaRegistry::Instance()->GetSchema(type, version, domain);
    if (!theirs || !domain.empty()) return theirs;
    const std::vector<Guard> guards = guards_of(type, *theirs);
    if (guards.empty()) return theirs;
    std::lock_guard lock(mutex_);
    auto& guarded = guarded_[{type, theirs->since_version()}];
    if (guarded) return guarded.get();
    guarded = std::make_unique<onnx::OpSchema>(*theirs);
    guarded->TypeAndShapeInferenceFunction(
        [guards, infer = theirs->GetTypeAndShapeInferenceFunction()](InferenceContext& context) {
          for (const Guard guard : guards) guard(context);
          infer(context);
        });
    return guarded.get();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, int>, std::unique_ptr<onnx::OpSchema>> guarded_;
};

}  // namespace

const onnx::ISchemaRegistry& guarded_schemas() {
  static const GuardedSchemas schemas;
  return schemas;
}

}  // namespace lockstep
