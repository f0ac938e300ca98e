// SPDX-License-Identifier: Apache-2.0
// Fields of named sections as keys: DATASETS.mine.IMAGES.
#pragma once

#include <optional>
#include <string>

#include "app/config/key.h"

namespace lockstep {

struct NamedField {
  ConfigKey key;        // of a string, which the section gets with the first look at it
  std::string section;  // the key that it belongs to: DATASETS
};

// None where `name` is no field of a named section.
std::optional<NamedField> find_field(const ConfigKeys& keys, const std::string& name);

// Throws, beginning with `at`, for a name below such a key that is no field.
void refuse_field(const ConfigKeys& keys, const std::string& name, const std::string& at);

}  // namespace lockstep
