#include "runtime/host_kernel.h"

#include <cstring>

namespace lockstep {
namespace {

class HostKernel final : public Kernel {
 public:
  HostKernel(std::unique_ptr<Kernel> kernel, Accelerator& accelerator)
      : kernel_(std::move(kernel)), accelerator_(accelerator) {}

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
  Memory workspace_;
  std::vector<Memory> memory_;
  std::vector<Tensor> in_, out_;
};

}  // namespace

KernelFactory on_host(KernelFactory kernel, Accelerator& accelerator) {
  return [kernel = std::move(kernel), &accelerator](const KernelRequest& request) {
    return std::make_unique<HostKernel>(kernel(request), accelerator);
  };
}

}  // namespace lockstep
