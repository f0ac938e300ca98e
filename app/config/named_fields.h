// SPDX-License-Identifier: Apache-2.0
// Fields of named sections as keys: DATASETS.mine.IMAGES.
#pragma once

#include <optional>
#include <string>

#include "app/config/key.h"

namespace lockstep {

struct NamedField {
  ConfigKey key;        // a string key; find_field() adds its text to the section
  std::string section;  // the key of the named sections: DATASETS
};

// Returns nothing if `name` is no field of a named section. Creates a field that the section lacks.
std::optional<NamedField> find_field(const ConfigKeys& keys, const std::string& name);

// Throws if `name` is below a key with named sections but is no field. The error begins with `at`.
void refuse_field(const ConfigKeys& keys, const std::string& name, const std::string& at);

}  // namespace lockstep
