// SPDX-License-Identifier: Apache-2.0
// Dispatch of kernels that sum values of type T and send them as type W.
#pragma once

#include "operators/kit/dispatch.h"

namespace lockstep {

// Calls make.operator()<T, W>(). The law has checked that only float32 is sent as another type.
template <class Make>
std::unique_ptr<Kernel> dispatch_wire(DType dtype, DType wire, const Make& make) {
  if (is_narrow(wire))
    return with_narrow(wire, [&]<class W>() -> std::unique_ptr<Kernel> {
      return make.template operator()<float, W>();
    });
  return dispatch<Numbers>(dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return make.template operator()<T, T>();
  });
}

}  // namespace lockstep
