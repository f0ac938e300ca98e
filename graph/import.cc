#include "graph/import.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <map>

#include "graph/onnx.h"
#include "graph/opset/newer_opsets.h"
#include "graph/opset/sequences.h"

namespace lockstep {
namespace {

// Operands before users. ONNX demands that order of files, yet tools write others.
std::vector<int> sorted_nodes(const onnx::GraphProto& proto, const std::set<std::string>& given) {
  std::map<std::string, int> producer;
  for (int i = 0; i < proto.node_size(); ++i)
    for (const std::string& name : proto.node(i).output())
      if (!name.empty())
        check(producer.emplace(name, i).second && !given.count(name),
              "two nodes, or a node and an ", "input, make the value '", name, "'");
  std::vector<int> order;
  std::vector<char> state(proto.node_size(), 0);  // 0 unseen, 1 under way, 2 done
  std::vector<std::pair<int, int>> stack;         // node, next input
  for (int start = 0; start < proto.node_size(); ++start) {
    if (state[start] != 0) continue;
    stack.push_back({start, 0});
    state[start] = 1;
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      const onnx::NodeProto& node = proto.node(index);
      if (next == node.input_size()) {
        state[index] = 2;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      const std::string& name = node.input(next++);
      auto found = producer.find(name);
      if (found == producer.end()) {
        check(name.empty() || given.count(name), "node '",
              node.name().empty() ? node.output(0) : node.name(), "' (", node.op_type(),
              ") reads '", name, "', which nothing makes");
      } else if (state[found->second] == 1) {
        std::string cycle;
        for (const auto& [on_stack, unused] : stack)
          cycle += proto.node(on_stack).output(0) + " -> ";
        fail("the graph has a cycle: ", cycle, name);
      } else if (state[found->second] == 0) {
        state[found->second] = 1;
        stack.push_back({found->second, 0});
      }
    }
  }
  return order;
}

void import_state(const onnx::TensorProto& tensor, const ImportOptions& options, Graph& graph) {
  graph.input(tensor.name(), {static_cast<DType>(tensor.data_type()),
                              Shape(tensor.dims().begin(), tensor.dims().end())});
  if (options.values && !options.values->count(tensor.name()))
    options.values->emplace(tensor.name(), from_proto(tensor, options.directory, tensor.name()));
}

// Does every standard operator of the graph mean at opset `version` what it means at ours?
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

// Before opset 7 a PRelu's slope of one dimension was one per channel, wherever the channel stood;
// now it broadcasts like any operand. The version converter leaves it alone.
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

// Before opset 14 a BatchNormalization was told to train by having more outputs; the version
// converter refuses those. They are taken off first, and put back as training_mode after.
class OldTrainingBatchNorms {
 public:
  explicit OldTrainingBatchNorms(onnx::GraphProto& graph) {
    std::set<std::string> used;
    for (const auto& node : graph.node()) used.insert(node.input().begin(), node.input().end());
    for (auto& node : *graph.mutable_node()) {
      if (node.op_type() != "BatchNormalization" || node.output_size() < 2) continue;
      for (int i = 3; i < node.output_size(); ++i)
        supported(!used.count(node.output(i)), "'", node.output(i),
                  "', a saved statistic of BatchNormalization, is used");
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

// A Constant node's contents in any of its spellings.
Literal constant_of(const onnx::NodeProto& node) {
  std::vector<const onnx::AttributeProto*> attributes;
  for (const auto& attribute : node.attribute()) attributes.push_back(&attribute);
  const std::string name = node.output_size() > 0 ? node.output(0) : node.name();
  AttributeReader reader(name, attributes);
  if (reader.has("value")) return reader.literal("value");
  if (reader.has("value_int")) return Literal::scalar(reader.integer("value_int", 0));
  if (reader.has("value_float")) return Literal::scalar(reader.number("value_float", 0));
  if (reader.has("value_ints")) return Literal::vector(reader.integers("value_ints"));
  if (reader.has("value_floats")) {
    std::vector<float> values = reader.numbers("value_floats");
    return Literal::of<float>(values, {static_cast<int64_t>(values.size())});
  }
  throw Unsupported(join("constant '", name, "' holds neither numbers nor a dense tensor"));
}

void list_unknown(const onnx::GraphProto& proto, const OpSet& ops, int64_t opset,
                  std::map<std::string, std::vector<std::string>>& unknown) {
  for (const auto& node : proto.node()) {
    std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (domain.empty() &&
        (written_with_older(node.op_type(), opset) || SplitSequences::knows(node.op_type())))
      continue;
    if (!ops.find(domain, node.op_type()))
      unknown[domain.empty() ? node.op_type() : domain + "." + node.op_type()].push_back(
          node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
  }
}

}  // namespace

Graph import_graph(const onnx::GraphProto& proto, const std::string& name,
                   const ImportOptions& options) {
  Graph graph(options.ops, name);
  std::set<std::string> given;
  auto add_initializer = [&](const onnx::TensorProto& tensor) {
    if (!given.insert(tensor.name()).second) return;
    if (options.states.count(tensor.name()))
      import_state(tensor, options, graph);
    else
      graph.constant(tensor.name(), from_proto(tensor, options.directory, tensor.name()));
  };
  for (const auto& tensor : proto.initializer()) add_initializer(tensor);
  std::set<std::string> used;
  for (const auto& node : proto.node()) used.insert(node.input().begin(), node.input().end());
  for (const auto* tensor : options.outer)
    if (used.count(tensor->name()) && options.states.count(tensor->name()))
      add_initializer(*tensor);
  for (const auto& input : proto.input()) {
    if (!given.insert(input.name()).second) continue;
    supported(input.type().has_tensor_type(), "input '", input.name(), "' is no tensor");
    graph.input(input.name(), from_proto(input.type()));
  }
  SplitSequences sequences;
  for (int index : sorted_nodes(proto, given)) {
    onnx::NodeProto node = proto.node(index);
    if (node.domain() == "ai.onnx") node.clear_domain();
    // Known when the graph is built, so that shapes that follow from it are too.
    if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1)
      graph.constant(node.output(0), constant_of(node));
    else if (node.domain().empty() && SplitSequences::knows(node.op_type()))
      sequences.adopt(graph, std::move(node), options.opset);
    else if (node.domain().empty() && options.opset > kOpset)
      adopt_newer(graph, std::move(node), options.opset);
    else
      graph.adopt(std::move(node));
  }
  for (const auto& output : proto.output()) graph.output(graph.at(output.name()));
  return graph;
}

void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops) {
  std::map<std::string, std::vector<std::string>> unknown;
  const int64_t opset = opset_of(proto);
  list_unknown(proto.graph(), ops, opset, unknown);
  for (const auto& info : proto.training_info()) {
    list_unknown(info.initialization(), ops, opset, unknown);
    list_unknown(info.algorithm(), ops, opset, unknown);
  }
  if (unknown.empty()) return;
  std::string text;
  for (const auto& [op, nodes] : unknown) {
    text += join("\n  ", op, " (", nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ");
    for (std::size_t i = 0; i < nodes.size() && i < 5; ++i) text += (i > 0 ? ", " : "") + nodes[i];
    text += nodes.size() > 5 ? ", ..)" : ")";
  }
  throw Unsupported(join("operators that Lockstep does not have",
                         opset > kOpset ? join(" (the file is of opset ", opset, ")") : "", ":",
                         text));
}

int64_t opset_of(const onnx::ModelProto& proto) {
  supported(proto.ir_version() <= kNewestIrVersion, "IR version ", proto.ir_version(),
            " is newer than ", kNewestIrVersion, ", the newest that this version reads");
  int64_t version = -1;
  for (const auto& import : proto.opset_import()) {
    if (import.domain() == kOwnDomain)
      check(import.version() == kOwnOpset, "version ", import.version(), " of ", kOwnDomain,
            " is not known");
    if (import.domain().empty() || import.domain() == "ai.onnx") version = import.version();
  }
  if (version < 0 && proto.ir_version() < 3) version = 1;  // older files name no opset
  supported(version <= kNewestOpset, "opset ", version, " is newer than ", kNewestOpset,
            ", the newest that this version reads");
  return version;
}

onnx::ModelProto at_least_our_opset(onnx::ModelProto proto) {
  const int64_t version = opset_of(proto);
  if (version < 0 || version > kOpset || unchanged_since(proto.graph(), version)) return proto;
  try {
    onnx::shape_inference::InferShapes(proto);  // the converter asks for shapes
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
