// Collectives between the GPUs of one process, over memory that they share: replicas on one GPU,
// and on GPUs that reach each other's memory. The plan makes each part wait for the operands it
// reads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "operators/collective/collective.h"
#include "operators/dispatch.h"
#include "operators/elements_cuda.h"

namespace lockstep {
namespace {

constexpr int kMostReplicas = 64;

// As a value is that has travelled as 16 bits.
struct Whole {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};
struct AsHalf {
  __device__ float operator()(float x) const { return __half2float(__float2half_rn(x)); }
};
struct AsBFloat16 {
  __device__ float operator()(float x) const { return __bfloat162float(__float2bfloat16_rn(x)); }
};

// An element is read from every operand before it is written anywhere, so results may lie over
// operands; operands are added in the order of replicas, so all get the same bits.
template <class T, class Wire>
struct SumOfReplicas {
  int replicas;
  int64_t begin;
  T divisor;
  const T* in[kMostReplicas];
  T* out[kMostReplicas];
  __device__ void operator()(int64_t element) const {
    const int64_t i = begin + element;
    const Wire wire;
    T total = wire(in[0][i]);
    for (int k = 1; k < replicas; ++k) total += wire(in[k][i]);
    total = wire(divisor == T(1) ? total : static_cast<T>(total / divisor));
    for (int k = 0; k < replicas; ++k) out[k][i] = total;
  }
};

// Part p of n sums elements [count * p / n, count * (p + 1) / n).
template <class T, class Wire>
std::unique_ptr<Kernel> all_reduce_kernel(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool mean = attributes.text("reduction", "sum") == "mean";
  check(request.in.size() <= kMostReplicas, "sums over at most ", kMostReplicas, " replicas");
  constexpr int64_t kLine = 128 / sizeof(T);
  const int64_t count = request.out[0].count();
  const int64_t lines = (count + kLine - 1) / kLine;
  const int64_t begin = lines * request.part / request.parts * kLine;
  const int64_t end = std::min(count, lines * (request.part + 1) / request.parts * kLine);
  return make_kernel(
      [=](const KernelArgs& args) {
        SumOfReplicas<T, Wire> body{static_cast<int>(args.in.size()),
                                    begin,
                                    mean ? static_cast<T>(args.in.size()) : T(1),
                                    {},
                                    {}};
        for (std::size_t k = 0; k < args.in.size(); ++k) {
          body.in[k] = args.in[k].as<const T>();
          body.out[k] = args.out[k].as<T>();
        }
        for_elements(args, std::max<int64_t>(end - begin, 0), body);
      },
      "shared memory");
}

std::unique_ptr<Kernel> prepare_all_reduce(const KernelRequest& request) {
  auto attributes = request.attributes();
  const std::string wire = attributes.text("wire", "");
  if (wire == "float16") return all_reduce_kernel<float, AsHalf>(request);
  if (wire == "bfloat16") return all_reduce_kernel<float, AsBFloat16>(request);
  return dispatch<float, double, int32_t, int64_t>(
      request.in[0].dtype, [&]<class T>() { return all_reduce_kernel<T, Whole>(request); });
}

std::unique_ptr<Kernel> prepare_broadcast(const KernelRequest& request) {
  return make_kernel(
      [part = request.part, bytes = request.out[0].bytes()](const KernelArgs& args) {
        args.queue->copy(args.out[static_cast<std::size_t>(part)].data, args.in[0].data, bytes);
      },
      "shared memory");
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel(
      [bytes = request.out[0].bytes()](const KernelArgs& args) {
        args.queue->copy(args.out[0].data, args.in[0].data, bytes);
      },
      "shared memory");
}

}  // namespace

std::vector<KernelEntry> collective_cuda() {
  return {{"AllReduce", kOwnDomain, prepare_all_reduce},
          {"Broadcast", kOwnDomain, prepare_broadcast},
          {"Copy", kOwnDomain, prepare_copy}};
}

}  // namespace lockstep
