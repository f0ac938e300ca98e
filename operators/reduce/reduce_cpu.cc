// SPDX-License-Identifier: Apache-2.0
// One thread reduces each output element, in a fixed order, so bits do not depend on the number of
// threads. Sums of floats are in double.
#include <algorithm>
#include <array>

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/reduce/channel_sums.h"
#include "operators/reduce/extent.h"
#include "operators/reduce/reduce.h"
#include "operators/reduce/reductions_cpu.h"
#include "operators/reduce/running.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kLanes = 64;

// The totals of neighbouring outputs, at most kLanes.
template <class T, class How>
using Totals = std::array<reductions::Total<T, How>, kLanes>;

// Returns the totals of `width` outputs. The first elements of these outputs are at x.
template <class T, class How>
Totals<T, How> reduce_lanes(const Extent& layout, const T* x, int64_t width) {
  using A = reductions::Total<T, How>;
  std::array<How, kLanes> how;
  if constexpr (reductions::kReadsTwice<How>) {
    const auto first = reduce_lanes<T, typename How::First>(layout, x, width);
    for (int64_t lane = 0; lane < width; ++lane) how[lane] = How(static_cast<double>(first[lane]));
  }
  Totals<T, How> total;
  total.fill(How::template start<A>());
  for (int64_t i = 0; i < layout.count; ++i) {
    const T* row = x + offset_of(layout.reduced, i);
    for (int64_t lane = 0; lane < width; ++lane)
      total[lane] = How::template join<A>(total[lane], how[lane].load(static_cast<A>(row[lane])));
  }
  for (int64_t lane = 0; lane < width; ++lane)
    total[lane] = how[lane].finish(total[lane], layout.count);
  return total;
}

// Reduces outputs [begin, begin + width), neighbours if the fastest dimension is kept.
template <class T, class How, class Y>
void reduce_block(const Extent& layout, const T* x, Y* y, int64_t begin, int64_t width) {
  const Totals<T, How> total =
      reduce_lanes<T, How>(layout, x + offset_of(layout.kept, begin), width);
  for (int64_t lane = 0; lane < width; ++lane) y[begin + lane] = static_cast<Y>(total[lane]);
}

// Reduces one output if the fastest dimension is reduced: rows of neighbours.
template <class T, class How>
reductions::Total<T, How> reduce_rows(const Extent& layout, const T* x) {
  using A = reductions::Total<T, How>;
  constexpr int kParts = 8;
  How how;
  if constexpr (reductions::kReadsTwice<How>)
    how = How(static_cast<double>(reduce_rows<T, typename How::First>(layout, x)));
  std::array<A, kParts> part;
  part.fill(How::template start<A>());
  const int64_t length = layout.reduced.back().size;
  const int64_t rows = length == 0 ? 0 : layout.count / length;
  for (int64_t row = 0; row < rows; ++row) {
    const T* from = x + offset_of(layout.reduced, row * length);
    int64_t i = 0;
    for (; i + kParts <= length; i += kParts)
      for (int k = 0; k < kParts; ++k)
        part[k] = How::template join<A>(part[k], how.load(static_cast<A>(from[i + k])));
    for (; i < length; ++i)
      part[0] = How::template join<A>(part[0], how.load(static_cast<A>(from[i])));
  }
  for (int k = 1; k < kParts; ++k) part[0] = How::template join<A>(part[0], part[k]);
  return how.finish(part[0], layout.count);
}

template <class T, class How, class Y = T>
std::unique_ptr<Kernel> reduce_kernel(const Extent& layout, const KernelRequest& request) {
  const int64_t outputs = request.out[0].count();
  const bool rows = !layout.reduced.empty() && layout.reduced.back().stride == 1;
  return make_kernel([=, threads = request.threads](const KernelArgs& args) {
    const T* x = args.in[0].as<T>();
    Y* y = args.out[0].as<Y>();
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, layout.count));
    if (rows) {
      parallel_for(outputs, grain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          y[i] = static_cast<Y>(reduce_rows<T, How>(layout, x + offset_of(layout.kept, i)));
      });
      return;
    }
    const int64_t inner = layout.kept.empty() ? 1 : layout.kept.back().size;
    const int64_t blocks = (inner + kLanes - 1) / kLanes;
    const int64_t all = outputs == 0 ? 0 : outputs / inner * blocks;
    parallel_for(all, std::max<int64_t>(1, grain / kLanes), threads,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     int64_t lane = i % blocks * kLanes;
                     reduce_block<T, How>(layout, x, y, i / blocks * inner + lane,
                                          std::min(kLanes, inner - lane));
                   }
                 });
  });
}

template <class How>
std::unique_ptr<Kernel> prepare_reduce(const KernelRequest& request) {
  const Extent layout = extent_of(request);
  return dispatch<Numbers>(request.in[0].dtype,
                           [&]<class T>() { return reduce_kernel<T, How>(layout, request); });
}

