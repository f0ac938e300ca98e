// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/conv/conv.h"
#include "operators/conv/epilogue_cuda.h"
#include "operators/conv/padding_cuda.h"
#include "operators/conv/problem.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "runtime/accelerator.h"
#include "runtime/cuda/accelerator.h"

namespace lockstep {
namespace {

Convolution convolution(const KernelRequest& request, ConvPass pass, const Window& window,
                        const TensorDesc& x, const TensorDesc& w, const TensorDesc& y) {
  const bool last =
      x.layout.is_channels_last() || w.layout.is_channels_last() || y.layout.is_channels_last();
  for (const TensorDesc* tensor : {&x, &w, &y})
    check(!last || tensor->layout.is_channels_last() || tensor->dims[1] == 1,
          "convolutions of mixed layouts");
  Convolution c{pass,           x.dtype,          last, x.dims, w.dims, y.dims,
                window.strides, window.dilations, {},   {}};
  c.tf32 = request.tf32 && x.dtype == DType::float32;
  for (std::size_t i = 0; i + 2 < x.dims.size(); ++i) {
    c.pads_before.push_back(window.pads[i]);
    c.pads_after.push_back(window.pads[x.dims.size() - 2 + i]);
  }
  return c;
}

Convolution convolution(const KernelRequest& request) {
  const ConvProblem p(request);
  return convolution(request, p.pass, p.window, p.x, p.w, p.y);
}

// Tensor cores need channels-last tensors.
Layouts channels_last(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  Layouts layouts = row_major(request);
  if (type == DType::float32 && !request.tf32) return layouts;
  auto wish = [](const std::vector<TensorDesc>& tensors, std::vector<Layout>& layouts) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].dims.size() == 4 && tensors[i].count() > 0)
        layouts[i] = Layout::channels_last(tensors[i].dims[1]);
  };
  wish(request.in, layouts.in);
  wish(request.out, layouts.out);
  return layouts;
}

// Chooses an engine for the planned GPU, or for the device that will run it, if the device exists.
using Planned = std::shared_ptr<const GpuProperties>;
std::shared_ptr<PaddingConvolution> chosen(const KernelRequest& request, const Planned& planned,
                                           const Convolution& c, const Epilogue& epilogue = {}) {
  const bool here = !planned && request.device.index < cuda_accelerator().devices();
  if (here) check_cuda(cudaSetDevice(request.device.index), "choosing a device");
  return std::make_shared<PaddingConvolution>(c, [&](const Convolution& asked) {
    return std::make_shared<CudnnConvolution>(asked, ConvolutionGpu{here, planned}, epilogue);
  });
}

std::unique_ptr<Kernel> kernel_of(const std::shared_ptr<PaddingConvolution>& own,
                                  const std::function<ConvolutionData(const KernelArgs&)>& place) {
  auto run = [=](const KernelArgs& args) {
    own->run(stream_of(args), place(args), args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

// Prepares a Conv or a FusedConv.
std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request, const Planned& planned) {
  using In = ConvIn;
  using Out = ConvOut;
  const TensorDesc& y = request.out[Out::y];
  Convolution c = convolution(request);
  const ConvEpilogue does = read_epilogue(request);
  check_z_lies_as_result(request);
  c.bias = does.bias;
  c.addition = does.addition;
  c.relu = does.relu;
  c.statistics = does.statistics;
  return kernel_of(chosen(request, planned, c, epilogue_of(c, y)), [=](const KernelArgs& args) {
    ConvolutionData data{args.in[In::x].data, args.in[In::w].data, args.out[Out::y].data};
    if (does.bias) data.bias = args.in[In::bias].data;
    if (does.addition) data.z = args.in[In::z].data;
    if (does.statistics) {
      data.sums = args.out[Out::sums].data;
      data.squares = args.out[Out::squares].data;
    }
    return data;
  });
}

std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request, const Planned& planned) {
  using In = ConvGradXIn;
  const Convolution c = convolution(request);
  return kernel_of(chosen(request, planned, c), [](const KernelArgs& args) {
    return ConvolutionData{args.out[0].data, args.in[In::w].data, args.in[In::dy].data};
  });
}

// The engine adds to dx. dx aliases z if the plan permits; otherwise z is copied to dx first.
std::unique_ptr<Kernel> prepare_fused_grad_x(const KernelRequest& request, const Planned& planned) {
  using In = ConvGradXIn;
  Convolution c = convolution(request);
  c.adds = true;
  return kernel_of(chosen(request, planned, c), [](const KernelArgs& args) {
    const Tensor &z = args.in[In::z], &dx = args.out[0];
    if (z.data != dx.data) args.queue->copy(dx.data, z.data, z.desc.bytes());
    return ConvolutionData{dx.data, args.in[In::w].data, args.in[In::dy].data};
  });
}

// Computes y like the gradient of a convolution's data, with operand x in the role of dy. The bias
// is added afterwards.
std::unique_ptr<Kernel> prepare_transpose(const KernelRequest& request, const Planned& planned) {
  AttributeReader reader = request.attributes();
  const TensorDesc &x = request.in[0], &w = request.in[1], &y = request.out[0];
  const Window window = read_transposed(reader, to_shape(x.dims), to_shape(w.dims)).window;
  const Convolution c = convolution(request, ConvPass::grad_x, window, y, w, x);
  auto own = chosen(request, planned, c);
  Convolution bias = c;
  bias.bias = read_epilogue(request).bias;
  const Epilogue epilogue = epilogue_of(bias, y);
  auto run = [=](const KernelArgs& args) {
    own->run(stream_of(args), {args.out[0].data, args.in[1].data, args.in[0].data}, args.workspace);
    if (epilogue.run)
      epilogue.run(stream_of(args), {nullptr, nullptr, args.out[0].data, args.in[2].data},
                   args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

std::unique_ptr<Kernel> prepare_grad_w(const KernelRequest& request, const Planned& planned) {
  using In = ConvGradWIn;
  const Convolution c = convolution(request);
  return kernel_of(chosen(request, planned, c), [](const KernelArgs& args) {
    return ConvolutionData{args.in[In::x].data, args.out[0].data, args.in[In::dy].data};
  });
}

}  // namespace

std::vector<KernelEntry> conv_cuda(std::shared_ptr<const GpuProperties> planned) {
  const Refusal images = every({takes<TensorFloats>(), not_empty});
  auto entry = [&](const char* type, const char* domain, auto* prepare) {
    const KernelFactory factory = [=](const KernelRequest& request) {
      return prepare(request, planned);
    };
    return KernelEntry{type, domain, {{"cuDNN", images, factory, channels_last}}};
  };
  return {entry("Conv", "", prepare_forward),
          entry("FusedConv", kOwnDomain, prepare_forward),
          entry("ConvTranspose", "", prepare_transpose),
          entry("ConvGradX", kOwnDomain, prepare_grad_x),
          entry("FusedConvGradX", kOwnDomain, prepare_fused_grad_x),
          entry("ConvGradW", kOwnDomain, prepare_grad_w)};
}

}  // namespace lockstep
