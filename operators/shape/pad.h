// SPDX-License-Identifier: Apache-2.0
// Pad: where the elements of the result come from, and, for the gradient, where they went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/kernel.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

enum class PadMode { constant, edge, reflect };
PadMode pad_mode(const std::string& name);  // throws for an unknown name
PadMode pad_mode(const KernelRequest& request);

// The source in x of a position in y along one dimension. `at` is the position relative to x;
// -1: the position is padding.
constexpr int64_t pad_source(PadMode mode, int64_t at, int64_t size) {
  if (size == 0) return -1;
  if (mode == PadMode::edge) return at < 0 ? 0 : at < size ? at : size - 1;
  if (mode == PadMode::reflect) {
    if (size == 1) return 0;
    while (at < 0 || at >= size) at = at < 0 ? -at : 2 * (size - 1) - at;
    return at;
  }
  return at < 0 || at >= size ? -1 : at;
}

// The positions in y that copy position `place` of one dimension, in order: all at < end, where the
// distances between neighbours are `step` and `other` in turn.
struct PadCopies {
  int64_t at = 0, end = 0, step = 1, other = 1;

  constexpr bool more() const { return at < end; }
  constexpr void next() {
    at += step;
    const int64_t last = step;
    step = other;
    other = last;
  }
};

// The remainder of a floored division, by a divisor above 0.
constexpr int64_t pad_remainder(int64_t a, int64_t divisor) {
  return (a % divisor + divisor) % divisor;
}

// `before`: the padding before x. `after`: the size of y.
constexpr PadCopies pad_copies(PadMode mode, int64_t place, int64_t size, int64_t before,
                               int64_t after) {
  if (mode == PadMode::reflect && size > 1) {
    // x and its mirror image repeat with this period.
    const int64_t period = 2 * (size - 1);
    const int64_t first = pad_remainder(place + before, period);
    const int64_t mirrored = pad_remainder(before - place, period);
    if (first == mirrored) return {first, after, period, period};
    const int64_t low = first < mirrored ? first : mirrored;
    const int64_t apart = first + mirrored - 2 * low;
    return {low, after, apart, period - apart};
  }
  const bool spreads = mode != PadMode::constant;
  const int64_t at = spreads && place == 0 ? 0 : before + place;
  const int64_t end = spreads && place == size - 1 ? after : before + place + 1;
  return {at < 0 ? 0 : at, end < after ? end : after, 1, 1};
}

void pad_law(Inference& inference);
std::vector<Value> pad_gradient(const GradientRequest& request);
Op pad_grad_op();

std::unique_ptr<Kernel> prepare_pad(const KernelRequest& request);
std::unique_ptr<Kernel> prepare_pad_grad(const KernelRequest& request);

}  // namespace lockstep
