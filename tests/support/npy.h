// NumPy's .npy files, for the Python oracles.
#pragma once

#include <string>

#include "graph/literal.h"

namespace lockstep::testing {

void write_npy(const std::string& path, const Literal& value);

}  // namespace lockstep::testing