std::unique_ptr<Kernel> prepare_row_major_sums(const KernelRequest& request) {
  const Extent layout = extent_of(request);
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class T>() {
    return reduce_kernel<T, reductions::Sum, float>(layout, request);
  });
}

template <class T, bool kMax>
std::unique_ptr<Kernel> arg_kernel(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Dims& x = request.in[0].dims;
  const int64_t axis = normal_axes({attributes.integer("axis", 0)}, x.size())[0];
  const bool last = attributes.integer("select_last_index", 0) != 0;
  int64_t inner = 1;
  for (std::size_t i = axis + 1; i < x.size(); ++i) inner *= x[i];
  const int64_t size = x[axis], outer = request.out[0].count() / std::max<int64_t>(1, inner);
  check(size > 0, "ArgMax or ArgMin of an empty dimension");
  return make_kernel([=](const KernelArgs& args) {
    const T* data = args.in[0].as<T>();
    int64_t* y = args.out[0].as<int64_t>();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const T* column = data + o * size * inner + i;
        int64_t best = 0;
        for (int64_t k = 1; k < size; ++k) {
          T value = column[k * inner], top = column[best * inner];
          if ((kMax ? value > top : value < top) || (last && value == top)) best = k;
        }
        y[o * inner + i] = best;
      }
  });
}

std::unique_ptr<Kernel> prepare_cum_sum(const KernelRequest& request) {
  const RunningSums sums(request);
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([sums, a = sums.around](const KernelArgs& args) {
      for (int64_t column = 0; column < a.columns(); ++column) {
        reductions::Accumulator<T> total{};
        for (int64_t n = 0; n < a.size; ++n) {
          const int64_t i = a.start(column) + (sums.reverse ? a.size - 1 - n : n) * a.inner;
          const T x = args.in[0].as<T>()[i];
          if (!sums.exclusive) total = plus<reductions::Accumulator<T>>(total, x);
          args.out[0].as<T>()[i] = static_cast<T>(total);
          if (sums.exclusive) total = plus<reductions::Accumulator<T>>(total, x);
        }
      }
    });
  });
}

// Writes 1 at the first maximum along the axis, 0 elsewhere.
std::unique_ptr<Kernel> prepare_hardmax(const KernelRequest& request) {
  auto attributes = request.attributes();
  const AroundAxis a(request.in[0].dims, attributes.integer("axis", -1));
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      const T* x = args.in[0].as<T>();
      T* y = args.out[0].as<T>();
      for (int64_t column = 0; column < a.columns(); ++column) {
        const int64_t start = a.start(column);
        int64_t best = 0;
        for (int64_t n = 1; n < a.size; ++n)
          if (x[start + n * a.inner] > x[start + best * a.inner]) best = n;
        for (int64_t n = 0; n < a.size; ++n) y[start + n * a.inner] = n == best ? T(1) : T(0);
      }
    });
  });
}

template <bool kMax>
std::unique_ptr<Kernel> prepare_arg(const KernelRequest& request) {
  return dispatch<Numbers>(request.in[0].dtype,
                           [&]<class T>() { return arg_kernel<T, kMax>(request); });
}

}  // namespace

std::vector<KernelEntry> reduce_cpu() {
  return {
      {"ReduceSum",
       "",
       {{"channel blocks", no_channel_sums, prepare_channel_sums, channel_sums_layouts},
        {"CPU", takes<Numbers>(), prepare_reduce<reductions::Sum>}}},
      {"ChannelSums",
       kOwnDomain,
       {{"channel blocks", no_channel_sums, prepare_channel_sums, channel_sums_layouts},
        {"CPU", takes<TensorFloats>(), prepare_row_major_sums}}},
      {"ReduceMean", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::Mean>}}},
      {"ReduceL1", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::L1>}}},
      {"ReduceL2", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::L2>}}},
      {"ReduceSumSquare", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::SumSquare>}}},
      {"ReduceLogSum", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::LogSum>}}},
      {"ReduceLogSumExp", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::LogSumExp>}}},
      {"ReduceProd", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::Prod>}}},
      {"ReduceMax", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::Max>}}},
      {"ReduceMin", "", {{"CPU", takes<Numbers>(), prepare_reduce<reductions::Min>}}},
      {"CumSum", "", {{"CPU", takes<Numbers>(), prepare_cum_sum}}},
      {"Hardmax", "", {{"CPU", takes<Floats>(), prepare_hardmax}}},
      {"ArgMax", "", {{"CPU", takes<Numbers>(), prepare_arg<true>}}},
      {"ArgMin", "", {{"CPU", takes<Numbers>(), prepare_arg<false>}}}};
}

}  // namespace lockstep
