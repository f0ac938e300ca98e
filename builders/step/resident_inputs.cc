// SPDX-License-Identifier: Apache-2.0
#include "builders/step/resident_inputs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/listed.h"
#include "graph/passes/copy.h"
#include "operators/resident/resident.h"

namespace lockstep {
namespace {

std::vector<Net::Named> inputs_named(const OneReplica& one, const std::vector<std::string>& names) {
  const std::vector<Net::Named>& inputs = one.parts[0].inputs;
  std::vector<Net::Named> found;
  for (const std::string& name : names) {
    const auto at = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const Net::Named& input) { return input.name == name; });
    std::vector<std::string> known;
    for (const Net::Named& input : inputs) known.push_back("'" + input.name + "'");
    check(at != inputs.end(), "the network has no input '", name,
          "' that could be resident; its inputs: ", listed(known));
    found.push_back(*at);
  }
  return found;
}

class Holder {
 public:
  Holder(OneReplica& one, const ResidentInputs& resident)
      : one_(one),
        capacity_(resident.limits.capacity),
        rows_(inputs_named(one, resident.rows)),
        states_(inputs_named(one, resident.states)),
        copy_(one.graph, [this](Value input) { return !held(input); }) {}

  void run() {
    std::vector<Net::Named> fed;
    hold(rows_, kMinibatch, fed);
    hold(states_, kSequences, fed);
    for (int index = 0; index < one_.graph.node_count(); ++index)
      copy_.take(one_.graph.node(index));
    std::vector<Net::Named>& inputs = one_.parts[0].inputs;
    std::erase_if(inputs, [this](const Net::Named& input) { return held(input.value); });
    one_.for_each_value([this](Value& value) { value = copy_.of(value); });
    inputs.insert(inputs.end(), fed.begin(), fed.end());
    one_.graph = copy_.finish();
  }

 private:
  bool held(Value input) const {
    const auto is = [input](const Net::Named& each) { return each.value == input; };
    return std::any_of(rows_.begin(), rows_.end(), is) ||
           std::any_of(states_.begin(), states_.end(), is);
  }

  Value new_input(const std::string& name, const TensorType& type, const std::string& what) {
    check_free(one_.graph, name, what);
    return copy_.to().input(name, type);
  }

  // Replaces inputs by slices of states. All `inputs` have the same number of rows and use the same
  // slice.
  void hold(const std::vector<Net::Named>& inputs, const MinibatchFeeds& feeds,
            std::vector<Net::Named>& fed) {
    if (inputs.empty()) return;
    Graph& graph = copy_.to();
    const TensorType& first = one_.graph.type(inputs[0].value);
    for (const Net::Named& input : inputs) {
      const TensorType& type = one_.graph.type(input.value);
      check(!type.shape.empty() && type.shape[0] == first.shape[0], "the resident inputs '",
            inputs[0].name, "' ", first, " and '", input.name, "' ", type,
            " should have the same first dimension");
    }
    const Value index =
        new_input(feeds.index, {DType::int64, {}}, "the index of its first row in the batch");
    const Value size = new_input(feeds.size, {DType::float32, {first.shape[0], 0}},
                                 "the number of its rows in the batch");
    fed.insert(fed.end(), {{feeds.index, index}, {feeds.size, size}});
    for (const Net::Named& input : inputs) {
      const std::string& origin = one_.graph.origin(input.value);
      std::optional<OriginScope> at;
      if (!origin.empty()) at.emplace(graph, origin);
      TensorType type = one_.graph.type(input.value);
      type.shape[0] = capacity_;
      one_.held.push_back(resident_state(input.name));
      const Value held = new_input(one_.held.back(), type, "the batch's '" + input.name + "'");
      copy_.set(input.value, slice_resident(graph, held, index, size, Site(input.name)));
    }
  }

  OneReplica& one_;
  const Dim capacity_;
  const std::vector<Net::Named> rows_, states_;
  GraphCopy copy_;
};

}  // namespace

void hold_resident_inputs(OneReplica& one, const ResidentInputs& resident) {
  Holder(one, resident).run();
}

}  // namespace lockstep
