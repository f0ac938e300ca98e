// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "lockstep/kernel.h"
#include "operators/kit/broadcast.h"
#include "operators/kit/floats_cuda.h"
#include "operators/kit/launch_cuda.h"
#include "runtime/accelerator.h"

namespace lockstep {

// The stream to launch on: the stream of a kernel's queue, or the given stream.
inline cudaStream_t stream_of(const KernelArgs& args) {
  return static_cast<cudaStream_t>(args.queue->native());
}
inline cudaStream_t stream_of(cudaStream_t stream) { return stream; }

__device__ inline void raise(Fault* fault, int64_t value, int64_t place = 0) {
  fault->value = value;
  fault->place = place;
  fault->raised = 1;
}

constexpr int kBlock = 256;
constexpr int64_t kMostBlocks = 8192;  // enough for any GPU; threads stride over further elements

template <class Body>
__global__ void __launch_bounds__(kBlock) run_elements(int64_t count, Body body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kBlock;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < count; i += stride)
    body(i);
}

// Calls body(i) for every i in [0, count), in any order.
template <class Where, class Body>
void for_elements(const Where& where, int64_t count, const Body& body) {
  if (count == 0) return;
  const auto blocks = std::min<int64_t>((count + kBlock - 1) / kBlock, kMostBlocks);
  launch(run_elements<Body>, static_cast<unsigned>(blocks), kBlock, stream_of(where), count, body);
}

constexpr int kFoldThreads = 128;

template <class Body>
__global__ void __launch_bounds__(kFoldThreads) run_blocks(int64_t count, Body body) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) body(i);
}

// Calls body(i) for every i in [0, count), each by a block of kFoldThreads threads.
template <class Where, class Body>
void for_blocks(const Where& where, int64_t count, const Body& body) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(count, 65536));
  launch_blocks(run_blocks<Body>, blocks, kFoldThreads, stream_of(where), count, body);
}

// Folds the values of all threads of a block, always in the same order. All threads get the result.
template <class T, class Join>
__device__ T fold_block(T mine, Join join) {
  __shared__ T parts[kFoldThreads];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = kFoldThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  const T total = parts[0];
  __syncthreads();  // before the next fold writes
  return total;
}

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Least {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

// The offsets of a broadcast's N operands for an element of the result.
template <int N>
class Walk {
 public:
  static constexpr int kMostDims = 8;

  explicit Walk(const Broadcast<N>& broadcast)
      : row_length_(broadcast.row_length), dims_(static_cast<int>(broadcast.sizes.size())) {
    supported(dims_ <= kMostDims, "broadcasts over at most ", kMostDims, " dimensions, not ",
              dims_);
    for (int k = 0; k < N; ++k) step_[k] = broadcast.step[k];
    for (int d = 0; d < dims_; ++d) {
      size_[d] = broadcast.sizes[d];
      for (int k = 0; k < N; ++k) stride_[d][k] = broadcast.strides[d][k];
    }
  }

  __device__ void at(int64_t element, int64_t (&offset)[N]) const {
    int64_t row = dims_ == 0 ? 0 : element / row_length_;
    const int64_t column = element - row * row_length_;
    for (int k = 0; k < N; ++k) offset[k] = column * step_[k];
    for (int d = dims_ - 1; d >= 0; --d) {
      const int64_t index = row % size_[d];
      row /= size_[d];
      for (int k = 0; k < N; ++k) offset[k] += index * stride_[d][k];
    }
  }

 private:
  int64_t row_length_;
  int dims_;
  int64_t step_[N] = {};
  int64_t size_[kMostDims] = {};
  int64_t stride_[kMostDims][N] = {};
};

// y[i] = f(x[i] of each operand), for kCount neighbours at once. 16-bit floats are converted to
// float and back.
template <class X, class Y, class F, int kOperands, int kCount>
struct MapElements {
  const X* x[kOperands];
  Y* y;
  F f;
  __device__ void operator()(int64_t i) const {
    Pack<X, kCount> in[kOperands];
    for (int k = 0; k < kOperands; ++k) in[k] = load<X, kCount>(x[k] + i * kCount);
    Pack<Y, kCount> out;
    for (int e = 0; e < kCount; ++e)
      if constexpr (kOperands == 1)
        out.at[e] = stored<Y>(f(computed(in[0].at[e])));
      else
        out.at[e] = stored<Y>(f(computed(in[0].at[e]), computed(in[1].at[e])));
    store<Y, kCount>(y + i * kCount, out);
  }
};

template <class X, class Y, class F, int kOperands>
void map_elements(const KernelArgs& args, int64_t count, const F& f) {
  MapElements<X, Y, F, kOperands, 1> rest{{}, args.out[0].as<Y>(), f};
  bool aligned = is_aligned(args.out[0].data);
  for (int k = 0; k < kOperands; ++k) {
    rest.x[k] = args.in[k].as<const X>();
    aligned = aligned && is_aligned(rest.x[k]);
  }
  // Common types are vectorised; other types are computed one element at a time.
  if constexpr (is_tensor_float<X> && is_tensor_float<Y>) {
    constexpr int kWide = std::min(kPack<X>, kPack<Y>);
    MapElements<X, Y, F, kOperands, kWide> packs{{}, rest.y, f};
    for (int k = 0; k < kOperands; ++k) packs.x[k] = rest.x[k];
    const int64_t many = aligned ? count / kWide : 0;
    for_elements(args, many, packs);
    for (int k = 0; k < kOperands; ++k) rest.x[k] += many * kWide;
    rest.y += many * kWide;
    count -= many * kWide;
  }
  for_elements(args, count, rest);
}

// A kernel defined by its launch for every element of its result. There are hundreds of such
// kernels, and functions compile far faster than classes.
using LaunchElements = void (*)(const KernelArgs& args, int64_t count);
inline std::unique_ptr<Kernel> elements_kernel(const KernelRequest& request,
                                               LaunchElements launch) {
  return make_kernel(
      [launch, count = request.out[0].count()](const KernelArgs& args) { launch(args, count); });
}

template <class X, class Y, class F, int kOperands>
std::unique_ptr<Kernel> map_kernel(const KernelRequest& request, F f) {
  if constexpr (std::is_empty_v<F>)
    return elements_kernel(request, [](const KernelArgs& args, int64_t count) {
      map_elements<X, Y, F, kOperands>(args, count, F());
    });
  else
    return make_kernel([f, count = request.out[0].count()](const KernelArgs& args) {
      map_elements<X, Y, F, kOperands>(args, count, f);
    });
}

template <class X, class Y, class F>
std::unique_ptr<Kernel> map_one(const KernelRequest& request, F f) {
  return map_kernel<X, Y, F, 1>(request, f);
}

// A kernel for two operands with the result's shape.
template <class X, class Y, class F>
std::unique_ptr<Kernel> map_two(const KernelRequest& request, F f) {
  return map_kernel<X, Y, F, 2>(request, f);
}

}  // namespace lockstep
