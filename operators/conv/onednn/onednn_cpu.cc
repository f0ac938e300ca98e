// SPDX-License-Identifier: Apache-2.0
// oneDNN convolutions. `any` lets a primitive choose its layouts, which become the kernel's
// preferred layouts in the plan. If the plan uses another layout, DnnlKernel reorders.
#include <algorithm>

#include "operators/conv/conv.h"
#include "operators/conv/epilogue_cpu.h"
#include "operators/conv/onednn/onednn.h"
#include "operators/conv/onednn/problem_dnnl.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {
namespace {

// A primitive's description; `fine` is true if it was made under FineShares.
template <class Desc>
struct Shared {
  Desc desc;
  bool fine;
};

// Describes a primitive under FineShares, if this changes neither the layouts nor the memory of the
// kernel. The kernel must be known to divide independent results among threads, as oneDNN 2.6's
// direct kernels do. Kernels of other names may divide one sum among threads, as gradients of
// filters do. oneDNN 3 from PyPI enters libgomp elsewhere, where every part would be a thread.
template <class Describe>
auto in_fine_shares(const Describe& describe) {
  auto coarse = describe();
  const std::string name = coarse.impl_info_str();
  const bool direct =
      name.starts_with("jit:") || name.starts_with("jit_1x1:") || name.starts_with("jit_dw:");
  if (DNNL_VERSION_MAJOR >= 3 || !direct) return Shared<decltype(coarse)>{coarse, false};
  const FineShares shares;
  auto fine = describe();
  using Query = dnnl::query;
  bool same = name == fine.impl_info_str();
  for (const Query what : {Query::src_md, Query::diff_src_md, Query::weights_md, Query::dst_md,
                           Query::diff_dst_md, Query::scratchpad_md})
    same &= coarse.query_md(what) == fine.query_md(what);
  return Shared<decltype(coarse)>{same ? fine : coarse, same};
}

dnnl::convolution_forward::primitive_desc forward_desc_of(const DnnlProblem& p, bool bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  if (bias)
    return describe_primitive<dnnl::convolution_forward>(
        kind, algorithm, p.images(p.x), p.any(p.plain_w), p.plain({p.w[0]}), p.images(p.y),
        p.strides, p.dilations, p.begin, p.end);
  return describe_primitive<dnnl::convolution_forward>(kind, algorithm, p.images(p.x),
                                                       p.any(p.plain_w), p.images(p.y), p.strides,
                                                       p.dilations, p.begin, p.end);
}

dnnl::convolution_forward::primitive_desc forward_desc(const DnnlProblem& problem, bool bias) {
  return described(problem, [&](const DnnlProblem& p) { return forward_desc_of(p, bias); });
}

Layouts forward_wish(const KernelRequest& request) {
  const DnnlProblem p{ConvProblem(request)};
  auto desc = forward_desc(p, read_epilogue(request).bias);
  Layouts layouts = row_major(request);
  layouts.in[ConvIn::x] = image_layout_of(desc.src_desc(), p.x);
  layouts.out[ConvOut::y] = image_layout_of(desc.dst_desc(), p.y);
  layouts.in[ConvIn::w] = p.wished_filters(desc.weights_desc());
  lay_z_as_result(request, layouts);
  return layouts;
}

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  using In = ConvIn;
  const DnnlProblem p{ConvProblem(request)};
  const bool bias = read_epilogue(request).bias;
  const auto shared = in_fine_shares([&] { return forward_desc(p, bias); });
  const auto& desc = shared.desc;
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  std::vector<std::pair<int, dnnl::memory>> args{
      {DNNL_ARG_SRC, kernel->input(In::x, desc_of(request.in[In::x]), desc.src_desc())},
      {DNNL_ARG_WEIGHTS, kernel->input(In::w, p.filters(request.in[In::w]), desc.weights_desc())},
      {DNNL_ARG_DST,
       kernel->output(ConvOut::y, desc_of(request.out[ConvOut::y]), desc.dst_desc())}};
  if (bias)
    args.emplace_back(DNNL_ARG_BIAS, kernel->input(In::bias, p.plain({p.w[0]}), p.plain({p.w[0]})));
  kernel->execute<dnnl::convolution_forward>(desc, args, shared.fine);
  kernel->finish();
  return kernel;
}

dnnl::convolution_backward_data::primitive_desc grad_x_desc(const DnnlProblem& problem) {
  return described(problem, [](const DnnlProblem& p) {
    return describe_backward<dnnl::convolution_backward_data>(
        forward_desc_of(p, false), dnnl::algorithm::convolution_direct, p.images(p.x),
        p.any(p.plain_w), p.images(p.y), p.strides, p.dilations, p.begin, p.end);
  });
}

// Computes the data's gradient x from y (operand 0) and w (operand 1).
std::unique_ptr<DnnlKernel> backward_data(const DnnlProblem& p, const KernelRequest& request) {
  const auto shared = in_fine_shares([&] { return grad_x_desc(p); });
  const auto& desc = shared.desc;
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute<dnnl::convolution_backward_data>(
      desc,
      {{DNNL_ARG_DIFF_DST, kernel->input(0, desc_of(request.in[0]), desc.diff_dst_desc())},
       {DNNL_ARG_WEIGHTS, kernel->input(1, p.filters(request.in[1]), desc.weights_desc())},
       {DNNL_ARG_DIFF_SRC, kernel->output(0, desc_of(request.out[0]), desc.diff_src_desc())}},
      shared.fine);
  kernel->finish();
  return kernel;
}

