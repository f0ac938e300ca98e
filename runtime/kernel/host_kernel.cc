// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/host_kernel.h"

#include <algorithm>

#include "graph/on_host.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"

namespace lockstep {
namespace {

class HostKernel final : public Kernel {
 public:
  HostKernel(std::unique_ptr<Kernel> kernel, Accelerator& accelerator, std::size_t tensor_bytes)
      : kernel_(std::move(kernel)), accelerator_(accelerator), tensor_bytes_(tensor_bytes) {}

  void run(const KernelArgs& args) override {
    if (!workspace_) prepare(args);
    Queue& queue = *args.queue;
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (in_[i].data && in_[i].count() > 0)
        queue.copy(in_[i].data, args.in[i].data, in_[i].desc.bytes());
    queue.call([this, &context = args.context] {
      kernel_->run({in_, out_, workspace_.get(), context});
    });
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (out_[i].data && out_[i].count() > 0)
        queue.copy(args.out[i].data, out_[i].data, out_[i].desc.bytes());
  }

  std::string describe() const override {
    const std::string how = kernel_->describe();
    return how.empty() ? "on the host" : how + ", on the host";
  }

  std::size_t scratch_bytes() const override { return kernel_->workspace_bytes() + tensor_bytes_; }

 private:
  void prepare(const KernelArgs& args) {
    workspace_ = allocate(kernel_->workspace_bytes());
    for (auto [from, to] : {std::pair{args.in, &in_}, std::pair{args.out, &out_}})
      for (const Tensor& tensor : from) {
        Tensor& mine = to->emplace_back(Tensor{tensor.desc});
        if (!tensor.data) continue;
        memory_.push_back(accelerator_.allocate_host(tensor.desc.bytes()));
        mine.data = memory_.back().get();
      }
  }

  std::unique_ptr<Kernel> kernel_;
  Accelerator& accelerator_;
  std::size_t tensor_bytes_;  // of the copies of all operands and results
  Memory workspace_;
  std::vector<Memory> memory_;
  std::vector<Tensor> in_, out_;
};

std::size_t bytes_of(const KernelRequest& request) {
  std::size_t bytes = 0;
  for (const auto* descs : {&request.in, &request.out})
    for (const TensorDesc& desc : *descs)
      if (desc.present()) bytes += desc.bytes();
  return bytes;
}

Candidate on_host(Candidate candidate, Accelerator& accelerator) {
  return {candidate.name + " on the host", std::move(candidate.refuses),
          [prepare = std::move(candidate.prepare), &accelerator](const KernelRequest& request) {
            return std::make_unique<HostKernel>(prepare(request), accelerator, bytes_of(request));
          }};
}

// A placeholder for the missing device kernel, so that the plan gives the reason for the host.
Candidate missing() {
  return {"GPU", [](const KernelRequest&) { return "has no kernel for it"; }, nullptr};
}

// Refuses nodes with a hint for the host (graph/on_host.h), so that the host's candidates run them.
Candidate unless_on_host(Candidate candidate) {
  candidate.refuses = [refuses = std::move(candidate.refuses)](const KernelRequest& request) {
    if (asks_for_host(request.node)) return std::string("the graph asks for the host's CPU");
    return refuses ? refuses(request) : std::string();
  };
  return candidate;
}

bool same_operator(const KernelEntry& a, const KernelEntry& b) {
  return a.type == b.type && a.domain == b.domain;
}

void check_twin(const KernelEntry& own, const std::vector<KernelEntry>& host) {
  const bool found = std::any_of(host.begin(), host.end(), [&](const KernelEntry& entry) {
    return same_operator(own, entry);
  });
  check(found, "there is a GPU kernel for ", own.domain, ":", own.type, ", but no CPU kernel");
}

}  // namespace

std::vector<KernelEntry> with_host(std::vector<KernelEntry> own, std::vector<KernelEntry> host,
                                   Accelerator& accelerator) {
  std::vector<KernelEntry> all = without_host(std::move(own), host);
  const std::size_t owned = all.size();
  for (KernelEntry& entry : host) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(owned);
    auto to = std::find_if(all.begin(), end,
                           [&](const KernelEntry& mine) { return same_operator(mine, entry); });
    if (to == end) to = all.insert(all.end(), {entry.type, entry.domain, {missing()}});
    for (Candidate& candidate : to->candidates) candidate = unless_on_host(std::move(candidate));
    for (Candidate& candidate : entry.candidates)
      to->candidates.push_back(on_host(std::move(candidate), accelerator));
  }
  return all;
}

std::vector<KernelEntry> without_host(std::vector<KernelEntry> own,
                                      const std::vector<KernelEntry>& host) {
  for (const KernelEntry& entry : own) check_twin(entry, host);
  return own;
}

}  // namespace lockstep
