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

// True for a tensor that the exporter computed from parameters, or perhaps buffers. A file with
// kinds has one for each of these.
bool is_nameless_parameter(const onnx::TensorProto& tensor,
                           const std::map<std::string, InitializerKind>& kinds) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) return false;
  if (!kinds.empty()) return tensor.dims_size() >= 1 && !kinds.contains(tensor.name());
  return tensor.dims_size() >= 2 &&
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

// The initializer that each name of a graph shows, perhaps in another shape.
class Shown {
 public:
  explicit Shown(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) shown_[tensor.name()] = tensor.name();
    for (const auto& node : graph.node())
      if (kViews.contains(node.op_type()) && node.input_size() > 0 && node.output_size() == 1)
        if (const std::string name = of(node.input(0)); !name.empty())
          shown_[node.output(0)] = name;
  }
  std::string of(const std::string& name) const {
    const auto found = shown_.find(name);
    return found == shown_.end() ? "" : found->second;
  }

 private:
  static inline const std::set<std::string_view> kViews{"Cast", "Identity", "Reshape", "Transpose"};
  std::map<std::string, std::string> shown_;
};

// The number of biases that are one initializer with the bias of another layer, although the
// weights are different. Exporters keep one of several parameters with the same values.
int merged_biases(const onnx::GraphProto& graph) {
  const Shown shown(graph);
  std::map<std::string, std::set<std::string>> weights_of;  // by bias
  std::map<std::string, std::string> products;              // weights, by the name of the product
  const auto add = [&](const std::string& weights, const std::string& bias) {
    if (!weights.empty() && !bias.empty()) weights_of[bias].insert(weights);
  };
  for (const auto& node : graph.node()) {
    const std::string& type = node.op_type();
    const bool has_weights = type == "Gemm" || type == "Conv" || type == "ConvTranspose";
    if (has_weights && node.input_size() > 2) add(shown.of(node.input(1)), shown.of(node.input(2)));
    if (type == "MatMul" && node.input_size() == 2 && node.output_size() == 1)
      products[node.output(0)] = shown.of(node.input(1));
    if (type == "Add" && node.input_size() == 2)
      for (const int k : {0, 1})
        if (const auto product = products.find(node.input(k)); product != products.end())
          add(product->second, shown.of(node.input(1 - k)));
  }
  int merged = 0;
  for (const auto& [bias, weights] : weights_of) merged += static_cast<int>(weights.size()) - 1;
  return merged;
}

}  // namespace

std::string lost_to_optimisation(const onnx::ModelProto& proto) {
  if (proto.producer_name() != "pytorch") return "";
  int norms = 0, nameless = 0;
  for (const auto& node : proto.graph().node()) {
    norms += holds_batch_norm(node) ? 1 : 0;
  }
  const auto kinds = kinds_of_initializers(proto);
  for (const auto& tensor : proto.graph().initializer())
    nameless += is_nameless_parameter(tensor, kinds) ? 1 : 0;
  const int merged = merged_biases(proto.graph());
  if (norms + nameless + merged == 0) return "";
  return join("was optimised for prediction by its exporter: ", norms,
              " batch normalisations are folded into other layers, ", nameless,
              " parameters or buffers have lost their names, ", merged,
              " biases are merged with others of the same values, "
              "and dropout is removed, if there was any. To train the "
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
