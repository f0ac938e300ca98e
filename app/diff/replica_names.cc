// SPDX-License-Identifier: Apache-2.0
#include "app/diff/replica_names.h"

#include <algorithm>

namespace lockstep {

ReplicaNames::ReplicaNames(const TrainingModel& model)
    : scopes_(static_cast<std::size_t>(std::max(model.replicas, 1))) {
  const auto learn = [&](const Replicated& item) {
    for (std::size_t k = 0; k < std::min(scopes_.size(), item.values.size()); ++k) {
      const std::string& value = item.values[k];
      if (scopes_[k].empty() && value.size() > item.name.size() && value.ends_with(item.name) &&
          value[value.size() - item.name.size() - 1] == '/')
        scopes_[k] = value.substr(0, value.size() - item.name.size());
    }
  };
  for (const State& state : model.states) learn(state);
  for (const StepInput& input : model.inputs) learn(input);
  for (std::size_t k = 0; k < scopes_.size(); ++k) {
    if (scopes_[k].empty() || !replicas_.emplace(scopes_[k], static_cast<int>(k)).second) continue;
    if (std::find(lengths_.begin(), lengths_.end(), scopes_[k].size()) == lengths_.end())
      lengths_.push_back(scopes_[k].size());
  }
}

ScopedName ReplicaNames::of(std::string_view name) const {
  for (const std::size_t length : lengths_) {
    if (name.size() <= length || name[length - 1] != '/') continue;
    if (const auto found = replicas_.find(name.substr(0, length)); found != replicas_.end())
      return {found->second, name.substr(length)};
  }
  return {kEveryReplica, name};
}

}  // namespace lockstep
