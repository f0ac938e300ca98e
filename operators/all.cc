// SPDX-License-Identifier: Apache-2.0
#include "lockstep/operators.h"

#include "operators/families.h"

namespace lockstep {

const OpSet& all_ops() {
  static const OpSet ops = [] {
    std::vector<Op> all;
    for_each_family<&OperatorFamily::ops>([&](auto ops, bool) {
      for (Op& op : ops()) all.push_back(std::move(op));
    });
    return OpSet(std::move(all));
  }();
  return ops;
}

}  // namespace lockstep
