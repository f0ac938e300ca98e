// SPDX-License-Identifier: Apache-2.0
// The nested value of a YAML node.
#pragma once

#include <yaml-cpp/yaml.h>

#include "app/config/nested.h"

namespace lockstep {

Nested nested_of(const YAML::Node& node);

}  // namespace lockstep
