// SPDX-License-Identifier: Apache-2.0
// The rule for entries of the metadata of a model and of a safetensors file.
#pragma once

#include <string>

namespace lockstep {

// Throws for a control character. Lists of names are lines, and texts of other programs have line
// breaks and tabs, so a value may have them, too.
void check_metadata(const std::string& key, const std::string& value);

}  // namespace lockstep
