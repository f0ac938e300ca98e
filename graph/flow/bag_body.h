// SPDX-License-Identifier: Apache-2.0
// The body of a loop over bags, computed for all iterations at once. For bag_loop.cc.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/flow/bag_items.h"

namespace lockstep {

// Computes the body of one loop, or of a loop in its body. Throws NoBagLoop for any other body.
class BagBody {
 public:
  using Items = std::unordered_map<std::string, BagItem>;  // by names in the body
  BagBody(FlowImporter& importer, BagNodes& nodes, FlowImporter::Scope& scope, bool guarded)
      : importer_(importer),
        nodes_(nodes),
        graph_(nodes.graph()),
        scope_(scope),
        guarded_(guarded) {}

  // Adds `items` for the results of the body's nodes.
  void add(const onnx::GraphProto& body, Items& items);
  BagItem find(const std::string& name, const Items& items) const;

 private:
  void add(const onnx::NodeProto& node, Items& items);
  BagItem result_of(const onnx::NodeProto& node, const std::vector<BagItem>& in);
  BagItem inserted(const std::vector<BagItem>& in);
  BagItem gathered(const onnx::NodeProto& node, const std::vector<BagItem>& in);
  BagItem sliced(const std::vector<BagItem>& in);
  // One element stays one element. A row of a table may get another axis.
  BagItem reshaped(const std::string& type, const std::vector<BagItem>& in);
  BagItem reduced(const onnx::NodeProto& node, const std::vector<BagItem>& in);
  // A cast of a constant by CastLike stays a constant.
  BagItem cast(const BagItem& x, DType type);
  BagItem elementwise(const onnx::NodeProto& node, const std::vector<BagItem>& in);
  std::optional<int64_t> offset_of(const std::string& type, const std::vector<BagItem>& in);
  // An operand in the form that broadcasts with the values of `made`.
  Value beside(const BagItem& made, const BagItem& item);
  void add_if(const onnx::NodeProto& node, Items& items);
  BagItem chosen(Value condition, const BagItem& a, const BagItem& b);
  // A loop over the positions of one bag that collects some of the positions. `body` is computed
  // for the positions of all bags.
  void add_selection(const onnx::NodeProto& node, Items& items);
  // The vector that the loop over positions reads.
  Value table_at(const onnx::GraphProto& body, const std::string& position, const Items& items);
  static void drop_condition(onnx::GraphProto& body);

  FlowImporter& importer_;
  BagNodes& nodes_;
  Graph& graph_;
  FlowImporter::Scope& scope_;
  bool guarded_;  // in a branch
};

// The node that decides if the loop goes on, an operator of two operands; null for other bodies.
const onnx::NodeProto* condition_of(const onnx::GraphProto& body);

}  // namespace lockstep
