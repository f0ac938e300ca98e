// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/elements_cuda.h"
#include "operators/quantize/quantize.h"
#include "operators/quantize/rounding.h"

namespace lockstep {
namespace {

// `zero` may be null.
template <class T>
struct Quantize {
  Scales scales;
  const float *x, *scale;
  const T* zero;
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t number = scales.number(i);
    y[i] = quantized(x[i], scale[number], zero ? zero[number] : T(0));
  }
};

template <class T>
struct Dequantize {
  Scales scales;
  const T* x;
  const float* scale;
  const T* zero;
  float* y;
  __device__ void operator()(int64_t i) const {
    const int64_t number = scales.number(i);
    y[i] = dequantized(x[i], scale[number], zero ? zero[number] : T(0));
  }
};

template <class T>
const T* zero_points(const KernelArgs& args) {
  return args.in.size() > 2 ? args.in[2].as<const T>() : nullptr;
}

std::unique_ptr<Kernel> prepare_quantize(const KernelRequest& request) {
  return dispatch<QuantizedBytes>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([scales = Scales::of(request),
                        count = request.in[0].count()](const KernelArgs& args) {
      for_elements(args, count,
                   Quantize<T>{scales, args.in[0].as<const float>(), args.in[1].as<const float>(),
                               zero_points<T>(args), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_dequantize(const KernelRequest& request) {
  return dispatch<QuantizedPlaces>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [scales = Scales::of(request), count = request.in[0].count()](const KernelArgs& args) {
          for_elements(args, count,
                       Dequantize<T>{scales, args.in[0].as<const T>(), args.in[1].as<const float>(),
                                     zero_points<T>(args), args.out[0].as<float>()});
        });
  });
}

}  // namespace

std::vector<KernelEntry> quantize_cuda() {
  return {{"QuantizeLinear",
           "",
           {{"GPU", every({takes<Float32>(), makes<QuantizedBytes>()}), prepare_quantize}}},
          {"DequantizeLinear", "", {{"GPU", takes<QuantizedPlaces>(), prepare_dequantize}}}};
}

}  // namespace lockstep
