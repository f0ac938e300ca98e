// SPDX-License-Identifier: Apache-2.0
// Collectives between the GPUs of one process: replicas on one GPU, or on GPUs with peer access.
// The plan makes each part wait for the operands it reads.
#include <algorithm>

#include "operators/collective/collective.h"
#include "operators/collective/nccl_cuda.h"
#include "operators/collective/terms_cuda.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "runtime/accelerator.h"
#include "runtime/cuda/accelerator.h"

namespace lockstep {
namespace {

// Each element is read from every operand before any result is written, so results may alias
// operands. Operands are added in the order of replicas, so all replicas get the same bits.
template <class T, class W>
struct SumOfReplicas {
  int replicas;
  int64_t begin;
  T divisor;
  const T* in[kMostTerms];
  T* out[kMostTerms];
  __device__ void operator()(int64_t element) const {
    const int64_t i = begin + element;
    T total = travelled<W>(in[0][i]);
    for (int k = 1; k < replicas; ++k) total += travelled<W>(in[k][i]);
    total = travelled<W>(divisor == T(1) ? total : static_cast<T>(total / divisor));
    for (int k = 0; k < replicas; ++k) out[k][i] = total;
  }
};

// Part p of n sums elements [count * p / n, count * (p + 1) / n).
template <class T, class W>
std::unique_ptr<Kernel> all_reduce_kernel(const KernelRequest& request, bool mean) {
  for (Device other : request.part_devices) require_reach(request.device, other);
  constexpr int64_t kLine = 128 / sizeof(T);
  const int64_t count = request.out[0].count();
  const int64_t lines = (count + kLine - 1) / kLine;
  const int64_t begin = lines * request.part / request.parts * kLine;
  const int64_t end = std::min(count, lines * (request.part + 1) / request.parts * kLine);
  return make_kernel(
      [=](const KernelArgs& args) {
        SumOfReplicas<T, DeviceType<W>> body{static_cast<int>(args.in.size()),
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
      reach_text(request) + (std::is_same_v<T, W> ? "" : join(", as ", dtype_of<W>())));
}

bool over_gpus(const KernelRequest& request) {
  const auto& devices = request.part_devices;
  return std::any_of(devices.begin(), devices.end(),
                     [&](Device device) { return device != devices[0]; });
}

// Refuses sums for which NCCL does not fit: NCCL has its own summation order, and replicas on one
// GPU need no messages.
std::string sums_over_gpus(const KernelRequest& request) {
  if (!over_gpus(request)) return "sums over several GPUs, not on one";
  const bool ordered = read_all_reduce(request.attributes()).order != SumOrder::any;
  return ordered ? "sums in any order, not in that of replicas" : "";
}

std::string broadcasts_over_gpus(const KernelRequest& request) {
  if (!over_gpus(request)) return "copies between several GPUs, not on one";
  const bool straight = read_broadcast(request.attributes()) == BroadcastPath::straight;
  return straight ? "copies by any path, not straight from the first replica" : "";
}

std::unique_ptr<Kernel> prepare_nccl(const KernelRequest& request) {
  return nccl_all_reduce(request, read_all_reduce(request.attributes()));
}

std::unique_ptr<Kernel> prepare_all_reduce(const KernelRequest& request) {
  const AllReduceAttrs attrs = read_all_reduce(request.attributes());
  const bool mean = attrs.reduction == Reduction::mean;
  return dispatch_wire(request.in[0].dtype, attrs.wire,
                       [&]<class T, class W>() { return all_reduce_kernel<T, W>(request, mean); });
}

std::unique_ptr<Kernel> prepare_broadcast(const KernelRequest& request) {
  return make_kernel(
      [part = request.part, bytes = request.out[0].bytes()](const KernelArgs& args) {
        args.queue->copy(args.out[part].data, args.in[0].data, bytes);
      },
      reach_text(request));
}

// Each part fills the result of its own replica.
std::unique_ptr<Kernel> prepare_all_gather(const KernelRequest& request) {
  const std::string why = read_all_gather(request.attributes()).why;
  return make_kernel(
      [part = request.part, bytes = request.in[0].bytes()](const KernelArgs& args) {
        auto* to = args.out[part].as<std::byte>();
        for (std::size_t k = 0; k < args.in.size(); ++k)
          args.queue->copy(to + k * bytes, args.in[k].data, bytes);
      },
      reach_text(request) + (why.empty() ? "" : "; " + why));
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel(
      [bytes = request.out[0].bytes()](const KernelArgs& args) {
        args.queue->copy(args.out[0].data, args.in[0].data, bytes);
      },
      reach_text(request));
}

}  // namespace

std::vector<KernelEntry> collective_cuda() {
  return {{"AllReduce",
           kOwnDomain,
           {{"NCCL", every({takes<Numbers>(), up_to_operands(kMostTerms), sums_over_gpus}),
             prepare_nccl},
            {"GPU", every({takes<Numbers>(), up_to_operands(kMostTerms)}), prepare_all_reduce}}},
          {"Broadcast",
           kOwnDomain,
           {{"NCCL", broadcasts_over_gpus, nccl_broadcast}, {"GPU", anything, prepare_broadcast}}},
          {"AllGather", kOwnDomain, {{"GPU", anything, prepare_all_gather}}},
          {"Copy", kOwnDomain, {{"GPU", anything, prepare_copy}}}};
}

}  // namespace lockstep
