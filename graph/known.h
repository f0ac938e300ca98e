// SPDX-License-Identifier: Apache-2.0
// Conversion of known small integer vectors to literals. For graph/ only.
#pragma once

#include <optional>

#include "graph/literal.h"

namespace lockstep {

// The content of a value of `type` as a literal; empty if it holds a symbol.
std::optional<Literal> literal_of(const Shape& content, const TensorType& type);

}  // namespace lockstep
