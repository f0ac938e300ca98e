// SPDX-License-Identifier: Apache-2.0
#include "graph/infer.h"

#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <map>

#include "graph/attribute_reader.h"
#include "graph/onnx.h"
#include "graph/schema.h"

namespace lockstep {
namespace {

// Rethrows ONNX's exception as Error, without the prefix of its text.
[[noreturn]] void rethrow_plainly(const std::exception& error) {
  std::string text = error.what();
  for (std::string_view prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "})
    if (text.rfind(prefix, 0) == 0) text.erase(0, prefix.size());
  throw Error(text);
}

std::vector<TensorType> infer_by_onnx(const onnx::OpSchema& schema, onnx::NodeProto& proto,
                                      const InferenceInputs& inputs) {
  std::vector<onnx::TypeProto> types(inputs.types.size());
  std::vector<onnx::TensorProto> tensors(inputs.types.size());
  std::unordered_map<std::string, onnx::TypeProto*> type_of;
  std::unordered_map<std::string, const onnx::TensorProto*> data_of;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!inputs.types[i]) continue;
    to_proto(*inputs.types[i], types[i]);
    type_of[proto.input(static_cast<int>(i))] = &types[i];
    if (!inputs.constants[i]) continue;
    to_proto(*inputs.constants[i], tensors[i]);
    data_of[proto.input(static_cast<int>(i))] = &tensors[i];
  }
  onnx::shape_inference::InferenceContextImpl context(proto, type_of, data_of, {});
  schema.GetTypeAndShapeInferenceFunction()(context);
  std::vector<TensorType> outputs;
  for (const onnx::TypeProto& type : context.allOutputTypes_) {
    outputs.push_back(from_proto(type));
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) outputs.back().ranked = false;
  }
  return outputs;
}

bool holds_integers(const TensorType& type) {
  return (type.dtype == DType::int64 || type.dtype == DType::int32 ||
          type.dtype == DType::boolean) &&
         type.ranked && (type.shape.size() <= 1 || is_static(type.shape));
}

// ONNX's own check accepts a required operand with an empty name.
void check_operands(const onnx::OpSchema& schema, const std::vector<const TensorType*>& types) {
  const auto& formals = schema.inputs();
  for (std::size_t i = 0; i < formals.size(); ++i)
    if (formals[i].GetOption() == onnx::OpSchema::Single)
      check(i < types.size() && types[i], "needs its input ", i, ", ", formals[i].GetName());
}

// Checks that only optional results are unnamed: kernels write all others. A collective omits the
// result of a replica that does not need it: see passes/share.h.
void check_results(const onnx::OpSchema& schema, const onnx::NodeProto& proto) {
  const auto& formals = schema.outputs();
  for (int i = 0; i < proto.output_size() && !formals.empty(); ++i) {
    const auto& formal = formals[std::min(static_cast<std::size_t>(i), formals.size() - 1)];
    check(!proto.output(i).empty() || formal.GetOption() == onnx::OpSchema::Optional,
          "leaves out its output ", i, ", ", formal.GetName(), ", which is not optional");
  }
}

// Checks operands of our operators with type letter I, R or B: kernels read them as indices, ratios
// or truth values. Kernels check the other letters.
void check_operand_kinds(const Op& op, const std::vector<const TensorType*>& types) {
  if (!op.signature || op.signature->inputs.empty()) return;
  const std::vector<Formal>& formals = op.signature->inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) continue;
    const Formal& formal = formals[std::min(i, formals.size() - 1)];
    const DType type = types[i]->dtype;
    const bool fits = formal.type == "I"   ? type == DType::int32 || type == DType::int64
                      : formal.type == "R" ? is_floating(type)
                      : formal.type == "B" ? type == DType::boolean
                                           : true;
    check(fits, "its input ", i, ", ", formal.name, ", is ", *types[i], ", should be ",
          formal.type == "I"   ? "int32 or int64"
          : formal.type == "R" ? "a float"
                               : "bool");
  }
}

// Checks that operands with the same type letter have the same type: kernels read all of them as
// the type of the first. Operands that mixed precision keeps wide are float32 beside narrower
// operands.
void check_operand_types(const Op& op, const onnx::OpSchema& schema,
                         const std::vector<const TensorType*>& types) {
  const auto& formals = schema.inputs();
  const std::vector<int>& wide = op.narrow.wide_inputs;
  std::map<std::string, std::size_t> first;  // by letter
  for (std::size_t i = 0; i < types.size() && !formals.empty(); ++i) {
    const auto& formal = formals[std::min(i, formals.size() - 1)];
    const bool mixed = formal.GetOption() == onnx::OpSchema::Variadic && !formal.GetIsHomogeneous();
    if (!types[i] || mixed || std::count(wide.begin(), wide.end(), static_cast<int>(i))) continue;
    if (formal.GetTypeStr().find('(') != std::string::npos) continue;  // tensor(int64), no letter
    // In our signatures only T and U are type variables. I, R and B are kinds.
    if (op.signature && formal.GetTypeStr() != "T" && formal.GetTypeStr() != "U") continue;
    const std::size_t other = first.emplace(formal.GetTypeStr(), i).first->second;
    check(types[i]->dtype == types[other]->dtype, "its input ", i, ", ", formal.GetName(), ", is ",
          types[i]->dtype, " and its input ", other, " ", types[other]->dtype,
          "; they should have the same type");
  }
}

// Throws if the product of the known sizes overflows. An operand may set any size, and all code
// multiplies sizes.
void check_sizes(const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    Dims known;
    for (const Dim& dim : type.shape)
      if (dim.known()) known.push_back(dim.size());
    element_count(known);
  }
}

}  // namespace

Inferred infer_node(const Op& op, onnx::NodeProto& proto, const InferenceInputs& inputs) {
  const onnx::OpSchema* schema = schema_of(op.domain, op.type);
  check(schema, "ONNX opset ", kOpset, " has no operator ", op.type);
  Inference inference{op.type,
                      inputs.types,
                      inputs.constants,
                      inputs.contents,
                      reader_of(proto.op_type(), proto),
                      {},
                      op.signature ? &*op.signature : nullptr};
  try {
    schema->Verify(proto);
    check_operands(*schema, inputs.types);
    check_operand_kinds(op, inputs.types);
    check_operand_types(op, *schema, inputs.types);
    if (!op.collective) check_results(*schema, proto);
    if (op.domain.empty() && schema->has_type_and_shape_inference_function())
      inference.outputs = infer_by_onnx(*schema, proto, inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    rethrow_plainly(error);
  }
  inference.outputs.resize(proto.output_size());
  check_sizes(inference.outputs);
  if (op.law) op.law(inference);
  check_sizes(inference.outputs);
  Inferred inferred{inference.outputs, std::nullopt};
  if (!op.content || !holds_integers(inferred.types[0])) return inferred;
  inference.attributes = reader_of(proto.op_type(), proto);
  inferred.content = op.content(inference);
  return inferred;
}

}  // namespace lockstep
