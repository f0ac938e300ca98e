// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/casts.h"
#include "operators/kit/chunks_cuda.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

template <class To>
struct CastTensor {
  const float* x;
  To* y;
  int64_t count;
  uint32_t channels, plane;  // of a channels-last result; plane is 1 if x and y have the same order
  bool aligned;

  // The offset in x of y's element i. 64-bit divisions are slow.
  __device__ uint32_t from(uint32_t i) const {
    const uint32_t row = i / (channels * plane), within = i - row * channels * plane;
    const uint32_t place = within / channels;
    return row * channels * plane + (within - place * channels) * plane + place;
  }
};

constexpr int kWide = kPack<float>;

template <class To>
__global__ void __launch_bounds__(kBlock)
    run_casts(const __grid_constant__ Chunks<CastTensor<To>> all) {
  all.here([](const CastTensor<To>& of, int64_t begin) {
    const int64_t end = std::min(begin + kChunk, of.count);
    if (of.plane > 1) {
      for (int64_t i = begin + threadIdx.x; i < end; i += kBlock)
        of.y[i] = stored<To>(of.x[of.from(static_cast<uint32_t>(i))]);
      return;
    }
    const int64_t whole = of.aligned ? begin + (end - begin) / kWide * kWide : begin;
    for (int64_t i = begin + threadIdx.x * kWide; i < whole; i += kBlock * kWide) {
      const auto x = load<float, kWide>(of.x + i);
      Pack<To, kWide> y;
      for (int e = 0; e < kWide; ++e) y.at[e] = stored<To>(x.at[e]);
      store<To, kWide>(of.y + i, y);
    }
    for (int64_t i = whole + threadIdx.x; i < end; i += kBlock) of.y[i] = stored<To>(of.x[i]);
  });
}

template <class To>
CastTensor<To> cast_of(const Tensor& x, const Tensor& y) {
  const TensorDesc& to = y.desc;
  CastTensor<To> made{
      x.as<const float>(), y.as<To>(), to.count(), 1, 1, is_aligned(x.data) && is_aligned(y.data)};
  if (to.layout.is_rows()) return made;
  made.channels = static_cast<uint32_t>(to.dims[1]);
  made.plane = static_cast<uint32_t>(to.count() / to.dims[0] / to.dims[1]);
  return made;
}

Layouts weights_channels_last(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  for (std::size_t k = 0; k < request.out.size(); ++k)
    layouts.out[k] = layout_of_cast(request.in[k]);
  return layouts;
}

std::unique_ptr<Kernel> prepare_casts(const KernelRequest& request) {
  return dispatch<NarrowFloats>(request.out[0].dtype, [&]<class Host>() {
    using To = DeviceType<Host>;
    return make_kernel([](const KernelArgs& args) {
      for (std::size_t first = 0; first < args.in.size(); first += kMostTensors) {
        Chunks<CastTensor<To>> some;
        for (std::size_t k = first; k < std::min(args.in.size(), first + kMostTensors); ++k)
          some.add(cast_of<To>(args.in[k], args.out[k]), args.in[k].count());
        if (some.blocks() > 0)
          launch(run_casts<To>, static_cast<unsigned>(some.blocks()), kBlock, stream_of(args),
                 some);
      }
    });
  });
}

}  // namespace

KernelEntry casts_cuda() {
  const Refusal narrows = every({takes<Float32>(), makes<NarrowFloats>()});
  return {"Casts", kOwnDomain, {{"GPU", narrows, prepare_casts, weights_channels_last}}};
}

}  // namespace lockstep
