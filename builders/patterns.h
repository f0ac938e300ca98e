// Names with * and ?, as users write them to pick parameters.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace lockstep
