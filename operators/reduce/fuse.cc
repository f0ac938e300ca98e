// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/passes/copy.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "operators/reduce/channel_sums.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

void channel_sums_law(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 0, 2);
  const TensorType& x = inference.input(0);
  check(computes_in_float32(x.dtype), inference.name_of(0), ", is ", x, ", should be of float32, ",
        narrow_names());
  const int64_t axis = inference.attributes.integer("axis", 1);
  const auto rank = static_cast<int64_t>(x.shape.size());
  check(axis >= 0 && axis < rank, "axis is ", axis, ", should be in [0, ", rank, ")");
  inference.outputs[0] = {DType::float32, {x.shape[axis]}};
}

class ChannelSumFusion {
 public:
  ChannelSumFusion(const Graph& from, const std::set<std::string>& known)
      : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find(from_.node(i));
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      const Node node = from_.node(i);
      if (const auto sum = axis_of_.find(i); sum != axis_of_.end())
        copy.replace(node, {.type = "ChannelSums",
                            .domain = kOwnDomain,
                            .inputs = {copy.of(cast_before(node)->inputs()[0])},
                            .attributes = {{"axis", sum->second}}});
      else if (!gone_.contains(i))
        copy.copy(node);
    }
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  void find(const Node& node) {
    const auto axis = axis_kept_by(node);
    const auto cast = axis ? cast_before(node) : std::nullopt;
    if (!cast) return;
    axis_of_[node.index()] = *axis;
    gone_.insert(cast->index());
  }

  // The dimension that a ReduceSum keeps, if it keeps exactly one.
  std::optional<int64_t> axis_kept_by(const Node& node) const {
    if (node.type() != "ReduceSum" || !node.domain().empty() || node.inputs().size() < 2 ||
        !node.inputs()[1] || node.attributes().integer("keepdims", 1) != 0)
      return {};
    const Literal* const axes = from_.literal(node.inputs()[1]);
    const std::size_t rank = from_.shape(node.inputs()[0]).size();
    if (!axes || rank < 2) return {};
    const std::vector<int64_t> reduced = normal_axes(axes->integers(), rank);
    const std::set<int64_t> gone(reduced.begin(), reduced.end());
    if (gone.size() + 1 != rank) return {};
    int64_t kept = 0;
    while (gone.contains(kept)) ++kept;
    return kept;
  }

  // The cast that widens the sum's operand and has no other reader.
  std::optional<Node> cast_before(const Node& sum) const {
    const Value x = sum.inputs()[0];
    const auto cast = from_.producer(x);
    if (!cast || cast->type() != "Cast" || !cast->domain().empty() ||
        cast->replica() != sum.replica() || from_.dtype(x) != DType::float32 ||
        !is_narrow(from_.dtype(cast->inputs()[0])) || from_.consumers(x).size() != 1 ||
        known_.contains(from_.name(x)))
      return {};
    return cast;
  }

  std::vector<std::string> notes() const {
    if (axis_of_.empty()) return {};
    return {join(axis_of_.size(),
                 " of a cast and the sum behind it: 16 bits are read as they lie, and no float32 "
                 "is written")};
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<int, int64_t> axis_of_;  // the dimension that is kept, by the index of the sum's node
  std::set<int> gone_;              // casts
};

}  // namespace

Rewritten fuse_channel_sums(const Graph& graph, const RewriteContext& context) {
  return ChannelSumFusion(graph, context.values).run();
}

Op channel_sums_op() {
  return {.type = "ChannelSums",
          .domain = kOwnDomain,
          .no_body = kOnlyPlanned,
          .signature = Signature{"Sums over all dimensions but one, in float32; in plans only.",
                                 {{"x", "T"}},
                                 {{"y", "U"}},
                                 {{"axis", AttributeKind::integer, true}}},
          .law = channel_sums_law,
          .flops = per_operand<1>};
}

}  // namespace lockstep
