// In-process collectives between CPU replicas: shared memory, no messages. The plan makes each part
// wait for the operands it reads.
#include <algorithm>
#include <cstring>

#include "operators/collective/collective.h"
#include "operators/dispatch.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

// Part p of n reduces elements [count * p / n, count * (p + 1) / n) of all operands into all
// results; boundaries on cache lines. An element is read from every operand before it is written
// anywhere, so results may lie over operands.
template <class T>
std::unique_ptr<Kernel> all_reduce_kernel(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool mean = attributes.text("reduction", "sum") == "mean";
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t count = request.out[0].count();
  const int64_t lines = (count + kLine - 1) / kLine;
  const int64_t begin = lines * request.part / request.parts * kLine;
  const int64_t end = std::min(count, lines * (request.part + 1) / request.parts * kLine);
  auto run = [=, threads = request.threads](const KernelArgs& args) {
    constexpr int64_t kChunk = 1024;  // stays in the first-level cache
    parallel_for((end - begin + kChunk - 1) / kChunk, 16, threads,
                 [&](int64_t first, int64_t last) {
                   T total[kChunk];
                   for (int64_t chunk = first; chunk < last; ++chunk) {
                     const int64_t at = begin + chunk * kChunk;
                     const int64_t size = std::min(kChunk, end - at);
                     std::copy_n(args.in[0].as<T>() + at, size, total);
                     for (std::size_t k = 1; k < args.in.size(); ++k) {
                       const T* term = args.in[k].as<T>() + at;
                       for (int64_t i = 0; i < size; ++i) total[i] += term[i];
                     }
                     if (mean)
                       for (int64_t i = 0; i < size; ++i)
                         total[i] /= static_cast<T>(args.in.size());
                     for (const Tensor& result : args.out)
                       std::copy_n(total, size, result.as<T>() + at);
                   }
                 });
  };
  return make_kernel(run, "shared memory");
}

std::unique_ptr<Kernel> prepare_broadcast(const KernelRequest& request) {
  return make_kernel(
      [part = request.part, bytes = request.out[0].bytes()](const KernelArgs& args) {
        if (bytes > 0) std::memcpy(args.out[part].data, args.in[0].data, bytes);
      },
      "shared memory");
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel(
      [bytes = request.out[0].bytes()](const KernelArgs& args) {
        if (bytes > 0) std::memcpy(args.out[0].data, args.in[0].data, bytes);
      },
      "shared memory");
}

}  // namespace

std::vector<KernelEntry> collective_cpu() {
  return {{"AllReduce", kOwnDomain,
           [](const KernelRequest& request) {
             return dispatch<float, double, int32_t, int64_t>(
                 request.in[0].dtype, [&]<class T>() { return all_reduce_kernel<T>(request); });
           }},
          {"Broadcast", kOwnDomain, prepare_broadcast},
          {"Copy", kOwnDomain, prepare_copy}};
}

}  // namespace lockstep
