#include <algorithm>

#include "operators/conv/conv.h"
#include "operators/dispatch.h"
#include "operators/elements_cuda.h"
#include "operators/layout/layout.h"
#include "runtime/cuda/accelerator.h"
#include "runtime/cuda/dnn.h"

namespace lockstep {
namespace {

bool is_float(DType type) {
  return type == DType::float32 || type == DType::float16 || type == DType::bfloat16;
}

// A convolution of `x` with `w` that makes `y`; the request has them in the order of its kind.
Convolution convolution(const KernelRequest& request, ConvolutionKind kind, const TensorDesc& x,
                        const TensorDesc& w, const TensorDesc& y) {
  supported(is_float(x.dtype), "has no GPU kernel for ", x.dtype);
  supported(x.count() > 0 && w.count() > 0 && y.count() > 0, "a convolution of nothing");
  AttributeReader reader = request.attributes();
  const ConvAttrs attrs = read_conv(reader);
  const Window window = resolved(attrs.window, Dims(w.dims.begin() + 2, w.dims.end()),
                                 to_shape(Dims(x.dims.begin() + 2, x.dims.end())));
  const bool last = std::max({x.channel_block, w.channel_block, y.channel_block}) > 1;
  for (const TensorDesc* tensor : {&x, &w, &y})
    check(!last || tensor->channel_block == tensor->dims[1] || tensor->dims[1] == 1,
          "convolutions of mixed layouts");
  Convolution c{kind,           x.dtype,          last, x.dims, w.dims, y.dims,
                window.strides, window.dilations, {},   {}};
  for (std::size_t i = 0; i + 2 < x.dims.size(); ++i) {
    c.pads_before.push_back(window.pads[i]);
    c.pads_after.push_back(window.pads[x.dims.size() - 2 + i]);
  }
  return c;
}

// The units for matrices of 16-bit floats want channels together.
Layouts channels_last(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  Layouts layouts = row_major(request);
  if (type != DType::float16 && type != DType::bfloat16) return layouts;
  auto wish = [](const std::vector<TensorDesc>& tensors, std::vector<int>& blocks) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].dims.size() == 4 && tensors[i].count() > 0)
        blocks[i] = static_cast<int>(tensors[i].dims[1]);
  };
  wish(request.in, layouts.in);
  wish(request.out, layouts.out);
  return layouts;
}

// The engine is chosen on the device that it will run on, if that is there.
std::shared_ptr<DnnConvolution> chosen(const KernelRequest& request, const Convolution& c) {
  const bool there = request.device.index < cuda_accelerator().devices();
  if (there) check_cuda(cudaSetDevice(request.device.index), "choosing a device");
  return std::make_shared<DnnConvolution>(c, there);
}

// y[n, c, ..] += bias[c]
template <class T>
struct AddBias {
  int64_t step, channels;  // elements from a channel to the next
  const T* bias;
  T* y;
  __device__ void operator()(int64_t i) const {
    y[i] = stored<T>(computed(y[i]) + computed(bias[i / step % channels]));
  }
};

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  const TensorDesc& y = request.out[0];
  auto own = chosen(
      request, convolution(request, ConvolutionKind::forward, request.in[0], request.in[1], y));
  const bool biased = request.in.size() > 2 && request.in[2].present();
  const int64_t count = y.count(), channels = y.dims[1];
  const int64_t step = y.channel_block > 1 ? 1 : count / (y.dims[0] * channels);
  return dispatch<float, Half, BFloat16>(y.dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    auto run = [=](const KernelArgs& args) {
      own->run(stream_of(args), args.in[0].data, args.in[1].data, args.out[0].data, args.workspace);
      if (biased)
        for_elements(args, count,
                     AddBias<T>{step, channels, args.in[2].as<const T>(), args.out[0].as<T>()});
    };
    return make_kernel(run, own->describe(), own->workspace_bytes());
  });
}

// Operands dy, w.
std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request) {
  auto own = chosen(request, convolution(request, ConvolutionKind::by_data, request.out[0],
                                         request.in[1], request.in[0]));
  auto run = [own](const KernelArgs& args) {
    own->run(stream_of(args), args.out[0].data, args.in[1].data, args.in[0].data, args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

// Operands x, dy.
std::unique_ptr<Kernel> prepare_grad_w(const KernelRequest& request) {
  auto own = chosen(request, convolution(request, ConvolutionKind::by_weight, request.in[0],
                                         request.out[0], request.in[1]));
  auto run = [own](const KernelArgs& args) {
    own->run(stream_of(args), args.in[0].data, args.out[0].data, args.in[1].data, args.workspace);
  };
  return make_kernel(run, own->describe(), own->workspace_bytes());
}

}  // namespace

std::vector<KernelEntry> conv_cuda() {
  return {{"Conv", "", prepare_forward, channels_last},
          {"ConvGradX", kOwnDomain, prepare_grad_x, channels_last},
          {"ConvGradW", kOwnDomain, prepare_grad_w, channels_last}};
}

}  // namespace lockstep
