// SPDX-License-Identifier: Apache-2.0
// This binary's version, and the libraries it was built with.
#pragma once

#include <string>

namespace lockstep {

std::string version_text();

}  // namespace lockstep
