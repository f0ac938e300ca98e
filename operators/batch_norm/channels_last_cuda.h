// Batch normalisation of images whose channels lie together. Sums are made in three launches: of
// pieces of the rows, by many blocks; over the pieces, channel by channel; and then each element.
#pragma once

#include "operators/batch_norm/batch_norm.h"

namespace lockstep {

// Numbers of channels are float32, whatever the images are; null where they are left out.
inline const float* channel_input(const KernelArgs& args, std::size_t i) {
  return args.in[i].as<const float>();
}
inline float* channel_output(const KernelArgs& args, std::size_t i) {
  return i < args.out.size() ? args.out[i].as<float>() : nullptr;
}

std::unique_ptr<Kernel> channels_last_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> channels_last_batch_norm_grad(const KernelRequest& request);

}  // namespace lockstep
