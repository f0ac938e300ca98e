// SPDX-License-Identifier: Apache-2.0
// Names of a step without the scopes of its replicas: gpu_1/conv1_w is conv1_w of replica 1.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

struct ScopedName {
  int replica = kEveryReplica;  // kEveryReplica: the name has no replica's scope
  std::string_view rest;        // the name without the scope; part of the whole name
  friend bool operator==(const ScopedName&, const ScopedName&) = default;
};

struct ScopedNameHash {
  std::size_t operator()(const ScopedName& name) const {
    return std::hash<std::string_view>{}(name.rest) * 31 + static_cast<std::size_t>(name.replica);
  }
};

class ReplicaNames {
 public:
  // Reads the scopes from the names of states and inputs. A model without them has no scopes.
  explicit ReplicaNames(const TrainingModel& model);
  ReplicaNames(const ReplicaNames&) = delete;

  ScopedName of(std::string_view name) const;
  // By replica: "gpu_0/"; "" if the replica's scope is unknown.
  const std::vector<std::string>& scopes() const { return scopes_; }

 private:
  std::vector<std::string> scopes_;
  std::unordered_map<std::string_view, int> replicas_;  // by scope
  std::vector<std::size_t> lengths_;                    // of the scopes, each once
};

}  // namespace lockstep
