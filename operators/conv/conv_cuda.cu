#include "operators/conv/conv.h"
#include "operators/elements_cuda.h"
#include "runtime/cuda/accelerator.h"
#include "runtime/cuda/dnn.h"

namespace lockstep {
namespace {

Convolution convolution(const KernelRequest& request, ConvolutionKind kind, const Dims& x,
                        const Dims& w, const Dims& y) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
  supported(element_count(x) > 0 && element_count(w) > 0 && element_count(y) > 0,
            "a convolution of nothing");
  AttributeReader reader = request.attributes();
  const ConvAttrs attrs = read_conv(reader);
  const Window window =
      resolved(attrs.window, Dims(w.begin() + 2, w.end()), to_shape(Dims(x.begin() + 2, x.end())));
  Convolution c{kind, x, w, y, window.strides, window.dilations, {}, {}};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    c.pads_before.push_back(window.pads[i]);
    c.pads_after.push_back(window.pads[x.size() - 2 + i]);
  }
  return c;
}

// The engine is chosen on the device that it will run on, if that is there.
std::shared_ptr<DnnConvolution> chosen(const KernelRequest& request, const Convolution& c) {
  const bool there = request.device.index < cuda_accelerator().devices();
  if (there) check_cuda(cudaSetDevice(request.device.index), "choosing a device");
  return std::make_shared<DnnConvolution>(c, there);
}

// y[n, c, ..] += bias[c]
struct AddBias {
  int64_t plane, channels;
  const float* bias;
  float* y;
  __device__ void operator()(int64_t i) const { y[i] += bias[i / plane % channels]; }
};

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  const Dims& y = request.out[0].dims;
  auto own = chosen(request, convolution(request, ConvolutionKind::forward, request.in[0].dims,
                                         request.in[1].dims, y));
  const bool biased = request.in.size() > 2 && request.in[2].present();
  const int64_t count = element_count(y);
  auto run = [own, biased, count, channels = y[1],
              plane = count / (y[0] * y[1])](const KernelArgs& args) {
    own->run(stream_of(args), args.in[0].data, args.in[1].data, args.out[0].data, args.workspace);
    if (biased)
      for_elements(args, count,
                   AddBias{plane, channels, args.in[2].as<const float>(), args.out[0].as<float>()});
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

// Operands dy, w.
std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request) {
  auto own = chosen(request, convolution(request, ConvolutionKind::by_data, request.out[0].dims,
                                         request.in[1].dims, request.in[0].dims));
  auto run = [own](const KernelArgs& args) {
    own->run(stream_of(args), args.out[0].data, args.in[1].data, args.in[0].data, args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

// Operands x, dy.
std::unique_ptr<Kernel> prepare_grad_w(const KernelRequest& request) {
  auto own = chosen(request, convolution(request, ConvolutionKind::by_weight, request.in[0].dims,
                                         request.out[0].dims, request.in[1].dims));
  auto run = [own](const KernelArgs& args) {
    own->run(stream_of(args), args.in[0].data, args.out[0].data, args.in[1].data, args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

}  // namespace

std::vector<KernelEntry> conv_cuda() {
  return {{"Conv", "", prepare_forward},
          {"ConvGradX", kOwnDomain, prepare_grad_x},
          {"ConvGradW", kOwnDomain, prepare_grad_w}};
}

}  // namespace lockstep
