// SPDX-License-Identifier: Apache-2.0
// Writes ZIP files, as numpy.savez and numpy.savez_compressed do.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lockstep/attributes.h"

namespace lockstep::testing {

// The bytes of a ZIP file with these members.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members, bool deflate);
// A .npz file with these arrays.
std::string npz_of(const std::vector<std::pair<std::string, Literal>>& arrays, bool deflate);

}  // namespace lockstep::testing
