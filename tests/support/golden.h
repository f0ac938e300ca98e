// Golden texts in tests/golden. LOCKSTEP_UPDATE_GOLDEN=1 writes them anew.
#pragma once

#include <string>

namespace lockstep::testing {

void expect_golden(const std::string& name, const std::string& text);

}  // namespace lockstep::testing
