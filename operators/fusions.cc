// SPDX-License-Identifier: Apache-2.0
#include "operators/fusions.h"

#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/elementwise/bytes.h"
#include "operators/elementwise/casts.h"
#include "operators/optimizer/optimizer.h"
#include "operators/pool/pool.h"
#include "operators/reduce/channel_sums.h"

namespace lockstep {

Rewrites gpu_fusions() {
  return {.before_layouts = {fuse_byte_tables, fold_batch_norms, fuse_batch_norms,
                             fuse_convolutions_and_sums, fuse_gradient_sums, fuse_channel_sums,
                             keep_places_of_maxima, fuse_updates, keep_copies, fuse_casts}};
}

Rewrites cpu_fusions() {
  return {.before_layouts = {fuse_byte_tables, fold_batch_norms, fuse_batch_norms_and_clips,
                             fuse_convolutions, fuse_channel_sums, fuse_small_updates},
          .after_layouts = {keep_copies}};
}

}  // namespace lockstep
