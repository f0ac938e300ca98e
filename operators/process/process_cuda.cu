// SPDX-License-Identifier: Apache-2.0
// Messages and sums between the GPUs of several processes, by NCCL. In each process one GPU
// communicates for all replicas, in one queue. The order of messages is the order of the one graph
// that was cut into the processes' graphs. Send only makes a token. Sent on one side and Recv on
// the other enqueue the message; both have the same position in the original graph, so processes
// cannot deadlock.
#include <algorithm>

#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "operators/collective/terms_cuda.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "operators/process/process.h"
#include "runtime/accelerator.h"
#include "runtime/cuda/nccl.h"

namespace lockstep {
namespace {

std::unique_ptr<Kernel> prepare_send(const KernelRequest& request) {
  comm_of(request);
  return make_kernel(
      [](const KernelArgs& args) {
        check_cuda(cudaMemsetAsync(args.out[0].data, 0, sizeof(int64_t), stream_of(args)),
                   "a token");
      },
      "when it is waited for");
}

// One message. A value on another GPU of this process is copied first.
class MessageKernel final : public Kernel {
 public:
  MessageKernel(const KernelRequest& request, bool sends)
      : comm_(comm_of(request)),
        device_(request.device),
        peer_(static_cast<int>(request.attributes().integer("peer", 0))),
        sends_(sends),
        bytes_((sends ? request.in[1] : request.out[0]).bytes()),
        copies_(request.operand_devices[sends ? 1 : 0] != request.device) {
    check(peer_ >= 0 && peer_ < comm_.size() && peer_ != comm_.rank(), "communicates with rank ",
          peer_, ", this is rank ", comm_.rank(), " of ", comm_.size());
  }

  std::string describe() const override {
    return join("NCCL, rank ", peer_, copies_ ? ", by a copy" : "");
  }
  std::size_t workspace_bytes() const override { return copies_ ? bytes_ : 0; }

  void run(const KernelArgs& args) override {
    if (bytes_ == 0) return;
    void* const value = sends_ ? args.in[1].data : args.out[0].data;
    void* const travelling = copies_ ? args.workspace : value;
    NcclMember& member = nccl_member(comm_, device_);
    const cudaStream_t stream = stream_of(args);
    if (sends_ && copies_) args.queue->copy(travelling, value, bytes_);
    with_nccl(comm_, member, [&] {
      if (sends_)
        member.send(travelling, bytes_, peer_, stream);
      else
        member.receive(travelling, bytes_, peer_, stream);
    });
    if (!sends_ && copies_) args.queue->copy(value, travelling, bytes_);
  }

 private:
  Comm& comm_;
  Device device_;
  int peer_;
  bool sends_;
  std::size_t bytes_;
  bool copies_;
};

// Sends values of type T as type W; subclasses define the sum.
template <class T, class W>
class ProcessSum : public Kernel {
 public:
  ProcessSum(const KernelRequest& request, const ProcessAllReduceAttrs& attrs)
      : comm_(comm_of(request)),
        device_(request.device),
        count_(request.in[0].count()),
        divisor_(attrs.mean_of > 0 ? static_cast<T>(attrs.mean_of) : T(1)) {
    for (Device device : request.operand_devices)
      check(device == device_, "sums on ", device_, " a tensor that is on ", device);
  }

  std::size_t workspace_bytes() const override {
    const int64_t travelling = kConverts ? 2 * count_ : 0;
    return (travelling + own_workspace()) * sizeof(W);
  }

  void run(const KernelArgs& args) override {
    if (count_ == 0) return;
    const T* const in = args.in[0].as<const T>();
    T* const out = args.out[0].as<T>();
    auto* const workspace = reinterpret_cast<OnWire*>(args.workspace);
    if constexpr (kConverts) {
      OnWire* const terms = workspace + own_workspace();
      OnWire* const sums = terms + count_;
      for_elements(args, count_, SumTerms<T, OnWire>{1, T(1), {in}, terms});
      sum(args, terms, sums, workspace);
      for_elements(args, count_, HandRound<T, OnWire>{1, T(1), sums, {out}});
    } else {
      sum(args, in, out, workspace);
    }
  }

