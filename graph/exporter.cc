// SPDX-License-Identifier: Apache-2.0
#include "graph/exporter.h"

#include <google/protobuf/unknown_field_set.h>

#include <optional>
#include <set>
#include <string_view>

#include "graph/onnx.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// True for a layer with a folded batch normalisation. The TorchScript exporter names the fused
// weights onnx::Conv_65. The newer exporter lists its rules in a node field that libonnx 1.12 does
// not know, but preserves.
bool holds_batch_norm(const onnx::NodeProto& node) {
  if (node.op_type() != "Conv" && node.op_type() != "ConvTranspose" && node.op_type() != "Gemm")
    return false;
  const bool renamed = node.input_size() > 1 && node.input(1).starts_with("onnx::Conv");
  return renamed || node.SerializeAsString().find("FuseBatchNorm") != std::string::npos;
}

bool is_nameless_parameter(const onnx::TensorProto& tensor) {
  return tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() >= 2 &&
         (tensor.name().starts_with("onnx::") || tensor.name().starts_with("val_"));
}

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kMetadataOfValue = 4;  // ValueInfoProto.metadata_props, younger than libonnx 1.12
constexpr std::string_view kKind = "pkg.torch.export.graph_signature.InputSpec.kind";

std::optional<InitializerKind> kind_named(const std::string& text) {
  if (text == "PARAMETER") return InitializerKind::parameter;
  if (text == "BUFFER") return InitializerKind::buffer;
  if (text == "CONSTANT_TENSOR") return InitializerKind::constant;
  return std::nullopt;
}

// Reads the message's bytes as unknown fields, which works with any libonnx.
std::optional<InitializerKind> kind_of(const onnx::ValueInfoProto& value) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(value.SerializeAsString())) return std::nullopt;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() != kMetadataOfValue || field.type() != UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(field.length_delimited()) && entry.key() == kKind)
      return kind_named(entry.value());
  }
  return std::nullopt;
}

}  // namespace

std::string lost_to_optimisation(const onnx::ModelProto& proto) {
  if (proto.producer_name() != "pytorch") return "";
  int norms = 0, nameless = 0;
  for (const auto& node : proto.graph().node()) {
    norms += holds_batch_norm(node) ? 1 : 0;
  }
  for (const auto& tensor : proto.graph().initializer())
    nameless += is_nameless_parameter(tensor) ? 1 : 0;
  if (norms + nameless == 0) return "";
  return join(
      "was optimised for prediction by its exporter: ", norms,
      " batch normalisations are folded into other layers, ", nameless,
      " parameters have lost their names, and dropout is removed, if there was any. To train the "
      "network as it was written, export it after model.train() with optimize=False, or "
      "with dynamo=False, training=torch.onnx.TrainingMode.PRESERVE, "
      "do_constant_folding=False");
}

std::map<std::string, InitializerKind> kinds_of_initializers(const onnx::ModelProto& proto) {
  std::set<std::string> initializers;
  for (const auto& tensor : proto.graph().initializer()) initializers.insert(tensor.name());
  std::map<std::string, InitializerKind> kinds;
  for (const auto* values : {&proto.graph().value_info(), &proto.graph().input()})
    for (const auto& value : *values)
      if (initializers.contains(value.name()))
        if (const auto kind = kind_of(value)) kinds.emplace(value.name(), *kind);
  return kinds;
}

}  // namespace lockstep
