// oneDNN convolutions. `any` lets a primitive choose its layout; DnnlKernel reorders between that
// and the plan's row-major one.
#include "operators/conv/conv.h"
#include "runtime/dnnl.h"

namespace lockstep {
namespace {

// The shapes of one convolution as oneDNN wants them.
struct Problem {
  Dims x, w, y;
  Dims plain_w;  // with the group dimension split off
  Dims strides, dilations, begin, end;

  Problem(const ConvAttrs& attrs, const Dims& x, const Dims& w, const Dims& y) : x(x), w(w), y(y) {
    Window window = resolved(attrs.window, Dims(w.begin() + 2, w.end()),
                             to_shape(Dims(x.begin() + 2, x.end())));
    plain_w = w;
    if (attrs.group > 1) {
      plain_w[0] /= attrs.group;
      plain_w.insert(plain_w.begin(), attrs.group);
    }
    strides = window.strides;
    for (std::size_t i = 0; i + 2 < x.size(); ++i) {
      dilations.push_back(window.dilations[i] - 1);
      begin.push_back(window.pads[i]);
      // oneDNN insists that windows end exactly at the padding.
      end.push_back(covering_end_pad(window, i, x[i + 2], y[i + 2]));
    }
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, bool bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  if (bias)
    return describe_primitive<dnnl::convolution_forward>(
        kind, algorithm, any_desc(p.x), any_desc(p.plain_w), plain_desc({p.w[0]}), any_desc(p.y),
        p.strides, p.dilations, p.begin, p.end);
  return describe_primitive<dnnl::convolution_forward>(kind, algorithm, any_desc(p.x),
                                                       any_desc(p.plain_w), any_desc(p.y),
                                                       p.strides, p.dilations, p.begin, p.end);
}

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no CPU kernel for ", request.in[0].dtype);
}

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  require_float(request);
  AttributeReader reader = request.attributes();
  Problem p(read_conv(reader), request.in[0].dims, request.in[1].dims, request.out[0].dims);
  const bool bias = request.in.size() > 2 && request.in[2].present();
  auto desc = forward_desc(p, bias);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  std::vector<std::pair<int, dnnl::memory>> args{
      {DNNL_ARG_SRC, kernel->input(0, plain_desc(p.x), desc.src_desc())},
      {DNNL_ARG_WEIGHTS, kernel->input(1, plain_desc(p.plain_w), desc.weights_desc())},
      {DNNL_ARG_DST, kernel->output(0, plain_desc(p.y), desc.dst_desc())}};
  if (bias)
    args.emplace_back(DNNL_ARG_BIAS, kernel->input(2, plain_desc({p.w[0]}), plain_desc({p.w[0]})));
  kernel->execute(desc, dnnl::convolution_forward(desc), args);
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request) {
  require_float(request);
  AttributeReader reader = request.attributes();
  Problem p(read_conv(reader), request.out[0].dims, request.in[1].dims, request.in[0].dims);
  auto desc = describe_backward<dnnl::convolution_backward_data>(
      forward_desc(p, false), dnnl::algorithm::convolution_direct, any_desc(p.x),
      any_desc(p.plain_w), any_desc(p.y), p.strides, p.dilations, p.begin, p.end);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute(desc, dnnl::convolution_backward_data(desc),
                  {{DNNL_ARG_DIFF_DST, kernel->input(0, plain_desc(p.y), desc.diff_dst_desc())},
                   {DNNL_ARG_WEIGHTS, kernel->input(1, plain_desc(p.plain_w), desc.weights_desc())},
                   {DNNL_ARG_DIFF_SRC, kernel->output(0, plain_desc(p.x), desc.diff_src_desc())}});
  kernel->finish();
  return kernel;
}

std::unique_ptr<Kernel> prepare_grad_w(const KernelRequest& request) {
  require_float(request);
  AttributeReader reader = request.attributes();
  Problem p(read_conv(reader), request.in[0].dims, request.out[0].dims, request.in[1].dims);
  auto desc = describe_backward<dnnl::convolution_backward_weights>(
      forward_desc(p, false), dnnl::algorithm::convolution_direct, any_desc(p.x),
      any_desc(p.plain_w), any_desc(p.y), p.strides, p.dilations, p.begin, p.end);
  auto kernel = std::make_unique<DnnlKernel>(join("dnnl ", desc.impl_info_str()));
  kernel->execute(desc, dnnl::convolution_backward_weights(desc),
                  {{DNNL_ARG_SRC, kernel->input(0, plain_desc(p.x), desc.src_desc())},
                   {DNNL_ARG_DIFF_DST, kernel->input(1, plain_desc(p.y), desc.diff_dst_desc())},
                   {DNNL_ARG_DIFF_WEIGHTS,
                    kernel->output(0, plain_desc(p.plain_w), desc.diff_weights_desc())}});
  kernel->finish();
  return kernel;
}

}  // namespace

std::vector<KernelEntry> conv_cpu() {
  return {{"Conv", "", prepare_forward},
          {"ConvGradX", kOwnDomain, prepare_grad_x},
          {"ConvGradW", kOwnDomain, prepare_grad_w}};
}

}  // namespace lockstep
