// SPDX-License-Identifier: Apache-2.0
#include "operators/all.h"

#include "operators/rooms.h"

namespace lockstep {

const OpSet& all_ops() {
  static const OpSet ops = [] {
    std::vector<Op> all;
    for (auto room : {activation_ops, batch_norm_ops,  boxes_ops,  collective_ops, conv_ops,
                      dropout_ops,    elementwise_ops, fill_ops,   function_ops,   gather_ops,
                      gemm_ops,       layout_ops,      loss_ops,   norm_ops,       optimizer_ops,
                      pool_ops,       process_ops,     reduce_ops, resident_ops,   resize_ops,
                      rnn_ops,        roi_ops,         shape_ops,  targets_ops,    weighted_ops})
      for (Op& op : room()) all.push_back(std::move(op));
    return OpSet(std::move(all));
  }();
  return ops;
}

}  // namespace lockstep