 protected:
  static constexpr bool kConverts = !std::is_same_v<T, W>;
  using OnWire = DeviceType<W>;

  virtual int64_t own_workspace() const { return 0; }  // elements
  // Sums the terms of all processes. `sums` may alias `terms`.
  virtual void sum(const KernelArgs& args, const OnWire* terms, OnWire* sums,
                   OnWire* workspace) = 0;
  std::string as_what() const { return kConverts ? join(", as ", dtype_of<W>()) : ""; }

  Comm& comm_;
  const Device device_;
  const int64_t count_;
  const T divisor_;
};

// Sums as CPUs do: rank r receives all ranks' terms of the r-th chunk, adds them in rank order, and
// distributes the sums.
template <class T, class W>
class SumInOrderOfRanks final : public ProcessSum<T, W> {
 public:
  using ProcessSum<T, W>::ProcessSum;
  std::string describe() const override {
    return join("NCCL, ", comm_.size(), " processes, in order of ranks", this->as_what());
  }

 private:
  using Base = ProcessSum<T, W>;
  using OnWire = typename Base::OnWire;
  using Base::comm_;

  int64_t own_workspace() const override { return longest() * comm_.size(); }

  int64_t begin(int rank) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    return rank == comm_.size() ? this->count_ : this->count_ * rank / comm_.size() / kLine * kLine;
  }
  int64_t length(int rank) const { return begin(rank + 1) - begin(rank); }
  int64_t longest() const {
    int64_t most = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) most = std::max(most, length(rank));
    return most;
  }

  // Sends a chunk to every other rank and receives a chunk from every other rank.
  template <class ToSend, class ToReceive>
  void exchange(const KernelArgs& args, const ToSend& chunk_for, const ToReceive& chunk_of) {
    NcclMember& member = nccl_member(comm_, this->device_);
    const cudaStream_t stream = stream_of(args);
    with_nccl(comm_, member, [&] {
      for (int peer = 0; peer < comm_.size(); ++peer) {
        if (peer == comm_.rank()) continue;
        const auto [to_send, sent] = chunk_for(peer);
        const auto [to_receive, received] = chunk_of(peer);
        if (sent > 0) member.send(to_send, sent * sizeof(W), peer, stream);
        if (received > 0) member.receive(to_receive, received * sizeof(W), peer, stream);
      }
    });
  }

  void sum(const KernelArgs& args, const OnWire* terms, OnWire* sums, OnWire* workspace) override {
    const int me = comm_.rank();
    const int64_t mine = length(me), stride = longest();
    using Sent = std::pair<const OnWire*, int64_t>;
    using Received = std::pair<OnWire*, int64_t>;
    exchange(
        args, [&](int peer) { return Sent(terms + begin(peer), length(peer)); },
        [&](int peer) { return Received(workspace + peer * stride, mine); });
    SumTerms<OnWire, OnWire> add{
        comm_.size(), static_cast<Computed<OnWire>>(this->divisor_), {}, sums + begin(me)};
    for (int rank = 0; rank < comm_.size(); ++rank)
      add.in[rank] = rank == me ? terms + begin(me) : workspace + rank * stride;
    for_elements(args, mine, add);
    exchange(
        args, [&](int) { return Sent(sums + begin(me), mine); },
        [&](int peer) { return Received(sums + begin(peer), length(peer)); });
  }
};

// Sums in NCCL's own order.
template <class T, class W>
class SumByNccl final : public ProcessSum<T, W> {
 public:
  using ProcessSum<T, W>::ProcessSum;
  std::string describe() const override {
    return join("NCCL's sum, ", this->comm_.size(), " processes", this->as_what());
  }

 private:
  using OnWire = typename ProcessSum<T, W>::OnWire;

