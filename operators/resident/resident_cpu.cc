// SPDX-License-Identifier: Apache-2.0
// The fallback that copies. A plan rebinds a view into the batch instead, if the alignment of its
// rows permits.
#include <algorithm>
#include <cstring>

#include "operators/kit/dispatch.h"
#include "operators/resident/resident.h"
#include "runtime/kernel/moving_view.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

class ResidentSlice final : public Kernel, public MovingView {
 public:
  explicit ResidentSlice(const KernelRequest& request)
      : name_(request.node.description()),
        held_(request.in[0].dims[0]),
        rows_(request.out[0].dims[0]),
        bytes_(request.out[0].bytes()),
        threads_(request.threads) {}

  std::string describe() const override { return join("copies rows of ", alignment(), " bytes"); }

  std::size_t alignment() const override { return bytes_ / std::max<int64_t>(rows_, 1); }

  std::size_t offset(std::span<const Tensor> in) const override {
    const int64_t index = *in[1].as<int64_t>();
    if (index < 0 || index > held_ - rows_)
      fail(name_, ": ", outside_resident(index, rows_, held_));
    return index * alignment();
  }

  void run(const KernelArgs& args) override {
    const std::byte* from = args.in[0].as<std::byte>() + offset(args.in);
    std::byte* to = args.out[0].as<std::byte>();
    parallel_for(
        static_cast<int64_t>(bytes_), kGrainBytes, threads_,
        [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, end - begin); });
  }

 private:
  const std::string name_;
  const int64_t held_, rows_;
  const std::size_t bytes_;
  const int threads_;
};

std::unique_ptr<Kernel> prepare_resident_slice(const KernelRequest& request) {
  return std::make_unique<ResidentSlice>(request);
}

}  // namespace

std::vector<KernelEntry> resident_cpu() {
  return {{"ResidentSlice", kOwnDomain, {{"CPU", anything, prepare_resident_slice}}}};
}

}  // namespace lockstep
