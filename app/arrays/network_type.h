// SPDX-License-Identifier: Apache-2.0
// The networks of the task: the values of MODEL.TYPE.
#pragma once

#include <string>
#include <vector>

#include "app/arrays/config.h"
#include "lockstep/model_files.h"

namespace lockstep {

struct NetworkType {
  std::string name;               // MODEL.TYPE
  std::string meaning;            // of the name, for the page of keys
  std::vector<std::string> keys;  // the keys that this type reads, and not every type

  void (*check)(const ArraysConfig& config);         // throws for values that do not fit
  std::string (*title)(const ArraysConfig& config);  // for people and errors
  // The network, with its initial values as initializers. Same configuration, same bits.
  LoadedModel (*load)(const ArraysConfig& config);
};

const std::vector<NetworkType>& network_types();
std::vector<std::string> network_type_names();
// The type of this MODEL.TYPE; null if there is none.
const NetworkType* find_network_type(const std::string& name);
// The type of a checked configuration.
const NetworkType& network_type(const ArraysConfig& config);

}  // namespace lockstep
