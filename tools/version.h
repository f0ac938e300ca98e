// What this binary is, and what it was built with.
#pragma once

#include <string>

namespace lockstep {

std::string version_text();

}  // namespace lockstep
