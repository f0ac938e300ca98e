// SPDX-License-Identifier: Apache-2.0
// Conversion of known small integer vectors to literals. For graph/ only.
#pragma once

#include <optional>

#include "lockstep/attributes.h"

namespace lockstep {

// Returns the content of a value of `type` as a literal; empty if the content has a symbol.
std::optional<Literal> literal_of(const Shape& content, const TensorType& type);

}  // namespace lockstep
