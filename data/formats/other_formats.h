// SPDX-License-Identifier: Apache-2.0
// Formats that Lockstep does not read, known by their first bytes, so that messages can name them.
#pragma once

#include <string_view>

namespace lockstep {

// "a GIF file"; empty if the bytes begin like nothing that is listed.
std::string_view name_of_other_format(std::string_view bytes);

}  // namespace lockstep
