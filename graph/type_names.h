// SPDX-License-Identifier: Apache-2.0
// Tables of a library's names for element types.
#pragma once

#include <cstddef>
#include <utility>

#include "lockstep/types.h"

namespace lockstep {

// A library's name for an element type.
template <class Name>
using TypeName = std::pair<DType, Name>;
template <class Name, std::size_t count>
Name name_in(const TypeName<Name> (&names)[count], DType type, const char* library) {
  for (const auto& [known, name] : names)
    if (known == type) return name;
  fail_as<Unsupported>(library, " does not take ", type);
}

}  // namespace lockstep
