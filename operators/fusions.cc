#include "operators/fusions.h"

#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {

std::vector<Rewrite> fusions() { return {fuse_batch_norms, fuse_convolutions, fuse_updates}; }

}  // namespace lockstep