  void sum(const KernelArgs& args, const OnWire* terms, OnWire* sums, OnWire*) override {
    NcclMember& member = nccl_member(this->comm_, this->device_);
    with_nccl(this->comm_, member,
              [&] { member.sum(terms, sums, this->count_, dtype_of<W>(), stream_of(args)); });
    const auto divisor = static_cast<Computed<OnWire>>(this->divisor_);
    if (divisor != 1)
      for_elements(args, this->count_, SumTerms<OnWire, OnWire>{1, divisor, {sums}, sums});
  }
};

// Every rank sends its rows to every other rank.
class ProcessAllGather final : public Kernel {
 public:
  explicit ProcessAllGather(const KernelRequest& request)
      : comm_(comm_of(request)),
        device_(request.device),
        why_(read_process_all_gather(request.attributes()).why),
        places_(places_of_ranks(request)) {
    for (Device device : request.operand_devices)
      check(device == device_, "joins on ", device_, " a tensor that is on ", device);
  }

  std::string describe() const override {
    return join("NCCL, ", comm_.size(), " processes", why_.empty() ? "" : "; ", why_);
  }

  void run(const KernelArgs& args) override {
    if (places_.back() == 0) return;
    const int me = comm_.rank();
    auto* const out = args.out[0].as<std::byte>();
    args.queue->copy(out + begin(me), args.in[0].data, bytes(me));
    NcclMember& member = nccl_member(comm_, device_);
    const cudaStream_t stream = stream_of(args);
    with_nccl(comm_, member, [&] {
      for (int peer = 0; peer < comm_.size(); ++peer) {
        if (peer == me) continue;
        member.send(args.in[0].data, bytes(me), peer, stream);
        member.receive(out + begin(peer), bytes(peer), peer, stream);
      }
    });
  }

 private:
  std::size_t begin(int rank) const { return places_[rank]; }
  std::size_t bytes(int rank) const { return begin(rank + 1) - begin(rank); }

  Comm& comm_;
  const Device device_;
  const std::string why_;
  const std::vector<std::size_t> places_;
};

std::unique_ptr<Kernel> prepare_process_gather(const KernelRequest& request) {
  return std::make_unique<ProcessAllGather>(request);
}

template <template <class T, class W> class Sum>
std::unique_ptr<Kernel> prepare_sum(const KernelRequest& request) {
  const ProcessAllReduceAttrs attrs = read_process_all_reduce(request.attributes());
  return dispatch_wire(request.in[0].dtype, attrs.wire, [&]<class T, class W>() {
    return std::make_unique<Sum<T, W>>(request, attrs);
  });
}

std::string any_order(const KernelRequest& request) {
  const bool any = read_process_all_reduce(request.attributes()).order == SumOrder::any;
  return any ? "" : "sums in any order, not in that of ranks";
}

std::string few_processes(const KernelRequest& request) {
  const int processes = comm_of(request).size();
  if (processes <= kMostTerms) return "";
  return join("sums over at most ", kMostTerms, " processes, not ", processes);
}

}  // namespace

std::vector<KernelEntry> process_cuda() {
  auto message = [](bool sends) {
    return [sends](const KernelRequest& request) {
      return std::make_unique<MessageKernel>(request, sends);
    };
  };
  return {{"Send", kOwnDomain, {{"GPU", anything, prepare_send}}},
          {"Sent", kOwnDomain, {{"GPU", anything, message(true)}}},
          {"Recv", kOwnDomain, {{"GPU", anything, message(false)}}},
          {"ProcessAllReduce",
           kOwnDomain,
           {{"NCCL", every({takes<Numbers>(), any_order}), prepare_sum<SumByNccl>},
            {"NCCL, in order of ranks", every({takes<Numbers>(), few_processes}),
             prepare_sum<SumInOrderOfRanks>}}},
          {"ProcessAllGather", kOwnDomain, {{"GPU", anything, prepare_process_gather}}}};
}

}  // namespace lockstep
