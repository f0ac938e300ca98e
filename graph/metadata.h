// SPDX-License-Identifier: Apache-2.0
// The rule for metadata entries of a model and of a safetensors file.
#pragma once

#include <string>

namespace lockstep {

// Throws for a control character. A value may have line breaks and tabs: a list of names has one
// name per line, and texts of other programs contain both.
void check_metadata(const std::string& key, const std::string& value);

}  // namespace lockstep
