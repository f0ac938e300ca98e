// Batch norm's two passes over memory on the CPU, with what was fused with them. Fused or not, the
// arithmetic of an element is the same.
#pragma once

#include "operators/batch_norm/batch_norm.h"
#include "operators/kit/pack.h"

namespace lockstep {

std::unique_ptr<Kernel> prepare_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_batch_norm_grad(const KernelRequest& request);

// What follows the normalisation.
enum class Ending { none, relu, clip };

// make.operator()<kLanes, kEnding>()
template <class Make>
std::unique_ptr<Kernel> for_passes(const TensorDesc& x, bool relu, bool clip, const Make& make) {
  const auto with_lanes = [&]<int kLanes>() -> std::unique_ptr<Kernel> {
    if (relu) return make.template operator()<kLanes, Ending::relu>();
    if (clip) return make.template operator()<kLanes, Ending::clip>();
    return make.template operator()<kLanes, Ending::none>();
  };
  return x.channel_block == 16 ? with_lanes.template operator()<16>()
                               : with_lanes.template operator()<8>();
}

// The normalised value, before what follows.
inline Four normalised(Four x, Four factor, Four center, Four bias) {
  return factor * (x - center) + bias;
}

}  // namespace lockstep
