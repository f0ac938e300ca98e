// SPDX-License-Identifier: Apache-2.0
// One block reduces each output, in a fixed order; several blocks do if few outputs have many
// elements. Sums of floats are in double.
#include <cmath>
#include <limits>

#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "operators/reduce/along_axis_cuda.h"
#include "operators/reduce/by_channel_cuda.h"
#include "operators/reduce/extent.h"
#include "operators/reduce/reduce.h"

namespace lockstep {
namespace {

// The axes of an Extent, for the device.
class DeviceAxes {
 public:
  explicit DeviceAxes(const std::vector<Axis>& axes) : count_(static_cast<int>(axes.size())) {
    supported(count_ <= kMost, "reduces over at most ", kMost, " groups of dimensions, not ",
              count_);
    for (int i = 0; i < count_; ++i) axes_[i] = axes[i];
  }
  __device__ int64_t offset(int64_t index) const {
    int64_t offset = 0;
    for (int i = count_ - 1; i >= 0; --i) {
      offset += index % axes_[i].size * axes_[i].stride;
      index /= axes_[i].size;
    }
    return offset;
  }

 private:
  static constexpr int kMost = 8;
  int count_;
  Axis axes_[kMost] = {};
};

// The parts of a reduction: its start value, the term of an element, the join of two values and the
// final step.
struct Sum {
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  __device__ static A load(A x) {
    return x;
  }
  template <class A>
  __device__ A operator()(A a, A b) const {
    return plus(a, b);
  }
  template <class A>
  __device__ static A finish(A total, int64_t) {
    return total;
  }
};
struct Mean : Sum {
  template <class A>
  __device__ static A finish(A total, int64_t count) {
    if constexpr (is_whole<A>)
      if (count == 0) return 0;  // NaN converted to an integer
    return total / static_cast<A>(count);
  }
};
struct SumSquare : Sum {
  template <class A>
  __device__ static A load(A x) {
    return times(x, x);
  }
};
struct L1 : Sum {
  template <class A>
  __device__ static A load(A x) {
    return absolute(x);
  }
};
struct L2 : SumSquare {
  template <class A>
  __device__ static A finish(A total, int64_t) {
    return static_cast<A>(::sqrt(static_cast<double>(total)));
  }
};
struct LogOfSum : Sum {
  template <class A>
  __device__ static A finish(A total, int64_t) {
    return static_cast<A>(::log(static_cast<double>(total)));
  }
};
struct Product : Sum {
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  __device__ A operator()(A a, A b) const {
    return times(a, b);
  }
};
struct Max : Sum {
  template <class A>
  static A start() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::lowest();
  }
  template <class A>
  __device__ A operator()(A a, A b) const {
    return b > a || b != b ? b : a;
  }
};
struct Min : Sum {
  template <class A>
  static A start() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::max();
  }
  template <class A>
  __device__ A operator()(A a, A b) const {
    return b < a || b != b ? b : a;
  }
};

template <class T, class How>
struct Reduction {
  DeviceAxes kept, reduced;
  int64_t count;
  Accumulator<T> start;
  const T* x;
  T* y;
  __device__ void operator()(int64_t output) const {
    using A = Accumulator<T>;
    const How how;
    const T* base = x + kept.offset(output);
    A mine = start;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads)
      mine = how(mine, How::load(static_cast<A>(base[reduced.offset(i)])));
    const A total = fold_block(mine, how);
    if (threadIdx.x == 0) y[output] = static_cast<T>(How::finish(total, count));
  }
};

// Reads the elements twice: exponentials of differences to the largest element neither overflow nor
// all become 0. A difference to an infinity would not be a number.
template <class T>
struct LogOfSumOfExps {
  DeviceAxes kept, reduced;
  int64_t count;
  const T* x;
  T* y;
  __device__ void operator()(int64_t output) const {
    const T* base = x + kept.offset(output);
    double top = -INFINITY;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads)
      top = Max()(top, static_cast<double>(base[reduced.offset(i)]));
    top = fold_block(top, Max());
    if (::fabs(top) == INFINITY) top = 0;
    double total = 0;
    for (int64_t i = threadIdx.x; i < count; i += kFoldThreads)
      total += ::exp(static_cast<double>(base[reduced.offset(i)]) - top);
    total = fold_block(total, Sum());
    if (threadIdx.x == 0) y[output] = static_cast<T>(top + ::log(total));
  }
};

std::unique_ptr<Kernel> prepare_log_sum_exp(const KernelRequest& request) {
  const Extent extent = extent_of(request);
  const DeviceAxes kept(extent.kept), reduced(extent.reduced);
  const int64_t outputs = request.out[0].count();
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=, count = extent.count](const KernelArgs& args) {
      for_blocks(
          args, outputs,
          LogOfSumOfExps<T>{kept, reduced, count, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

template <class How>
std::unique_ptr<Kernel> prepare_reduce(const KernelRequest& request) {
  const Extent extent = extent_of(request);
  const DeviceAxes kept(extent.kept), reduced(extent.reduced);
  const int64_t outputs = request.out[0].count();
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=, count = extent.count](const KernelArgs& args) {
      for_blocks(args, outputs,
                 Reduction<T, How>{kept, reduced, count, How::template start<Accumulator<T>>(),
                                   args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> reduce_cuda() {
  std::vector<KernelEntry> entries = along_axis_cuda();
  entries.insert(entries.end(),
                 {{"ReduceSum",
                   "",
                   {{"by channel", not_by_channel_on_gpu, prepare_by_channel, by_channel_layouts},
                    {"GPU", takes<Numbers>(), prepare_reduce<Sum>}}},
                  {"ChannelSums",
                   kOwnDomain,
                   {{"by channel", every({takes<TensorFloats>(), not_by_channel_on_gpu}),
                     prepare_by_channel, by_channel_layouts}}},
                  {"ReduceMean", "", {{"GPU", takes<Numbers>(), prepare_reduce<Mean>}}},
                  {"ReduceProd", "", {{"GPU", takes<Numbers>(), prepare_reduce<Product>}}},
                  {"ReduceL1", "", {{"GPU", takes<Numbers>(), prepare_reduce<L1>}}},
                  {"ReduceL2", "", {{"GPU", takes<Numbers>(), prepare_reduce<L2>}}},
                  {"ReduceSumSquare", "", {{"GPU", takes<Numbers>(), prepare_reduce<SumSquare>}}},
                  {"ReduceLogSum", "", {{"GPU", takes<Numbers>(), prepare_reduce<LogOfSum>}}},
                  {"ReduceLogSumExp", "", {{"GPU", takes<Numbers>(), prepare_log_sum_exp}}},
                  {"ReduceMax", "", {{"GPU", takes<Numbers>(), prepare_reduce<Max>}}},
                  {"ReduceMin", "", {{"GPU", takes<Numbers>(), prepare_reduce<Min>}}}});
  return entries;
}

}  // namespace lockstep
