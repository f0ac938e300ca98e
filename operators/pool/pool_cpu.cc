// SPDX-License-Identifier: Apache-2.0
// Pooling by oneDNN. oneDNN's backward pass of max pooling needs oneDNN's record of the maxima. The
// record never leaves the kernel: MaxPoolGrad repeats the forward pooling into its workspace.
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/pool/max_blocks.h"
#include "operators/pool/max_planes.h"
#include "operators/pool/pool.h"
#include "operators/pool/pool_dnnl.h"

namespace lockstep {
namespace {

struct Problem {
  dnnl::memory::desc x_desc, y_desc;
  Dims kernel, strides, dilations, begin, end;
  dnnl::algorithm algorithm;

  Problem(const PoolAttrs& attrs, dnnl::algorithm algorithm, const TensorDesc& x_tensor,
          const TensorDesc& y_tensor)
      : x_desc(desc_of(x_tensor)), y_desc(desc_of(y_tensor)), algorithm(algorithm) {
    const Dims &x = x_tensor.dims, &y = y_tensor.dims;
    Window window =
        resolved(attrs.window, attrs.window.kernel, to_shape(Dims(x.begin() + 2, x.end())));
    kernel = window.kernel;
    strides = window.strides;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      dilations.push_back(window.dilations[i] - 1);
      begin.push_back(window.pads[i]);
      end.push_back(covering_end_pad(window, i, x[i + 2], y[i + 2]));
    }
  }
};

using Forward = DnnlPoolForward;
using Backward = DnnlPoolBackward;

Forward::primitive_desc forward_desc(const Problem& p, dnnl::prop_kind kind) {
  return describe_primitive<Forward>(kind, p.algorithm, p.x_desc, p.y_desc, p.strides, p.kernel,
                                     p.dilations, p.begin, p.end);
}

Backward::primitive_desc backward_desc(const Problem& p, const Forward::primitive_desc& hint) {
  return describe_backward<Backward>(hint, p.algorithm, p.x_desc, p.y_desc, p.strides, p.kernel,
                                     p.dilations, p.begin, p.end);
}

dnnl::algorithm average_of(const PoolAttrs& attrs) {
  return attrs.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                 : dnnl::algorithm::pooling_avg_exclude_padding;
}

std::unique_ptr<Kernel> forward_kernel(const Problem& p) {
  auto desc = forward_desc(p, dnnl::prop_kind::forward_inference);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute<Forward>(desc, {{DNNL_ARG_SRC, kernel->input(0, p.x_desc, desc.src_desc())},
                                  {DNNL_ARG_DST, kernel->output(0, p.y_desc, desc.dst_desc())}});
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> average_grad_kernel(const Problem& p) {
  auto desc = backward_desc(p, forward_desc(p, dnnl::prop_kind::forward_training));
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute<Backward>(
      desc, {{DNNL_ARG_DIFF_DST, kernel->input(0, p.y_desc, desc.diff_dst_desc())},
             {DNNL_ARG_DIFF_SRC, kernel->output(0, p.x_desc, desc.diff_src_desc())}});
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> prepare_max(const KernelRequest& request) {
  return forward_kernel(
      {pool_attrs_of(request), dnnl::algorithm::pooling_max, request.in[0], request.out[0]});
}

std::unique_ptr<Kernel> prepare_average(const KernelRequest& request) {
  PoolAttrs attrs = pool_attrs_of(request);
  return forward_kernel({attrs, average_of(attrs), request.in[0], request.out[0]});
}

std::unique_ptr<Kernel> prepare_global_average(const KernelRequest& request) {
  PoolAttrs attrs = global_window(request.in[0].dims);
  return forward_kernel({attrs, average_of(attrs), request.in[0], request.out[0]});
}

std::unique_ptr<Kernel> prepare_global_max(const KernelRequest& request) {
  return forward_kernel({global_window(request.in[0].dims), dnnl::algorithm::pooling_max,
                         request.in[0], request.out[0]});
}

std::unique_ptr<Kernel> prepare_max_grad(const KernelRequest& request) {
  Problem p(pool_attrs_of(request), dnnl::algorithm::pooling_max, request.in[1], request.in[0]);
  auto forward = forward_desc(p, dnnl::prop_kind::forward_training);
  auto desc = backward_desc(p, forward);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  dnnl::memory record = kernel->scratch(forward.workspace_desc());
  dnnl::memory maxima = kernel->scratch(forward.dst_desc());
  kernel->execute<Forward>(forward, {{DNNL_ARG_SRC, kernel->input(1, p.x_desc, forward.src_desc())},
                                     {DNNL_ARG_DST, maxima},
                                     {DNNL_ARG_WORKSPACE, record}});
  kernel->execute<Backward>(
      desc, {{DNNL_ARG_DIFF_DST, kernel->input(0, p.y_desc, desc.diff_dst_desc())},
             {DNNL_ARG_WORKSPACE, record},
             {DNNL_ARG_DIFF_SRC, kernel->output(0, p.x_desc, desc.diff_src_desc())}});
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> prepare_average_grad(const KernelRequest& request) {
  PoolAttrs attrs = pool_attrs_of(request);
  return average_grad_kernel({attrs, average_of(attrs), request.out[0], request.in[0]});
}

// Prefers blocks if dy or dx has them: dx is far larger than dy, and the nodes that read dx also
// read tensors in blocks.
Layouts global_grad_wish(const KernelRequest& request) {
  const TensorDesc& dx = request.out[0];
  const Layout layout = std::max(request.in[0].layout, dx.layout);
  if (!layout.is_blocks() || dx.dims[1] % layout.block() != 0) return row_major(request);
  return {{layout}, {layout}};
}

std::unique_ptr<Kernel> prepare_global_grad(const KernelRequest& request) {
  PoolAttrs attrs = global_window(request.out[0].dims);
  return average_grad_kernel({attrs, average_of(attrs), request.out[0], request.in[0]});
}

}  // namespace

std::vector<KernelEntry> pool_cpu() {
  const LayoutPreference forward = together({0}, {0}), max_backward = together({0, 1}, {0});
  const Refusal planes = every({takes<Float32>(), not_row_major_planes});
  const Refusal blocks = every({takes<MaxOfBlocks>(), not_blocks_of_planes});
  const Refusal average = every({dnnl_floats, past_padding});
  const Refusal average_back = every({dnnl_floats, past_padding_back});
  std::vector<KernelEntry> entries{
      {"MaxPool",
       "",
       {{"CPU", planes, max_of_planes}, {"oneDNN", dnnl_floats, prepare_max, forward}}},
      {"AveragePool", "", {{"oneDNN", average, prepare_average, forward}}},
      {"GlobalAveragePool", "", {{"oneDNN", dnnl_floats, prepare_global_average, forward}}},
      {"GlobalMaxPool", "", {{"oneDNN", dnnl_floats, prepare_global_max, forward}}},
      {"MaxPoolGrad",
       kOwnDomain,
       {{"CPU", planes, max_of_planes_grad},
        {"CPU in channel blocks", blocks, max_of_blocks_grad, max_backward},
        {"oneDNN", takes<Float32>(), prepare_max_grad, max_backward}}},
      {"AveragePoolGrad", kOwnDomain, {{"oneDNN", average_back, prepare_average_grad, forward}}},
      {"GlobalAveragePoolGrad",
       kOwnDomain,
       {{"oneDNN", dnnl_floats, prepare_global_grad, global_grad_wish}}}};
  for (KernelEntry& entry : max_places_cpu()) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace lockstep
