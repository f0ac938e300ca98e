// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/casts.h"

#include <algorithm>
#include <map>

#include "graph/passes/copy.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

void casts_law(Inference& inference) {
  const auto to = static_cast<DType>(inference.attributes.integer("to", 0));
  check(is_narrow(to), "casts to ", narrow_names(), ", not to ", to);
  check(inference.inputs.size() == inference.outputs.size(), "has ", inference.inputs.size(),
        " inputs and ", inference.outputs.size(), " outputs");
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    demand_type(inference, i, DType::float32);
    inference.outputs[i] = {to, inference.input(i).shape};
  }
}

class CastFusion {
 public:
  explicit CastFusion(const Graph& from) : from_(from) {}

  Rewritten run() {
    std::map<std::pair<int, DType>, std::vector<int>> alike;  // by replica and result
    for (int i = 0; i < from_.node_count(); ++i)
      if (casts_parameter(from_.node(i)))
        alike[{from_.node(i).replica(), from_.dtype(from_.node(i).outputs()[0])}].push_back(i);
    std::map<int, std::vector<int>> by_first;
    std::set<int> gone;
    std::vector<std::string> notes;
    for (auto& [key, casts] : alike) {
      if (casts.size() < 2) continue;
      gone.insert(casts.begin(), casts.end());
      notes.push_back(join(casts.size(), " casts of parameters of replica ", key.first, " to ",
                           key.second, ": one launch for all"));
      by_first[casts.front()] = std::move(casts);
    }
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i)
      if (const auto casts = by_first.find(i); casts != by_first.end())
        write(copy, casts->second);
      else if (!gone.contains(i))
        copy.copy(from_.node(i));
    return {copy.finish(), copy.moved(), std::move(notes)};
  }

 private:
  // True if the node casts a parameter: an input that a node other than a cast also reads in 32
  // bits (the update).
  bool casts_parameter(const Node& node) const {
    if (node.type() != "Cast" || !node.domain().empty()) return false;
    const Value x = node.inputs()[0];
    if (!is_narrow(from_.dtype(node.outputs()[0])) || from_.dtype(x) != DType::float32 ||
        from_.producer(x) || from_.literal(x))
      return false;
    return std::ranges::any_of(from_.consumers(x),
                               [&](int user) { return from_.node(user).type() != "Cast"; });
  }

  void write(GraphCopy& copy, const std::vector<int>& casts) const {
    std::vector<Value> inputs;
    std::vector<std::string> names;
    for (int cast : casts) {
      inputs.push_back(copy.of(from_.node(cast).inputs()[0]));
      names.push_back(from_.name(from_.node(cast).outputs()[0]));
    }
    const Node first = from_.node(casts.front());
    const auto to = static_cast<int64_t>(from_.dtype(first.outputs()[0]));
    const Node made = copy.add({.type = "Casts",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = {{"to", to}},
                                .output_names = std::move(names)},
                               first);
    for (std::size_t k = 0; k < casts.size(); ++k)
      copy.set(from_.node(casts[k]).outputs()[0], made.outputs()[k]);
  }

  const Graph& from_;
};

}  // namespace

Rewritten fuse_casts(const Graph& graph, const RewriteContext&) { return CastFusion(graph).run(); }

Op casts_op() {
  return {.type = "Casts",
          .domain = kOwnDomain,
          .no_body = kOnlyPlanned,
          .signature = Signature{"Cast of many tensors; in plans only.",
                                 {{"x", "T", Arity::variadic}},
                                 {{"y", "U", Arity::variadic}},
                                 {{"to", AttributeKind::integer, true}}},
          .law = casts_law,
          .flops = no_flops};
}

}  // namespace lockstep
