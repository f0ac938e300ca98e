// SPDX-License-Identifier: Apache-2.0
// The functions that a detector's file names: bodies, heads, blocks. A name may have any module
// prefix that Detectron accepted; the value is normalised to Detectron's spelling.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "graph/print.h"
#include "models/detection/catalogue.h"

namespace lockstep {

// A key that names a function.
struct FunctionKey {
  std::string key;
  std::string& (*value)(DetectorConfig& config);
  std::vector<NamedFunction> functions;
};
const std::vector<FunctionKey>& function_keys();
std::vector<std::string> names_of(const FunctionKey& key);

// The normalised spelling of a name. `was_old` is true for a former name. Throws for an unknown
// name, and suggests the nearest.
struct FunctionName {
  std::string name;
  bool was_old = false;
};
FunctionName function_named(const FunctionKey& key, const std::string& spelled);

}  // namespace lockstep
