// SPDX-License-Identifier: Apache-2.0
// Collectives between CPU replicas of one process use shared memory, without messages. The plan
// makes each part wait for the operands that it reads.
#include <algorithm>
#include <cstring>
#include <span>

#include "lockstep/types.h"
#include "operators/collective/collective.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// total = in[0] + in[1] + .., in this order. Adds three operands per pass, to read and write total
// less often.
template <class T>
void add_up(std::span<const Tensor> in, int64_t at, int64_t size, T* __restrict total) {
  auto term = [&](std::size_t k) { return in[k].as<T>() + at; };
  std::copy_n(term(0), size, total);
  std::size_t k = 1;
  for (; k + 3 <= in.size(); k += 3) {
    const T* __restrict a = term(k);
    const T* __restrict b = term(k + 1);
    const T* __restrict c = term(k + 2);
    for (int64_t i = 0; i < size; ++i) total[i] = plus(plus(plus(total[i], a[i]), b[i]), c[i]);
  }
  for (; k < in.size(); ++k) {
    const T* __restrict a = term(k);
    for (int64_t i = 0; i < size; ++i) total[i] = plus(total[i], a[i]);
  }
}

// Sums operands that are rounded to a narrower wire type.
template <class W, class T>
void add_rounded(std::span<const Tensor> in, int64_t at, int64_t size, T* total) {
  std::fill_n(total, size, T{0});
  for (const Tensor& operand : in) {
    const T* term = operand.as<T>() + at;
    for (int64_t i = 0; i < size; ++i) total[i] += static_cast<T>(W(term[i]));
  }
}

// Part p of n reduces elements [count * p / n, count * (p + 1) / n) of all operands into all
// results, with boundaries on cache lines. An element is read from every operand before it is
// written anywhere, so results may alias operands.
template <class T, class W>
std::unique_ptr<Kernel> all_reduce_kernel(const KernelRequest& request) {
  const bool mean = read_all_reduce(request.attributes()).reduction == Reduction::mean;
  constexpr bool kRounds = !std::is_same_v<T, W>;
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t count = request.in[0].count();
  const int64_t lines = (count + kLine - 1) / kLine;
  const int64_t begin = lines * request.part / request.parts * kLine;
  const int64_t end = std::min(count, lines * (request.part + 1) / request.parts * kLine);
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    constexpr int64_t kChunk = 1024;  // fits the first-level cache
    parallel_for((end - begin + kChunk - 1) / kChunk, 16, threads,
                 [&](int64_t first, int64_t last) {
                   T total[kChunk];
                   for (int64_t chunk = first; chunk < last; ++chunk) {
                     const int64_t at = begin + chunk * kChunk;
                     const int64_t size = std::min(kChunk, end - at);
                     if constexpr (kRounds)
                       add_rounded<W>(args.in, at, size, total);
                     else
                       add_up(args.in, at, size, total);
                     if (mean)
                       for (int64_t i = 0; i < size; ++i)
                         total[i] /= static_cast<T>(args.in.size());
                     if constexpr (kRounds)
                       for (int64_t i = 0; i < size; ++i) total[i] = static_cast<T>(W(total[i]));
                     for (const Tensor& result : args.out)
                       if (result.desc.present()) std::copy_n(total, size, result.as<T>() + at);
                   }
                 });
  };
  return make_kernel(run, reach_text(request) + (kRounds ? join(", as ", dtype_of<W>()) : ""));
}

std::unique_ptr<Kernel> prepare_all_reduce(const KernelRequest& request) {
  return dispatch_wire(request.in[0].dtype, read_all_reduce(request.attributes()).wire,
                       [&]<class T, class W>() { return all_reduce_kernel<T, W>(request); });
}

// The index of the result of this part's replica. Replicas that need no result have no part.
std::size_t own_result(const KernelRequest& request) {
  std::size_t result = 0;
  for (int left = request.part;; ++result)
    if (request.out[result].present() && left-- == 0) return result;
}

std::unique_ptr<Kernel> prepare_broadcast(const KernelRequest& request) {
  return make_kernel(
      [own = own_result(request), bytes = request.in[0].bytes()](const KernelArgs& args) {
        if (bytes > 0) std::memcpy(args.out[own].data, args.in[0].data, bytes);
      },
      reach_text(request));
}

// Each part fills the result of its own replica.
std::unique_ptr<Kernel> prepare_all_gather(const KernelRequest& request) {
  const std::string why = read_all_gather(request.attributes()).why;
  return make_kernel(
      [own = own_result(request), bytes = request.in[0].bytes()](const KernelArgs& args) {
        if (bytes == 0) return;
        auto* to = args.out[own].as<std::byte>();
        for (const Tensor& operand : args.in) {
          std::memcpy(to, operand.data, bytes);
          to += bytes;
        }
      },
      reach_text(request) + (why.empty() ? "" : "; " + why));
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel(
      [bytes = request.out[0].bytes()](const KernelArgs& args) {
        if (bytes > 0) std::memcpy(args.out[0].data, args.in[0].data, bytes);
      },
      reach_text(request));
}

}  // namespace

std::vector<KernelEntry> collective_cpu() {
  return {{"AllReduce", kOwnDomain, {{"CPU", takes<Numbers>(), prepare_all_reduce, flat}}},
          {"Broadcast", kOwnDomain, {{"CPU", anything, prepare_broadcast}}},
          {"AllGather", kOwnDomain, {{"CPU", anything, prepare_all_gather}}},
          {"Copy", kOwnDomain, {{"CPU", anything, prepare_copy}}}};
}

}  // namespace lockstep
