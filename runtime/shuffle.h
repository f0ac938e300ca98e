// SPDX-License-Identifier: Apache-2.0
// A random order that depends on the seed and a stream alone.
#pragma once

#include <utility>
#include <vector>

#include "runtime/philox.h"

namespace lockstep {

template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, uint64_t stream) {
  PhiloxSequence random(seed, stream);
  for (std::size_t i = items.size(); i-- > 1;)
    std::swap(items[i], items[random.below(static_cast<int64_t>(i) + 1)]);
}

}  // namespace lockstep
