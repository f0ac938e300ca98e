// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/older_opsets.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <limits>
#include <map>
#include <set>

#include "graph/guarded_schemas.h"
#include "graph/import.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

// True if every ONNX operator of the graph means the same at opset `version` as at ours.
bool unchanged_since(const onnx::GraphProto& proto, int64_t version) {
  if (version == kOpset) return true;
  for (const auto& node : proto.node()) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") continue;
    auto* theirs = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), "");
    auto* ours = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(kOpset), "");
    if (!theirs || !ours || theirs->since_version() != ours->since_version()) return false;
  }
  return true;
}

// Before opset 7, a one-dimensional PRelu slope was per channel, on any channel axis; now it
// broadcasts like other operands. The version converter does not handle this.
void mend_old_prelu(onnx::ModelProto& proto) {
  std::map<std::string, int> rank;
  for (const auto* list : {&proto.graph().input(), &proto.graph().value_info()})
    for (const auto& info : *list)
      if (info.type().tensor_type().has_shape())
        rank[info.name()] = info.type().tensor_type().shape().dim_size();
  auto& graph = *proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (auto& node : *graph.mutable_node()) {
    if (node.op_type() == "PRelu" && rank[node.input(1)] == 1 && rank[node.input(0)] > 2) {
      auto* unsqueeze = nodes.Add();
      unsqueeze->set_op_type("Unsqueeze");
      unsqueeze->add_input(node.input(1));
      unsqueeze->add_output(node.output(0) + "_slope");
      auto* axes = unsqueeze->add_attribute();
      axes->set_name("axes");
      axes->set_type(onnx::AttributeProto::INTS);
      for (int axis = 1; axis + 1 < rank[node.input(0)]; ++axis) axes->add_ints(axis);
      node.set_input(1, unsqueeze->output(0));
    }
    *nodes.Add() = std::move(node);
  }
  *graph.mutable_node() = std::move(nodes);
}

// Before opset 14, extra outputs of BatchNormalization meant training mode. The version converter
// rejects these outputs, so they are removed first and restored with training_mode afterwards.
class OldTrainingBatchNorms {
 public:
  explicit OldTrainingBatchNorms(onnx::GraphProto& graph) {
    std::set<std::string> used;
    for (const auto& node : graph.node()) used.insert(node.input().begin(), node.input().end());
    for (auto& node : *graph.mutable_node()) {
      if (node.op_type() != "BatchNormalization" || node.output_size() < 2) continue;
      for (int i = 3; i < node.output_size(); ++i)
        supported(!used.count(node.output(i)), "'", node.output(i),
                  "', a saved statistic of BatchNormalization, is used, which is not supported");
      auto& running = running_[node.output(0)];
      for (int i = 1; i < std::min(3, node.output_size()); ++i) running.push_back(node.output(i));
      while (node.output_size() > 1) node.mutable_output()->RemoveLast();
    }
  }

  void restore(onnx::GraphProto& graph) const {
    for (auto& node : *graph.mutable_node()) {
      auto found = node.output_size() > 0 ? running_.find(node.output(0)) : running_.end();
      if (found == running_.end() || node.op_type() != "BatchNormalization") continue;
      for (const std::string& name : found->second) node.add_output(name);
      auto* mode = node.add_attribute();
      mode->set_name("training_mode");
      mode->set_type(onnx::AttributeProto::INT);
      mode->set_i(1);
    }
  }

 private:
  std::map<std::string, std::vector<std::string>> running_;  // by first output
};

// Checks the numbers of operands and attributes of each node, which the shape laws and the
// converter assume.
void verify_nodes(const onnx::GraphProto& proto, int64_t version) {
  for (const auto& node : proto.node())
    if (auto* schema =
            onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version),
                                           node.domain() == "ai.onnx" ? "" : node.domain()))
      schema->Verify(node);
}

// The converter stores dimensions in 32 bits: 2^40 would become 0.
void check_sizes(const onnx::GraphProto& proto) {
  for (const auto* list : {&proto.input(), &proto.output(), &proto.value_info()})
    for (const auto& info : *list)
      for (const auto& dim : info.type().tensor_type().shape().dim())
        supported(dim.dim_value() <= std::numeric_limits<int>::max(), "'", info.name(), "' has ",
                  dim.dim_value(),
                  " elements along a dimension, more than the converter can count");
}

void embed_all(onnx::GraphProto& graph, const DataPlace& place) {
  for (auto& tensor : *graph.mutable_initializer()) embed(tensor, place, tensor.name());
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.type() == onnx::AttributeProto::GRAPH) embed_all(*attribute.mutable_g(), place);
}

// Scan of opset 8 has a batch and lengths, which newer versions lack.
void refuse_old_scans(const onnx::GraphProto& graph, int64_t version) {
  for (const auto& node : graph.node())
    supported(node.op_type() != "Scan", node.output_size() > 0 ? node.output(0) : node.name(),
              " (Scan): is of opset ", version, "; 9 is the oldest that is supported");
}

}  // namespace

onnx::ModelProto at_least_our_opset(onnx::ModelProto proto, const DataPlace& place) {
  const int64_t version = opset_of(proto);
  if (version < 0 || version > kOpset || unchanged_since(proto.graph(), version)) return proto;
  supported(proto.training_info_size() == 0, "a training step of opset ", version,
            " cannot be converted to ", kOpset);
  embed_all(*proto.mutable_graph(), place);
  if (version < 9) refuse_old_scans(proto.graph(), version);
  try {
    verify_nodes(proto.graph(), version);
    onnx::shape_inference::InferShapes(proto, &guarded_schemas());  // the converter needs shapes
    check_sizes(proto.graph());
    if (version < 7) mend_old_prelu(proto);
    if (version >= 14)
      return onnx::version_conversion::ConvertVersion(proto, static_cast<int>(kOpset));
    OldTrainingBatchNorms batch_norms(*proto.mutable_graph());
    onnx::ModelProto converted =
        onnx::version_conversion::ConvertVersion(proto, static_cast<int>(kOpset));
    batch_norms.restore(*converted.mutable_graph());
    return converted;
  } catch (const std::exception& error) {
    throw Unsupported(
        join("opset ", version, " cannot be converted to ", kOpset, ": ", error.what()));
  }
}

}  // namespace lockstep
