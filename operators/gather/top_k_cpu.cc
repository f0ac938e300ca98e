// SPDX-License-Identifier: Apache-2.0
// TopK: radix select, then sort. Histograms of the keys' digits (operators/kit/sort_key.h), from
// the highest digit, lead to the k-th key. Another pass collects the elements up to this key, and
// only these are sorted: O(n + k log k) for a column.
#include "operators/gather/top_k_cpu.h"

#include <algorithm>

#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/sort_key.h"
#include "runtime/memory.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int kDigitBits = 11;  // a histogram of a digit's values fits the L1 cache
constexpr int64_t kFew = 512;   // elements for which histograms cost more than they save

// The last selected key, and the number of selected elements with this key.
template <class Key>
struct LastKey {
  Key key;
  int64_t count;
};

// Finds the k-th key, for 0 < k <= count.
template <class Key>
LastKey<Key> last_key(const Key* keys, int64_t count, int64_t k, int64_t* histogram) {
  constexpr int kBits = 8 * sizeof(Key);
  Key known = 0;     // the digits of the k-th key so far
  int64_t left = k;  // the elements selected among the keys that begin with `known`
  for (int from = kBits; from > 0;) {
    const int width = std::min(kDigitBits, from), to = from - width;
    const Key mask = (Key(1) << width) - 1;
    std::fill_n(histogram, int64_t{1} << width, 0);
    for (int64_t i = 0; i < count; ++i)
      if (from == kBits || keys[i] >> from == known) ++histogram[keys[i] >> to & mask];
    Key digit = 0;
    while (histogram[digit] < left) left -= histogram[digit++];
    known = known << width | digit;
    from = to;
  }
  return {known, left};
}

// A thread's memory for a selection from a column.
template <class Key>
struct Selection {
  Key* keys;
  int64_t* histogram;
  Ranked<Key>* best;

  // The bytes for a column of `size` elements and a selection of k. `best` has all elements of a
  // short column.
  static std::size_t bytes(int64_t size, int64_t k) {
    return histogram_at(size) + (std::size_t{1} << kDigitBits) * sizeof(int64_t) +
           (size <= kFew ? size : k) * sizeof(Ranked<Key>);
  }
  Selection(std::byte* memory, int64_t size)
      : keys(reinterpret_cast<Key*>(memory)),
        histogram(reinterpret_cast<int64_t*>(memory + histogram_at(size))),
        best(reinterpret_cast<Ranked<Key>*>(histogram + (int64_t{1} << kDigitBits))) {}

  // Leaves the first k elements in `best`, sorted.
  void run(int64_t size, int64_t k) {
    int64_t found = 0;
    if (size <= kFew || k == size) {
      for (; found < size; ++found) best[found] = {keys[found], found};
      if (k < size) std::nth_element(best, best + k, best + size);
    } else {
      LastKey<Key> last = last_key(keys, size, k, histogram);
      for (int64_t i = 0; i < size; ++i) {
        if (keys[i] > last.key) continue;
        if (keys[i] == last.key && last.count-- <= 0) continue;
        best[found++] = {keys[i], i};
      }
    }
    std::sort(best, best + k);
  }

 private:
  static std::size_t histogram_at(int64_t size) { return (size * sizeof(Key) + 63) / 64 * 64; }
};

template <class T>
std::unique_ptr<Kernel> top_k_kernel(const KernelRequest& request, const AroundAxis& x,
                                     const AroundAxis& y, bool largest) {
  using Memory = Selection<Bits<T>>;
  // A thread reuses its memory for all its columns.
  const int64_t shares = std::min<int64_t>(std::max(1, request.threads), x.columns());
  const std::size_t bytes = (Memory::bytes(x.size, y.size) + 63) / 64 * 64;
  const bool empty = request.out[0].count() == 0;
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    if (empty) return;
    const T* data = args.in[0].as<T>();
    T* values = args.out[0].as<T>();
    int64_t* indices = args.out[1].as<int64_t>();
    parallel_for(shares, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share) {
        Memory memory(args.workspace + share * bytes, x.size);
        const int64_t stop = x.columns() * (share + 1) / shares;
        for (int64_t column = x.columns() * share / shares; column < stop; ++column) {
          const T* from = data + x.start(column);
          for (int64_t i = 0; i < x.size; ++i)
            memory.keys[i] = sort_key(from[i * x.inner], largest);
          memory.run(x.size, y.size);
          for (int64_t k = 0; k < y.size; ++k) {
            const int64_t at = y.start(column) + k * y.inner, index = memory.best[k].index;
            values[at] = from[index * x.inner];
            indices[at] = index;
          }
        }
      }
    });
  };
  return make_kernel(run, "", empty ? 0 : static_cast<std::size_t>(shares) * bytes);
}

}  // namespace

std::unique_ptr<Kernel> prepare_top_k(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t axis = attributes.integer("axis", -1);
  const AroundAxis x(request.in[0].dims, axis), y(request.out[0].dims, axis);
  const bool largest = attributes.integer("largest", 1) != 0;
  check(y.size <= x.size, "k is ", y.size, ", but there are ", x.size, " elements");
  return dispatch<Numbers>(request.in[0].dtype,
                           [&]<class T>() { return top_k_kernel<T>(request, x, y, largest); });
}

}  // namespace lockstep
