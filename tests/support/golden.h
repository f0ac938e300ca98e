// Golden texts in tests/golden. LOCKSTEP_UPDATE_GOLDEN=1 writes them anew.
#pragma once

#include <string>

namespace lockstep::testing {

// A file of the source tree.
std::string source_path(const std::string& name);

void expect_golden(const std::string& name, const std::string& text);

}  // namespace lockstep::testing
