// oneDNN's batch normalisation. It asks for 4 dimensions; whatever comes after the channels is one.
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/with_relu_cpu.h"
#include "operators/dispatch.h"
#include "operators/layout/layout.h"
#include "runtime/dnnl.h"

namespace lockstep {
namespace {

using Flags = dnnl::normalization_flags;

dnnl::memory::desc image_desc(const TensorDesc& x) {
  TensorDesc flat = x;
  const int64_t planes = x.dims[0] * x.dims[1];
  flat.dims = {x.dims[0], x.dims[1], x.count() / std::max<int64_t>(1, planes), 1};
  return desc_of(flat);
}

// Forward, then the running statistics, which oneDNN does not know.
class BatchNormKernel final : public Kernel {
 public:
  BatchNormKernel(const KernelRequest& request, const BatchNormAttrs& attrs)
      : attrs_(attrs), channels_(request.in[0].dims[1]) {
    const dnnl::memory::desc x = image_desc(request.in[0]);
    const dnnl::memory::desc vector = plain_desc({channels_});
    Flags flags = Flags::use_scale | Flags::use_shift;
    if (!attrs.training) flags |= Flags::use_global_stats;
    auto desc = describe_batch_norm(
        attrs.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, x,
        attrs.epsilon, flags);
    kernel_ = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
    mean_ = attrs.training ? kernel_->scratch(vector) : kernel_->input(3, vector, vector);
    variance_ = attrs.training ? kernel_->scratch(vector) : kernel_->input(4, vector, vector);
    kernel_->execute(desc, dnnl::batch_normalization_forward(desc),
                     {{DNNL_ARG_SRC, kernel_->input(0, x, x)},
                      {DNNL_ARG_SCALE, kernel_->input(1, vector, vector)},
                      {DNNL_ARG_SHIFT, kernel_->input(2, vector, vector)},
                      {DNNL_ARG_MEAN, mean_},
                      {DNNL_ARG_VARIANCE, variance_},
                      {DNNL_ARG_DST, kernel_->output(0, x, x)}});
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
    if (args.out.size() > 1 + statistic && args.out[1 + statistic].data) {
      const float* running = args.in[3 + statistic].as<float>();
      float* next = args.out[1 + statistic].as<float>();
      for (int64_t c = 0; c < channels_; ++c)
        next[c] = attrs_.momentum * running[c] + (1 - attrs_.momentum) * of_batch[c];
    }
    if (args.out.size() > 3 + statistic && args.out[3 + statistic].data)
      std::copy_n(of_batch, channels_, args.out[3 + statistic].as<float>());
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
  AttributeReader reader = request.attributes();
  const float epsilon = reader.number("epsilon", 1e-5F);
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (reader.integer("given", 0) != 0) flags |= Flags::use_global_stats;
  const dnnl::memory::desc x = image_desc(request.in[1]);
  const dnnl::memory::desc vector = plain_desc({request.in[1].dims[1]});
  auto forward = describe_batch_norm(dnnl::prop_kind::forward_training, x, epsilon, flags);
  auto desc = describe_batch_norm_backward(forward, x, epsilon, flags);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  dnnl::memory scale = kernel->input(2, vector, vector);
  auto operands = batch_norm_unread(scale);
  operands.insert(operands.end(), {{DNNL_ARG_DIFF_DST, kernel->input(0, x, x)},
                                   {DNNL_ARG_SRC, kernel->input(1, x, x)},
                                   {DNNL_ARG_SCALE, scale},
                                   {DNNL_ARG_MEAN, kernel->input(3, vector, vector)},
                                   {DNNL_ARG_VARIANCE, kernel->input(4, vector, vector)},
                                   {DNNL_ARG_DIFF_SRC, kernel->output(0, x, x)},
                                   {DNNL_ARG_DIFF_SCALE, kernel->output(1, vector, vector)},
                                   {DNNL_ARG_DIFF_SHIFT, kernel->output(2, vector, vector)}});
  kernel->execute(desc, dnnl::batch_normalization_backward(desc), operands);
  kernel->finish();
  if (reader.integer("relu", 0) == 0) return kernel;
  return with_relu_grad(std::move(kernel), request);
}

}  // namespace

std::vector<KernelEntry> batch_norm_cpu() {
  const Refusal floats = takes<Float32>();
  return {
      {"BatchNormalization", "", {{"oneDNN", floats, prepare_forward, batch_norm_layouts}}},
      {"BatchNormTrain", kOwnDomain, {{"oneDNN", floats, prepare_forward, batch_norm_layouts}}},
      {"BatchNormGrad", kOwnDomain, {{"oneDNN", floats, prepare_grad, batch_norm_grad_layouts}}}};
}

}  // namespace lockstep
