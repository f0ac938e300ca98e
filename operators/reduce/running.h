// What CumSum adds up.
#pragma once

#include "operators/kit/axis.h"
#include "runtime/kernel.h"

namespace lockstep {

struct RunningSums {
  AroundAxis around;
  bool exclusive;  // an element's sum is that of those before it
  bool reverse;    // from the axis' end

  explicit RunningSums(const KernelRequest& request)
      : around(request.in[0].dims, request.integers(1).at(0)),
        exclusive(request.attributes().integer("exclusive", 0) != 0),
        reverse(request.attributes().integer("reverse", 0) != 0) {}
};

}  // namespace lockstep
