// SPDX-License-Identifier: Apache-2.0
#include "operators/reduce/along_axis_cuda.h"

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/reduce/running.h"

namespace lockstep {
namespace {

// The index of a column's maximum or minimum.
template <class T, bool kMax>
struct Arg {
  int64_t size, inner;
  bool last;
  const T* x;
  int64_t* y;
  __device__ void operator()(int64_t output) const {
    const T* column = x + output / inner * size * inner + output % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < size; ++k) {
      const T value = column[k * inner], top = column[best * inner];
      if ((kMax ? value > top : value < top) || (last && value == top)) best = k;
    }
    y[output] = best;
  }
};

template <bool kMax>
std::unique_ptr<Kernel> prepare_arg(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool last = attributes.integer("select_last_index", 0) != 0;
  const AroundAxis a(request.in[0].dims, attributes.integer("axis", 0));
  check(a.size > 0, "ArgMax or ArgMin of an empty dimension");
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      for_elements(
          args, a.columns(),
          Arg<T, kMax>{a.size, a.inner, last, args.in[0].as<const T>(), args.out[0].as<int64_t>()});
    });
  });
}

// Writes 1 at the first maximum of a column, 0 elsewhere.
template <class T>
struct Hardmax {
  int64_t size, inner;
  const T* x;
  T* y;
  __device__ void operator()(int64_t column) const {
    const int64_t start = column / inner * size * inner + column % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < size; ++k)
      if (x[start + k * inner] > x[start + best * inner]) best = k;
    for (int64_t k = 0; k < size; ++k) y[start + k * inner] = k == best ? T(1) : T(0);
  }
};

std::unique_ptr<Kernel> prepare_hardmax(const KernelRequest& request) {
  auto attributes = request.attributes();
  const AroundAxis a(request.in[0].dims, attributes.integer("axis", -1));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([a](const KernelArgs& args) {
      for_elements(args, a.columns(),
                   Hardmax<T>{a.size, a.inner, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

// A block's prefix sum: the total of the threads before this thread, and the total of all threads.
// Always added in the same order.
template <class A>
struct RunningSum {
  A before, all;
};
template <class A>
__device__ RunningSum<A> running_sum(A mine) {
  __shared__ A sums[kFoldThreads];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned reach = 1; reach < kFoldThreads; reach *= 2) {
    const A other = threadIdx.x >= reach ? sums[threadIdx.x - reach] : A(0);
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  const RunningSum<A> sum{threadIdx.x > 0 ? sums[threadIdx.x - 1] : A(0), sums[kFoldThreads - 1]};
  __syncthreads();  // before the next sum writes
  return sum;
}

template <class T>
struct CumulativeSum {
  int64_t size, inner;
  bool exclusive, reverse;
  const T* x;
  T* y;
  __device__ void operator()(int64_t column) const {
    using A = Accumulator<T>;
    const int64_t start = column / inner * size * inner + column % inner;
    A so_far = 0;
    for (int64_t first = 0; first < size; first += kFoldThreads) {
      const int64_t n = first + threadIdx.x;
      const int64_t at = start + (reverse ? size - 1 - n : n) * inner;
      const A mine = n < size ? static_cast<A>(x[at]) : A(0);
      const RunningSum<A> sum = running_sum(mine);
      if (n < size) y[at] = static_cast<T>(so_far + sum.before + (exclusive ? A(0) : mine));
      so_far += sum.all;
    }
  }
};

std::unique_ptr<Kernel> prepare_cum_sum(const KernelRequest& request) {
  const RunningSums sums(request);
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([sums, a = sums.around](const KernelArgs& args) {
      for_blocks(args, a.columns(),
                 CumulativeSum<T>{a.size, a.inner, sums.exclusive, sums.reverse,
                                  args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> along_axis_cuda() {
  return {{"ArgMax", "", {{"GPU", takes<Numbers>(), prepare_arg<true>}}},
          {"ArgMin", "", {{"GPU", takes<Numbers>(), prepare_arg<false>}}},
          {"CumSum", "", {{"GPU", takes<Numbers>(), prepare_cum_sum}}},
          {"Hardmax", "", {{"GPU", takes<Floats>(), prepare_hardmax}}}};
}

}  // namespace lockstep
