#include "operators/batch_norm/with_relu_cpu.h"

#include <cstring>

#include "operators/batch_norm/operands.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

class WithRelu final : public Kernel {
 public:
  WithRelu(std::unique_ptr<Kernel> kernel, const KernelRequest& request)
      : kernel_(std::move(kernel)), count_(request.out[0].count()), threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    kernel_->run(args);
    const float* z = operand<float>(args, BatchNormIn::z);
    float* y = args.out[BatchNormOut::y].as<float>();
    parallel_for(count_, kGrain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float sum = z ? y[i] + z[i] : y[i];
        y[i] = sum < 0 ? 0 : sum;  // NaN stays NaN
      }
    });
  }
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::string describe() const override { return kernel_->describe() + ", ReLU"; }

 private:
  std::unique_ptr<Kernel> kernel_;
  int64_t count_;
  int threads_;
};

class WithReluGrad final : public Kernel {
  using In = BatchNormGradIn;

 public:
  WithReluGrad(std::unique_ptr<Kernel> kernel, const KernelRequest& request)
      : kernel_(std::move(kernel)),
        count_(request.out[0].count()),
        own_bytes_((kernel_->workspace_bytes() + 63) / 64 * 64),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    const float* dy = args.in[In::dy].as<const float>();
    const float* y = args.in[In::y].as<const float>();
    auto* masked = reinterpret_cast<float*>(args.workspace + own_bytes_);
    parallel_for(count_, kGrain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) masked[i] = y[i] > 0 ? dy[i] : 0;
    });
    inputs_.assign(args.in.begin(), args.in.end());
    inputs_[In::dy].data = masked;
    kernel_->run({inputs_, args.out, args.workspace, args.context});
    if (float* dz = result<float>(args, BatchNormGradOut::dz))
      std::memcpy(dz, masked, static_cast<std::size_t>(count_) * sizeof(float));
  }
  std::size_t workspace_bytes() const override {
    return own_bytes_ + static_cast<std::size_t>(count_) * sizeof(float);
  }
  std::string describe() const override { return "ReLU, " + kernel_->describe(); }

 private:
  std::unique_ptr<Kernel> kernel_;
  int64_t count_;
  std::size_t own_bytes_;
  int threads_;
  std::vector<Tensor> inputs_;
};

}  // namespace

std::unique_ptr<Kernel> with_relu(std::unique_ptr<Kernel> forward, const KernelRequest& request) {
  return std::make_unique<WithRelu>(std::move(forward), request);
}

std::unique_ptr<Kernel> with_relu_grad(std::unique_ptr<Kernel> backward,
                                       const KernelRequest& request) {
  return std::make_unique<WithReluGrad>(std::move(backward), request);
}

}  // namespace lockstep
