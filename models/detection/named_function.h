// SPDX-License-Identifier: Apache-2.0
// Finds a function of the catalogue by the name that a key has.
#pragma once

#include <string>
#include <vector>

#include "graph/nearest.h"
#include "lockstep/error.h"
#include "models/detection/catalogue.h"

namespace lockstep {

// Throws, with the nearest name, if no function has the name.
template <class Function>
const Function& function_named_by(const char* key, const std::vector<Function>& functions,
                                  const std::string& name) {
  if (const Function* function = function_in(functions, name)) return *function;
  std::vector<std::string> names;
  for (const Function& function : functions) names.push_back(function.name);
  const std::string near = nearest(name, names);
  fail(key, ": no function '", name, "'",
       near.empty() ? "" : join("; the nearest is '", near, "'"));
}

}  // namespace lockstep
