// SPDX-License-Identifier: Apache-2.0
// The origin of a random operator's numbers; graph/random_stream.h has the rule.
#pragma once

#include "lockstep/kernel.h"
#include "lockstep/random.h"

namespace lockstep {

// The blocks of one run.
struct DrawnBlocks {
  uint64_t seed, stream, first;
  constexpr PhiloxBlock at(int64_t block) const {
    return philox(seed, stream, first + static_cast<uint64_t>(block));
  }
};

struct RandomSource {
  enum class Kind { step, fixed, initial };
  Kind kind;
  uint64_t stream;

  // Run s of a graph of initial values starts at block s * 2^40.
  constexpr DrawnBlocks in(const RunContext& context) const {
    if (kind == Kind::step) return {context.seed, stream_in_step(context.step, stream), 0};
    if (kind == Kind::fixed) return {0, stream, 0};
    return {context.seed, stream, context.step << 40};
  }
};
RandomSource random_source_of(const Node& node);

// The bits of a word that become a uniform number of type T, as many as T holds: numbers never
// round to 1. Initial values use all bits.
template <class T>
constexpr uint32_t bits_used(RandomSource::Kind kind) {
  if (kind == RandomSource::Kind::initial || sizeof(T) > 4) return 0xffffffffU;
  if (sizeof(T) == 4) return 0xffffff00U;
  return dtype_of<T>() == DType::bfloat16 ? 0xff000000U : 0xffe00000U;
}

}  // namespace lockstep
