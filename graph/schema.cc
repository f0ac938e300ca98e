// SPDX-License-Identifier: Apache-2.0
#include "graph/schema.h"

#include <onnx/defs/schema.h>

#include <mutex>
#include <unordered_map>

#include "graph/attribute_reader.h"
#include "graph/guarded_schemas.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;

OpSchema::FormalParameterOption option_of(Arity arity) {
  switch (arity) {
    case Arity::optional:
      return OpSchema::Optional;
    case Arity::variadic:
      return OpSchema::Variadic;
    default:
      return OpSchema::Single;
  }
}

AttributeProto::AttributeType type_of(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return AttributeProto::INT;
    case AttributeKind::number:
      return AttributeProto::FLOAT;
    case AttributeKind::text:
      return AttributeProto::STRING;
    case AttributeKind::integers:
      return AttributeProto::INTS;
    case AttributeKind::numbers:
      return AttributeProto::FLOATS;
    default:
      return AttributeProto::TENSOR;
  }
}

// Lets ONNX's whole-graph inference run our shape law.
void infer_through_law(const Op& op, onnx::InferenceContext& context) {
  std::vector<TensorType> types(context.getNumInputs());
  std::vector<Literal> literals(context.getNumInputs());
  Inference inference{
      op.type,       {}, {}, {}, reader_of(op.type, std::vector<const AttributeProto*>()), {},
      &*op.signature};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const onnx::TypeProto* type = context.getInputType(i);
    if (type && !type->tensor_type().has_shape()) return;  // as lax as ONNX's own laws
    if (type) types[i] = from_proto(*type);
    inference.inputs.push_back(type ? &types[i] : nullptr);
    const onnx::TensorProto* data = context.getInputData(i);
    if (data) literals[i] = from_proto(*data, {}, op.type);
    inference.constants.push_back(data ? &literals[i] : nullptr);
    inference.contents.push_back(nullptr);
  }
  std::vector<const AttributeProto*> attributes;
  for (const FormalAttribute& formal : op.signature->attributes)
    if (auto* proto = context.getAttribute(formal.name)) attributes.push_back(proto);
  inference.attributes = reader_of(op.type, std::move(attributes));
  inference.outputs.resize(context.getNumOutputs());
  try {
    op.law(inference);
  } catch (const Error& error) {
    fail_shape_inference(error.what());
  }
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    if (inference.outputs[i].dtype != DType::undefined)
      to_proto(inference.outputs[i], *context.getOutputType(i));
}

OpSchema schema_for(const Op& op) {
  const Signature& signature = *op.signature;
  OpSchema schema;
  schema.SetName(op.type)
      .SetDomain(kOwnDomain)
      .SinceVersion(kOwnOpset)
      .SetDoc(signature.doc)
      .TypeConstraint("T", OpSchema::all_numeric_types_with_bfloat(), "any number")
      .TypeConstraint("U", OpSchema::all_numeric_types_with_bfloat(), "any number")
      .TypeConstraint("I", {"tensor(int32)", "tensor(int64)"}, "an index")
      .TypeConstraint("R",
                      {"tensor(bfloat16)", "tensor(float16)", "tensor(float)", "tensor(double)"},
                      "a real number")
      .TypeConstraint("B", {"tensor(bool)"}, "true or false");
  int position = 0;
  for (const Formal& formal : signature.inputs)
    schema.Input(position++, formal.name, "", formal.type, option_of(formal.arity), false, 0);
  position = 0;
  for (const Formal& formal : signature.outputs)
    schema.Output(position++, formal.name, "", formal.type, option_of(formal.arity), false, 0);
  for (const FormalAttribute& formal : signature.attributes)
    schema.Attr(formal.name, "", type_of(formal.kind), formal.required);
  schema.TypeAndShapeInferenceFunction(
      [op](onnx::InferenceContext& context) { infer_through_law(op, context); });
  return schema;
}

void add_domain() {
  auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
  if (domains.Map().count(kOwnDomain) == 0)
    domains.AddDomainToVersion(kOwnDomain, kOwnOpset, kOwnOpset);
}

std::mutex registry_mutex;

}  // namespace

void register_schemas(const std::vector<Op>& ops) {
  std::lock_guard lock(registry_mutex);
  // The domain must come first: otherwise libonnx 1.12 only prints a message, and a later lookup
  // crashes.
  add_domain();
  for (const Op& op : ops) {
    if (!op.signature) continue;
    check(op.domain == kOwnDomain, op.type, ": only operators of ", kOwnDomain,
          " bring a signature");
    check(op.law, op.type, ": a signature needs a shape law");
    if (!onnx::OpSchemaRegistry::Schema(op.type, kOwnOpset, kOwnDomain))
      onnx::RegisterSchema(schema_for(op));
    check(onnx::OpSchemaRegistry::Schema(op.type, kOwnOpset, kOwnDomain), op.type,
          ": libonnx rejected the schema");
  }
}

const OpSchema* schema_of(const std::string& domain, const std::string& type) {
  // A cache: libonnx's lookup builds strings and maps, and a graph looks up few operators many
  // times.
  static std::unordered_map<std::string, const OpSchema*> known;
  std::lock_guard lock(registry_mutex);
  std::string key = domain + ":" + type;
  if (auto found = known.find(key); found != known.end()) return found->second;
  add_domain();
  auto* schema = guarded_schemas().GetSchema(
      type, static_cast<int>(domain.empty() ? kOpset : kOwnOpset), domain);
  if (schema) known.emplace(key, schema);
  return schema;
}

}  // namespace lockstep