Layouts grad_x_wish(const KernelRequest& request) {
  const DnnlProblem p{ConvProblem(request)};
  auto desc = grad_x_desc(p);
  Layouts layouts = row_major(request);
  layouts.in[ConvGradXIn::dy] = image_layout_of(desc.diff_dst_desc(), p.y);
  layouts.out[0] = image_layout_of(desc.diff_src_desc(), p.x);
  // If no copy has the layout that the primitive prefers, the kernel reorders from tiles or rows.
  const Layout filters = p.wished_filters(desc.weights_desc());
  const Layout here = request.in[ConvGradXIn::w].layout;
  if (!filters.may_hold_states())
    layouts.in[ConvGradXIn::w] = filters;
  else if (here.is_tiles())
    layouts.in[ConvGradXIn::w] = here;
  return layouts;
}

// Adds the bias to the result, plane by plane.
class BiasedKernel final : public Kernel {
 public:
  BiasedKernel(std::unique_ptr<DnnlKernel> kernel, const Dims& y, int threads)
      : kernel_(std::move(kernel)),
        planes_(y[0] * y[1]),
        channels_(y[1]),
        plane_(element_count(y) / std::max<int64_t>(1, y[0] * y[1])),
        threads_(threads) {}

  void run(const KernelArgs& args) override {
    kernel_->run(args);
    parallel_for(planes_, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plane_)), threads_,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) {
                     const float bias = args.in[2].as<float>()[p % channels_];
                     float* y = args.out[0].as<float>() + p * plane_;
                     for (int64_t i = 0; i < plane_; ++i) y[i] += bias;
                   }
                 });
  }
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::size_t reordered_bytes() const override { return kernel_->reordered_bytes(); }
  std::string describe() const override { return kernel_->describe() + ", bias"; }

 private:
  std::unique_ptr<DnnlKernel> kernel_;
  int64_t planes_, channels_, plane_;
  int threads_;
};

std::unique_ptr<Kernel> prepare_transpose(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  const int64_t group = reader.integer("group", 1);
  const Dims &x = request.in[0].dims, &w = request.in[1].dims, &y = request.out[0].dims;
  Window window = read_transposed(reader, to_shape(x), to_shape(w)).window;
  auto kernel = backward_data({window, group, DType::float32, y, w, x}, request);
  if (request.in.size() < 3 || !request.in[2].present()) return kernel;
  return std::make_unique<BiasedKernel>(std::move(kernel), y, request.threads);
}

dnnl::convolution_backward_weights::primitive_desc grad_w_desc(const DnnlProblem& problem) {
  return described(problem, [](const DnnlProblem& p) {
    return describe_backward<dnnl::convolution_backward_weights>(
        forward_desc_of(p, false), dnnl::algorithm::convolution_direct, p.images(p.x),
        p.any(p.plain_w), p.images(p.y), p.strides, p.dilations, p.begin, p.end);
  });
}

Layouts grad_w_wish(const KernelRequest& request) {
  const DnnlProblem p{ConvProblem(request)};
  auto desc = grad_w_desc(p);
  Layouts layouts = row_major(request);
  layouts.in[ConvGradWIn::x] = image_layout_of(desc.src_desc(), p.x);
  layouts.in[ConvGradWIn::dy] = image_layout_of(desc.diff_dst_desc(), p.y);
  layouts.out[0] = p.wished_filters(desc.diff_weights_desc());
  return layouts;
}

std::unique_ptr<Kernel> prepare_grad_w(const KernelRequest& request) {
  using In = ConvGradWIn;
  const DnnlProblem p{ConvProblem(request)};
  auto desc = grad_w_desc(p);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute<dnnl::convolution_backward_weights>(
      desc, {{DNNL_ARG_SRC, kernel->input(In::x, desc_of(request.in[In::x]), desc.src_desc())},
             {DNNL_ARG_DIFF_DST,
              kernel->input(In::dy, desc_of(request.in[In::dy]), desc.diff_dst_desc())},
             {DNNL_ARG_DIFF_WEIGHTS,
              kernel->output(0, p.filters(request.out[0]), desc.diff_weights_desc())}});
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request) {
  switch (pass_of(request.node)) {
    case ConvPass::grad_x:
      return backward_data(DnnlProblem{ConvProblem(request)}, request);
    case ConvPass::grad_w:
      return prepare_grad_w(request);
    case ConvPass::forward:
      break;
  }
  if (request.node.type() == "Conv") return prepare_forward(request);
  check_z_lies_as_result(request);
  return with_epilogue(prepare_forward(request), request);
}

Layouts wish(const KernelRequest& request) {
  switch (pass_of(request.node)) {
    case ConvPass::grad_x:
      return grad_x_wish(request);
    case ConvPass::grad_w:
      return grad_w_wish(request);
    case ConvPass::forward:
      break;
  }
  return forward_wish(request);
}

}  // namespace

std::vector<ConvImplementation> onednn_convolutions() {
  return {{.passes = {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w},
           .types = dnnl_floats,
           .candidate = {"oneDNN", nullptr, prepare, wish}}};
}

void limit_onednn(Isa most) {
  dnnl::set_max_cpu_isa(most == Isa::avx512 ? dnnl::cpu_isa::avx512_core
                        : most == Isa::avx2 ? dnnl::cpu_isa::avx2
                                            : dnnl::cpu_isa::sse41);
}

Candidate onednn_transpose() { return {"oneDNN", takes<Float32>(), prepare_transpose}; }

}  // namespace lockstep
