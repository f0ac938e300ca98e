// SPDX-License-Identifier: Apache-2.0
// The options of CumSum.
#pragma once

#include "lockstep/kernel.h"
#include "operators/kit/axis_loop.h"

namespace lockstep {

struct RunningSums {
  AroundAxis around;
  bool exclusive;  // the sum excludes the element itself
  bool reverse;    // sums from the axis's end

  explicit RunningSums(const KernelRequest& request)
      : around(request.in[0].dims, request.integers(1).at(0)),
        exclusive(request.attributes().integer("exclusive", 0) != 0),
        reverse(request.attributes().integer("reverse", 0) != 0) {}
};

}  // namespace lockstep
