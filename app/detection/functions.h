// SPDX-License-Identifier: Apache-2.0
// The functions that a detector's file names: bodies, heads, blocks. A name may carry any of the
// module prefixes that Detectron accepted; here each has one spelling, Detectron's own.
#pragma once

#include <string>
#include <vector>

#include "app/detection/detector_config.h"
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

// The one spelling of a name. `was_old`: it is a former name. Throws for an unknown one, with the
// nearest.
struct FunctionName {
  std::string name;
  bool was_old = false;
};
FunctionName function_named(const FunctionKey& key, const std::string& spelled);

}  // namespace lockstep
