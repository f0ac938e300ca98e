// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/precision.h"

#include <algorithm>

#include "graph/passes/copy.h"
#include "graph/placement.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class PrecisionPass {
 public:
  PrecisionPass(const Graph& from, const PrecisionOptions& options)
      : from_(from),
        narrow_(options.narrow),
        known_(options.known),
        copy_(from),
        to_(copy_.to()),
        cast_(from.value_count()) {
    check(is_narrow(narrow_), "precision: ", narrow_names(), ", not ", narrow_);
    for (Value output : from.outputs()) known_.insert(from.name(output));
  }

  Graph run() {
    for (int index = 0; index < from_.node_count(); ++index) copy(from_.node(index));
    for (Value output : from_.outputs()) to_.output(of_type(output, from_.dtype(output)));
    return std::move(to_);
  }

 private:
  // Returns the value in the given type; each cast is made once.
  Value of_type(Value old, DType type) {
    const Value made = copy_.of(old);
    if (to_.dtype(made) == type) return made;
    Value& other = cast_[old.id];
    if (!other) other = cast(made, type, copy_.fresh_name(join(to_.name(made), "/", type)));
    return other;
  }

  Value cast(Value from, DType type, const std::string& name) {
    ReplicaScope replica(to_, to_.producer(from) ? home_of(to_, from) : to_.replica());
    return to_.add_value(
        {.type = "Cast", .inputs = {from}, .attributes = {{"to", static_cast<int64_t>(type)}}},
        name);
  }

  bool may_narrow(const Node& node, std::size_t input) const {
    const Value old = node.inputs()[input];
    const std::vector<int>& wide = node.op()->narrow.wide_inputs;
    return old && from_.dtype(old) == DType::float32 &&
           std::find(wide.begin(), wide.end(), static_cast<int>(input)) == wide.end();
  }

  bool is_narrowed(const Node& node) {
    if (!node.op() || node.op()->narrow.when == Narrow::never) return false;
    bool any = false, all = true;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (!may_narrow(node, i)) continue;
      const bool narrow = to_.dtype(copy_.of(node.inputs()[i])) == narrow_;
      // A constant is cast for each user, so it decides nothing.
      any = any || narrow || node.op()->narrow.when == Narrow::always;
      all = all && (narrow || from_.literal(node.inputs()[i]));
    }
    return any && (all || node.op()->narrow.when == Narrow::always);
  }

  void copy(const Node& node) {
    const bool narrow = is_narrowed(node);
    ReplicaScope replica(to_, node.replica());
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value old = node.inputs()[i];
      inputs.push_back(
          !old ? none : of_type(old, narrow && may_narrow(node, i) ? narrow_ : from_.dtype(old)));
    }
    copy_.copy(node, inputs);
    for (Value output : node.outputs())
      if (output) keep_type(output);
  }

  // Restores the type of a `known` value by a cast.
  void keep_type(Value old) {
    const Value made = copy_.of(old);
    if (to_.dtype(made) == from_.dtype(old) || !known_.count(from_.name(old))) return;
    to_.rename(made, copy_.fresh_name(join(from_.name(old), "/", narrow_)));
    cast_[old.id] = cast(made, from_.dtype(old), from_.name(old));
  }

  const Graph& from_;
  const DType narrow_;
  std::set<std::string> known_;
  GraphCopy copy_;
  Graph& to_;
  std::vector<Value> cast_;  // the value in the other type, if requested
};

}  // namespace

Graph in_precision(const Graph& graph, const PrecisionOptions& options) {
  return PrecisionPass(graph, options).run();
}

}  // namespace lockstep
