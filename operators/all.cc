#include "operators/all.h"

#include "operators/activation/activation.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/collective/collective.h"
#include "operators/conv/conv.h"
#include "operators/dropout/dropout.h"
#include "operators/elementwise/elementwise.h"
#include "operators/fill/fill.h"
#include "operators/function/function.h"
#include "operators/gather/gather.h"
#include "operators/gemm/gemm.h"
#include "operators/layout/layout.h"
#include "operators/loss/loss.h"
#include "operators/norm/norm.h"
#include "operators/optimizer/optimizer.h"
#include "operators/pool/pool.h"
#include "operators/process/process.h"
#include "operators/reduce/reduce.h"
#include "operators/resize/resize.h"
#include "operators/shape/shape.h"

namespace lockstep {

const OpSet& all_ops() {
  static const OpSet ops = [] {
    std::vector<Op> all;
    for (auto room :
         {activation_ops, batch_norm_ops, collective_ops, conv_ops, dropout_ops, elementwise_ops,
          fill_ops, function_ops, gather_ops, gemm_ops, layout_ops, loss_ops, norm_ops,
          optimizer_ops, pool_ops, process_ops, reduce_ops, resize_ops, shape_ops})
      for (Op& op : room()) all.push_back(std::move(op));
    return OpSet(std::move(all));
  }();
  return ops;
}

}  // namespace lockstep
