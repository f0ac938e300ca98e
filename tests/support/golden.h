// SPDX-License-Identifier: Apache-2.0
// Golden texts in tests/golden. LOCKSTEP_UPDATE_GOLDEN=1 rewrites them.
#pragma once

#include <string>

namespace lockstep::testing {

// The path of a file in the source tree.
std::string source_path(const std::string& name);

void expect_golden(const std::string& name, const std::string& text);

}  // namespace lockstep::testing
