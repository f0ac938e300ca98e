// Replicas that share a GPU are first summed there, by the first one's part, which represents its
// GPU in the group and copies the sum to the others.
#include "operators/collective/nccl_cuda.h"

#include <algorithm>

#include "operators/collective/terms_cuda.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "runtime/cuda/nccl.h"

namespace lockstep {
namespace {

// The parts of an exchange run one after the other on one thread. Their calls wait for the last
// part, so that nothing else is within NCCL's group, or could fail there.
struct WaitingSum {
  NcclMember* member;
  void* total;
  cudaStream_t stream;
};
thread_local std::vector<WaitingSum> waiting_sums;

template <class T, class W>
class NcclAllReduce final : public Kernel {
 public:
  NcclAllReduce(const KernelRequest& request, const AllReduceAttrs& attrs)
      : part_(request.part),
        parts_(request.parts),
        device_(request.device),
        count_(request.out[0].count()),
        divisor_(attrs.reduction == Reduction::mean ? request.parts : 1) {
    for (int part = 0; part < parts_; ++part) {
      const Device device = request.part_devices[part];
      if (device == device_) here_.push_back(part);
      if (std::find(gpus_.begin(), gpus_.end(), device) == gpus_.end()) gpus_.push_back(device);
    }
  }

  std::string describe() const override {
    if (!speaks()) return join("NCCL, by part ", here_[0]);
    return join("NCCL over ", gpus_.size(), " GPUs", here_.size() > 1 ? ", " : "",
                here_.size() > 1 ? join(here_.size(), " replicas here first") : "",
                kConverts ? join(", as ", dtype_of<W>()) : "");
  }

  std::size_t workspace_bytes() const override {
    return kConverts && speaks() ? static_cast<std::size_t>(count_) * sizeof(W) : 0;
  }

  void run(const KernelArgs& args) override {
    if (count_ == 0) return;
    if (part_ == 0) waiting_sums.clear();  // of an exchange that failed
    if (speaks()) {
      DeviceType<W>* const total = total_of(args);
      sum_terms(args, total);
      waiting_sums.push_back({&nccl_member(gpus_, device_), total, stream_of(args)});
    }
    if (part_ < parts_ - 1) return;
    in_nccl_group([this] {
      for (const WaitingSum& sum : waiting_sums)
        sum.member->sum(sum.total, sum.total, count_, dtype_of<W>(), sum.stream);
    });
  }

  // NCCL enqueues its work only at the end of its group of calls.
  void conclude(const KernelArgs& args) override {
    if (speaks()) hand_round(args, total_of(args));
  }

 private:
  static constexpr bool kConverts = !std::is_same_v<T, W>;

  bool speaks() const { return here_[0] == part_; }

  DeviceType<W>* total_of(const KernelArgs& args) const {
    if constexpr (kConverts)
      return reinterpret_cast<DeviceType<W>*>(args.workspace);
    else
      return args.out[part_].template as<T>();
  }

  void sum_terms(const KernelArgs& args, DeviceType<W>* total) const {
    SumTerms<T, DeviceType<W>> body{static_cast<int>(here_.size()), T(1), {}, total};
    for (std::size_t k = 0; k < here_.size(); ++k)
      body.in[k] = args.in[here_[k]].template as<const T>();
    for_elements(args, count_, body);
  }

  void hand_round(const KernelArgs& args, const DeviceType<W>* total) const {
    HandRound<T, DeviceType<W>> body{
        static_cast<int>(here_.size()), static_cast<T>(divisor_), total, {}};
    for (std::size_t k = 0; k < here_.size(); ++k)
      body.out[k] = args.out[here_[k]].template as<T>();
    for_elements(args, count_, body);
  }

  int part_, parts_;
  Device device_;
  int64_t count_;
  int divisor_;
  std::vector<int> here_;     // parts on this GPU
  std::vector<Device> gpus_;  // all participants, in the order of replicas
};

}  // namespace

std::unique_ptr<Kernel> nccl_all_reduce(const KernelRequest& request, const AllReduceAttrs& attrs) {
  return dispatch_wire(request.in[0].dtype, attrs.wire, [&]<class T, class W>() {
    return std::make_unique<NcclAllReduce<T, W>>(request, attrs);
  });
}

}  // namespace lockstep
