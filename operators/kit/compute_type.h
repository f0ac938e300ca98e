// SPDX-License-Identifier: Apache-2.0
// The type in which CPU loops compute values of type T. A result is rounded to T once.
#pragma once

#include <type_traits>

#include "lockstep/types.h"

namespace lockstep {

template <class T>
using Widened = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

}  // namespace lockstep
