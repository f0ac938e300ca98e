// oneDNN's batch normalisation. It needs 4 dimensions, so all dimensions after the channels are
// merged.
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/batch_norm_dnnl.h"
#include "operators/batch_norm/operands.h"
#include "operators/batch_norm/with_relu_cpu.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

using Flags = dnnl::normalization_flags;

dnnl::memory::desc image_desc(const TensorDesc& x) {
  TensorDesc flat = x;
  const int64_t planes = x.dims[0] * x.dims[1];
  flat.dims = {x.dims[0], x.dims[1], x.count() / std::max<int64_t>(1, planes), 1};
  return desc_of(flat);
}

// The forward pass, then the running statistics, which oneDNN does not compute.
class BatchNormKernel final : public Kernel {
  using In = BatchNormIn;
  using Out = BatchNormOut;

 public:
  BatchNormKernel(const KernelRequest& request, const BatchNormAttrs& attrs)
      : attrs_(attrs), channels_(request.in[In::x].dims[1]) {
    const dnnl::memory::desc x = image_desc(request.in[In::x]);
    const dnnl::memory::desc vector = plain_desc({channels_});
    Flags flags = Flags::use_scale | Flags::use_shift;
    if (!attrs.training) flags |= Flags::use_global_stats;
    auto desc = describe_batch_norm(
        attrs.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, x,
        attrs.epsilon, flags);
    kernel_ = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
    mean_ = attrs.training ? kernel_->scratch(vector) : kernel_->input(In::mean, vector, vector);
    variance_ =
        attrs.training ? kernel_->scratch(vector) : kernel_->input(In::variance, vector, vector);
    kernel_->execute(desc, dnnl::batch_normalization_forward(desc),
                     {{DNNL_ARG_SRC, kernel_->input(In::x, x, x)},
                      {DNNL_ARG_SCALE, kernel_->input(In::scale, vector, vector)},
                      {DNNL_ARG_SHIFT, kernel_->input(In::bias, vector, vector)},
                      {DNNL_ARG_MEAN, mean_},
                      {DNNL_ARG_VARIANCE, variance_},
                      {DNNL_ARG_DST, kernel_->output(Out::y, x, x)}});
    kernel_->finish();
  }

  void run(const KernelArgs& args) override {
    kernel_->run(args);
    if (!attrs_.training) return;
    settle(args, 0, static_cast<const float*>(mean_.get_data_handle()));
    settle(args, 1, static_cast<const float*>(variance_.get_data_handle()));
  }
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::string describe() const override { return kernel_->describe(); }

 private:
  // Statistic 0 is the mean, 1 the variance.
  void settle(const KernelArgs& args, std::size_t statistic, const float* of_batch) const {
    if (float* next = result<float>(args, Out::new_mean + statistic)) {
      const float* running = args.in[In::mean + statistic].as<float>();
      for (int64_t c = 0; c < channels_; ++c)
        next[c] = attrs_.momentum * running[c] + (1 - attrs_.momentum) * of_batch[c];
    }
    if (float* saved = result<float>(args, Out::saved_mean + statistic))
      std::copy_n(of_batch, channels_, saved);
  }

  BatchNormAttrs attrs_;
  int64_t channels_;
  std::unique_ptr<DnnlKernel> kernel_;
  dnnl::memory mean_, variance_;
};

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  auto kernel = std::make_unique<BatchNormKernel>(request, attrs);
  if (!attrs.relu) return kernel;
  return with_relu(std::move(kernel), request);
}

std::unique_ptr<Kernel> prepare_grad(const KernelRequest& request) {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  const BatchNormGradAttrs attrs = read_batch_norm_grad(request.node);
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (attrs.given) flags |= Flags::use_global_stats;
  const dnnl::memory::desc x = image_desc(request.in[In::x]);
  const dnnl::memory::desc vector = plain_desc({request.in[In::x].dims[1]});
  auto forward = describe_batch_norm(dnnl::prop_kind::forward_training, x, attrs.epsilon, flags);
  auto desc = describe_batch_norm_backward(forward, x, attrs.epsilon, flags);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  dnnl::memory scale = kernel->input(In::scale, vector, vector);
  auto operands = batch_norm_unread(scale);
  operands.insert(operands.end(),
                  {{DNNL_ARG_DIFF_DST, kernel->input(In::dy, x, x)},
                   {DNNL_ARG_SRC, kernel->input(In::x, x, x)},
                   {DNNL_ARG_SCALE, scale},
                   {DNNL_ARG_MEAN, kernel->input(In::mean, vector, vector)},
                   {DNNL_ARG_VARIANCE, kernel->input(In::variance, vector, vector)},
                   {DNNL_ARG_DIFF_SRC, kernel->output(Out::dx, x, x)},
                   {DNNL_ARG_DIFF_SCALE, kernel->output(Out::dscale, vector, vector)},
                   {DNNL_ARG_DIFF_SHIFT, kernel->output(Out::dbias, vector, vector)}});
  kernel->execute(desc, dnnl::batch_normalization_backward(desc), operands);
  kernel->finish();
  if (!attrs.relu) return kernel;
  return with_relu_grad(std::move(kernel), request);
}

}  // namespace

std::vector<KernelEntry> batch_norm_cpu() {
  const Refusal forward = every({takes<Float32>(), float_vectors(BatchNormIn::scale)});
  const Refusal backward = every({takes<Float32>(), float_vectors(BatchNormGradIn::scale)});
  return {
      {"BatchNormalization", "", {{"oneDNN", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormTrain", kOwnDomain, {{"oneDNN", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormGrad", kOwnDomain, {{"oneDNN", backward, prepare_grad, batch_norm_grad_layouts}}}};
}

}  // namespace lockstep
