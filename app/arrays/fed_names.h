// SPDX-License-Identifier: Apache-2.0
// Values of the configuration by the names of the tensors that a network is fed.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "app/arrays/example_set.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {

inline void add_new(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(name);
}

template <class T>
T value_or(const std::map<std::string, T>& values, const std::string& name, const T& otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

// Throws for a name that no step is fed: the value would have no effect.
template <class T>
void check_fed(const char* key, const std::map<std::string, T>& values,
               const std::vector<FedArray>& fed) {
  std::vector<std::string> names;
  for (const FedArray& array : fed) names.push_back(array.name);
  for (const auto& [name, unused] : values)
    check(std::find(names.begin(), names.end(), name) != names.end(), Key{key}, " names '", name,
          "', but a step is fed ", listed(names));
}

}  // namespace lockstep
