// SPDX-License-Identifier: Apache-2.0
// The first of the replicas that share a GPU represents the GPU in the group. Its part first sums
// the operands on this GPU; at the end it copies the received sum to the other replicas.
#include "operators/collective/nccl_cuda.h"

#include <algorithm>

#include "operators/collective/terms_cuda.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "runtime/accelerator.h"
#include "runtime/cuda/nccl.h"

namespace lockstep {
namespace {

// The parts of an exchange run one after the other on one thread. Their NCCL calls are collected
// until the last part runs, so that nothing else runs, and could fail, inside an NCCL group.
struct WaitingSum {
  NcclMember* member;
  void* total;
  cudaStream_t stream;
};
thread_local std::vector<WaitingSum> waiting_sums;
struct WaitingBroadcast {
  NcclMember* member;
  const void* from;  // the value, on the member that has it
  void* to;
  cudaStream_t stream;
};
thread_local std::vector<WaitingBroadcast> waiting_broadcasts;

// The position of a part among all parts of a collective, by GPU.
struct PlaceInGroup {
  explicit PlaceInGroup(const KernelRequest& request)
      : part(request.part), parts(request.parts), device(request.device) {
    for (int k = 0; k < parts; ++k) {
      const Device each = request.part_devices[k];
      if (each == device) here.push_back(k);
      if (std::find(gpus.begin(), gpus.end(), each) == gpus.end()) gpus.push_back(each);
    }
  }

  bool speaks() const { return here[0] == part; }
  bool is_last() const { return part == parts - 1; }
  std::string describe(const std::string& here_first, const std::string& more) const {
    if (!speaks()) return join("NCCL, by part ", here[0]);
    return join("NCCL over ", gpus.size(), " GPUs", here.size() > 1 ? here_first : "", more);
  }

  int part, parts;
  Device device;
  std::vector<int> here;     // parts on this GPU
  std::vector<Device> gpus;  // all participants, in the order of replicas
};

template <class T, class W>
class NcclAllReduce final : public Kernel {
 public:
  NcclAllReduce(const KernelRequest& request, const AllReduceAttrs& attrs)
      : at_(request),
        count_(request.out[0].count()),
        divisor_(attrs.reduction == Reduction::mean ? request.parts : 1) {}

  std::string describe() const override {
    return at_.describe(join(", ", at_.here.size(), " replicas here first"),
                        kConverts ? join(", as ", dtype_of<W>()) : "");
  }

  std::size_t workspace_bytes() const override {
    return kConverts && at_.speaks() ? static_cast<std::size_t>(count_) * sizeof(W) : 0;
  }

  void run(const KernelArgs& args) override {
    if (count_ == 0) return;
    if (at_.part == 0) waiting_sums.clear();  // left over from an exchange that failed
    if (at_.speaks()) {
      DeviceType<W>* const total = total_of(args);
      sum_terms(args, total);
      waiting_sums.push_back({&nccl_member(at_.gpus, at_.device), total, stream_of(args)});
    }
    if (!at_.is_last()) return;
    in_nccl_group([this] {
      for (const WaitingSum& sum : waiting_sums)
        sum.member->sum(sum.total, sum.total, count_, dtype_of<W>(), sum.stream);
    });
  }

  // NCCL enqueues its work only at the end of its group of calls.
  void conclude(const KernelArgs& args) override {
    if (at_.speaks()) hand_round(args, total_of(args));
  }

 private:
  static constexpr bool kConverts = !std::is_same_v<T, W>;

  DeviceType<W>* total_of(const KernelArgs& args) const {
    if constexpr (kConverts)
      return reinterpret_cast<DeviceType<W>*>(args.workspace);
    else
      return args.out[at_.part].template as<T>();
  }

  void sum_terms(const KernelArgs& args, DeviceType<W>* total) const {
    SumTerms<T, DeviceType<W>> body{static_cast<int>(at_.here.size()), T(1), {}, total};
    for (std::size_t k = 0; k < at_.here.size(); ++k)
      body.in[k] = args.in[at_.here[k]].template as<const T>();
    for_elements(args, count_, body);
  }

  void hand_round(const KernelArgs& args, const DeviceType<W>* total) const {
    HandRound<T, DeviceType<W>> body{
        static_cast<int>(at_.here.size()), static_cast<T>(divisor_), total, {}};
    for (std::size_t k = 0; k < at_.here.size(); ++k)
      body.out[k] = args.out[at_.here[k]].template as<T>();
    for_elements(args, count_, body);
  }

  const PlaceInGroup at_;
  int64_t count_;
  int divisor_;
};

class NcclBroadcast final : public Kernel {
 public:
  explicit NcclBroadcast(const KernelRequest& request)
      : at_(request), bytes_(request.in[0].bytes()) {
    const auto root = std::find(at_.gpus.begin(), at_.gpus.end(), request.operand_devices[0]);
    supported(root != at_.gpus.end(), "copies from a GPU of its replicas, not from ",
              text_of(request.operand_devices[0]));
    root_ = static_cast<int>(root - at_.gpus.begin());
  }

  std::string describe() const override {
    return at_.describe(join(", to ", at_.here.size(), " replicas here"), "");
  }

  void run(const KernelArgs& args) override {
    if (bytes_ == 0) return;
    if (at_.part == 0) waiting_broadcasts.clear();  // left over from an exchange that failed
    if (at_.speaks())
      waiting_broadcasts.push_back({&nccl_member(at_.gpus, at_.device), args.in[0].data,
                                    args.out[at_.part].data, stream_of(args)});
    if (!at_.is_last()) return;
    in_nccl_group([this] {
      for (const WaitingBroadcast& copy : waiting_broadcasts)
        copy.member->broadcast(copy.from, copy.to, bytes_, root_, copy.stream);
    });
  }

  void conclude(const KernelArgs& args) override {
    if (!at_.speaks()) return;
    for (std::size_t k = 1; k < at_.here.size(); ++k)
      args.queue->copy(args.out[at_.here[k]].data, args.out[at_.part].data, bytes_);
  }

 private:
  const PlaceInGroup at_;
  std::size_t bytes_;
  int root_ = 0;  // the operand's GPU
};

}  // namespace

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs) {
  return dispatch_wire(request.in[0].dtype, attrs.wire, [&]<class T, class W>() {
    return std::make_unique<NcclAllReduce<T, W>>(request, attrs);
  });
}

std::unique_ptr<Kernel> nccl_broadcast(const KernelRequest& request) {
  return std::make_unique<NcclBroadcast>(request);
}

}  // namespace lockstep
