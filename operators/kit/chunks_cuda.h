// SPDX-License-Identifier: Apache-2.0
// One launch over many tensors. The tensors' descriptions are the kernel's argument; each block
// processes a chunk of one tensor.
#pragma once

#include "operators/kit/elements_cuda.h"

namespace lockstep {

constexpr int kMostTensors = 256;  // of a launch
constexpr int64_t kChunk = 4096;   // elements of a block

template <class Item>
struct Chunks {
  int count = 0;
  int first_block[kMostTensors + 1] = {0};
  Item items[kMostTensors] = {};

  void add(const Item& item, int64_t elements) {
    items[count] = item;
    first_block[count + 1] =
        first_block[count] + static_cast<int>((elements + kChunk - 1) / kChunk);
    ++count;
  }
  int blocks() const { return first_block[count]; }

  // Calls visit(item, first element) for this block's chunk.
  template <class Visit>
  __device__ void here(const Visit& visit) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (static_cast<int>(blockIdx.x) >= first_block[middle] ? low : high) = middle;
    }
    visit(items[low], (static_cast<int64_t>(blockIdx.x) - first_block[low]) * kChunk);
  }
};

}  // namespace lockstep
