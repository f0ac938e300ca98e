// Values moved between row-major order and channel blocks, one by one.
#pragma once

#include <vector>

#include "runtime/tensor.h"

namespace lockstep::testing {

// move(place in row-major order, place in the tensor's) for each element.
template <class Move>
void each_place(const TensorDesc& desc, const Move& move) {
  const int64_t block = desc.channel_block;
  if (block == 1) {
    for (int64_t i = 0; i < desc.count(); ++i) move(i, i);
    return;
  }
  const int64_t channels = desc.dims[1], plane = desc.count() / (desc.dims[0] * channels);
  for (int64_t n = 0; n < desc.dims[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < plane; ++p)
        move((n * channels + c) * plane + p,
             ((n * channels / block + c / block) * plane + p) * block + c % block);
}

inline std::vector<float> laid_out(const std::vector<float>& plain, const TensorDesc& desc) {
  std::vector<float> there(plain.size());
  each_place(desc, [&](int64_t from, int64_t to) { there[to] = plain[from]; });
  return there;
}

inline std::vector<float> row_major(const std::vector<float>& there, const TensorDesc& desc) {
  std::vector<float> plain(there.size());
  each_place(desc, [&](int64_t to, int64_t from) { plain[to] = there[from]; });
  return plain;
}

}  // namespace lockstep::testing
