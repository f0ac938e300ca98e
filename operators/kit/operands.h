// SPDX-License-Identifier: Apache-2.0
// Optional operands and results of a kernel.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// The operand's or result's data; null if it is omitted.
template <class T>
const T* operand(const KernelArgs& args, std::size_t i) {
  return i < args.in.size() ? args.in[i].as<const T>() : nullptr;
}
template <class T>
T* result(const KernelArgs& args, std::size_t i) {
  return i < args.out.size() ? args.out[i].as<T>() : nullptr;
}

}  // namespace lockstep
