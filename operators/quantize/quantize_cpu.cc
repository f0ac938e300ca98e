// SPDX-License-Identifier: Apache-2.0
#include "operators/quantize/quantize.h"
#include "operators/quantize/rounding.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// Calls convert(x, scale, zero point) for every element, scale by scale.
template <class X, class Y, class Zero, class Convert>
std::unique_ptr<Kernel> by_scale(const KernelRequest& request, const Convert& convert) {
  return make_kernel([convert, scales = Scales::of(request), count = request.in[0].count(),
                      threads = request.threads](const KernelArgs& args) {
    const X* x = args.in[0].as<const X>();
    const float* scale = args.in[1].as<const float>();
    const Zero* zero =
        args.in.size() > 2 && args.in[2].data ? args.in[2].as<const Zero>() : nullptr;
    Y* y = args.out[0].as<Y>();
    parallel_for(count, kGrain, threads, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t number = scales.number(i);
        const int64_t last = std::min(end, (i / scales.stretch + 1) * scales.stretch);
        const float by = scale[number];
        const Zero from = zero ? zero[number] : Zero(0);
        for (; i < last; ++i) y[i] = convert(x[i], by, from);
      }
    });
  });
}

std::unique_ptr<Kernel> prepare_quantize(const KernelRequest& request) {
  return dispatch<QuantizedBytes>(request.out[0].dtype, [&]<class T>() {
    return by_scale<float, T, T>(
        request, [](float x, float scale, T zero) { return quantized(x, scale, zero); });
  });
}

std::unique_ptr<Kernel> prepare_dequantize(const KernelRequest& request) {
  return dispatch<QuantizedPlaces>(request.in[0].dtype, [&]<class T>() {
    return by_scale<T, float, T>(
        request, [](T x, float scale, T zero) { return dequantized(x, scale, zero); });
  });
}

}  // namespace

std::vector<KernelEntry> quantize_cpu() {
  return {{"QuantizeLinear",
           "",
           {{"CPU", every({takes<Float32>(), makes<QuantizedBytes>()}), prepare_quantize}}},
          {"DequantizeLinear", "", {{"CPU", takes<QuantizedPlaces>(), prepare_dequantize}}}};
}

}  // namespace lockstep
