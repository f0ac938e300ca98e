// SPDX-License-Identifier: Apache-2.0
// Kernels that select by value or by position: TopK, OneHot, Trilu.
#include "operators/gather/select.h"

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

template <class T>
struct Candidate {
  T value;
  int64_t index;  // -1: none
};
template <class T>
struct Better {
  bool largest;
  // before(a, b): true if a ranks before b; equal values in index order.
  static __device__ bool none(T value) { return !(value == value); }
  __device__ bool before(Candidate<T> a, Candidate<T> b) const {  // NaN comes last
    if (none(a.value) || none(b.value))
      return none(a.value) == none(b.value) ? a.index < b.index : none(b.value);
    if (a.value == b.value) return a.index < b.index;
    return largest ? a.value > b.value : a.value < b.value;
  }
  __device__ Candidate<T> operator()(Candidate<T> a, Candidate<T> b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    return before(a, b) ? a : b;
  }
};

// Finds the best of a column, then the best of the rest, and so on. This is fast for the small k of
// networks.
template <class T>
struct BestOfColumn {
  AroundAxis x;
  int64_t k;
  Better<T> better;
  const T* from;
  T* values;
  int64_t* indices;
  __device__ void operator()(int64_t column) const {
    const int64_t outer = column / x.inner, inner = column % x.inner;
    Candidate<T> last{T(0), -1};
    for (int64_t rank = 0; rank < k; ++rank) {
      Candidate<T> best{T(0), -1};
      for (int64_t i = threadIdx.x; i < x.size; i += kFoldThreads) {
        const Candidate<T> here{from[(outer * x.size + i) * x.inner + inner], i};
        if (last.index < 0 || better.before(last, here)) best = better(best, here);
      }
      last = fold_block(best, better);
      if (threadIdx.x > 0) continue;
      const int64_t at = (outer * k + rank) * x.inner + inner;
      values[at] = last.value;
      indices[at] = last.index;
    }
  }
};

std::unique_ptr<Kernel> prepare_top_k(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t axis = attributes.integer("axis", -1);
  const AroundAxis x(request.in[0].dims, axis), y(request.out[0].dims, axis);
  const bool largest = attributes.integer("largest", 1) != 0;
  check(y.size <= x.size, "k is ", y.size, ", but there are ", x.size, " elements");
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      for_blocks(args, x.columns(),
                 BestOfColumn<T>{x,
                                 y.size,
                                 {largest},
                                 args.in[0].as<const T>(),
                                 args.out[0].as<T>(),
                                 args.out[1].as<int64_t>()});
    });
  });
}

// An index outside the depth gives "off" everywhere.
template <class T, class Index>
struct HotOrNot {
  AroundAxis y;
  const Index* indices;
  const T* values;  // off, on
  T* to;
  __device__ void operator()(int64_t i) const {
    auto index = static_cast<int64_t>(indices[i / y.inner / y.size * y.inner + i % y.inner]);
    if (index < 0) index += y.size;
    to[i] = values[index == i / y.inner % y.size ? 1 : 0];
  }
};

using HotIndices = Types<float, int32_t, int64_t>;

std::unique_ptr<Kernel> prepare_one_hot(const KernelRequest& request) {
  auto attributes = request.attributes();
  const AroundAxis y(request.out[0].dims, attributes.integer("axis", -1));
  return dispatch<HotIndices>(request.in[0].dtype, [&]<class Index>() {
    return of_size(request.out[0].dtype, [&]<class T>() {
      return make_kernel([y, count = request.out[0].count()](const KernelArgs& args) {
        for_elements(args, count,
                     HotOrNot<T, Index>{y, args.in[0].as<const Index>(), args.in[2].as<const T>(),
                                        args.out[0].as<T>()});
      });
    });
  });
}

template <class T>
struct Triangle {
  int64_t rows, columns;
  bool upper;
  const int64_t* shift;  // null: none
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t away = i % columns - i / columns % rows, k = shift ? *shift : 0;
    y[i] = (upper ? away >= k : away <= k) ? x[i] : T(0);
  }
};

std::unique_ptr<Kernel> prepare_trilu(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool upper = attributes.integer("upper", 1) != 0;
  const Dims& x = request.in[0].dims;
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel([upper, rows = x[x.size() - 2], columns = x.back(),
                        count = request.in[0].count()](const KernelArgs& args) {
      const int64_t* shift = args.in.size() > 1 ? args.in[1].as<const int64_t>() : nullptr;
      for_elements(
          args, count,
          Triangle<T>{rows, columns, upper, shift, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> select_cuda() {
  return {{"TopK", "", {{"GPU", takes<Numbers>(), prepare_top_k}}},
          {"OneHot", "", {{"GPU", takes<HotIndices>(), prepare_one_hot}}},
          {"Trilu", "", {{"GPU", anything, prepare_trilu}}}};
}

}  // namespace lockstep
