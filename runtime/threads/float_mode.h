// SPDX-License-Identifier: Apache-2.0
// The treatment of subnormal results, which are below 1.2e-38 in float32. A processor computes with
// subnormal numbers in microcode, many times slower than with other numbers, and gradients of a
// saturated softmax are full of them. Kernels run on threads where such a result is 0. Operands
// keep their values, as comparisons and logarithms need.
#pragma once

#include <xmmintrin.h>

namespace lockstep {

// The calling thread's mode. Each thread has one; other bits of the control register are not in it.
class FloatMode {
 public:
  static FloatMode of_this_thread() { return FloatMode(_mm_getcsr() & kFlush); }
  static FloatMode flushing() { return FloatMode(kFlush); }

  void set() const {
    const unsigned now = _mm_getcsr();
    if ((now & kFlush) != bits_) _mm_setcsr((now & ~kFlush) | bits_);
  }

  friend bool operator==(FloatMode, FloatMode) = default;

 private:
  static constexpr unsigned kFlush = 0x8000;  // results become 0
  explicit FloatMode(unsigned bits) : bits_(bits) {}

  unsigned bits_;
};

// Makes subnormal results 0 on the calling thread, and on its team's threads while they work
// for it. Other programs' code on the thread is not affected afterwards.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(FloatMode::of_this_thread()) { FloatMode::flushing().set(); }
  ~FlushSubnormals() { before_.set(); }
  FlushSubnormals(const FlushSubnormals&) = delete;

 private:
  FloatMode before_;
};

}  // namespace lockstep
