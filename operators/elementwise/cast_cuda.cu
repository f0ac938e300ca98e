// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/cast_cuda.h"

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/blocks_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

template <class To>
struct Converted {
  template <class From>
  __device__ To operator()(From x) const {
    return stored<To>(x);
  }
};

template <class From, class To, class Index>
struct CastBlocks {
  Blocks<Index> blocks;
  const From* x;
  To* y;
  __device__ void operator()(int64_t i) const {
    y[i] = stored<To>(computed(x[blocks.from(static_cast<Index>(i))]));
  }
};

// Casts images with few channels to channels-last: a thread per pixel, with one division.
template <class From, class To, class Index>
struct CastPixels {
  Index channels, plane;
  const From* x;
  To* y;
  __device__ void operator()(int64_t i) const {
    const auto pixel = static_cast<Index>(i);
    const Index image = pixel / plane, first = image * (channels - 1) * plane + pixel;
    for (Index c = 0; c < channels; ++c)
      y[pixel * channels + c] = stored<To>(computed(x[first + c * plane]));
  }
};
constexpr int64_t kMostOfImages = 8;  // the most channels of such images

template <class From, class To>
std::unique_ptr<Kernel> cast_and_reorder(const KernelRequest& request) {
  const TensorDesc &from = request.in[0], &to = request.out[0];
  const int64_t channels = to.dims[1];
  const bool images =
      from.layout.is_rows() && to.layout.is_channels_last() && channels <= kMostOfImages;
  return indexed(from, [&]<class Index>() {
    if (images)
      return make_kernel(
          [=, pixels = from.count() / channels,
           plane = from.count() / from.dims[0] / channels](const KernelArgs& args) {
            for_elements(
                args, pixels,
                CastPixels<From, To, Index>{static_cast<Index>(channels), static_cast<Index>(plane),
                                            args.in[0].as<const From>(), args.out[0].as<To>()});
          },
          join(text_of_blocks(from, to), ", by pixels"));
    return make_kernel(
        [blocks = Blocks<Index>(from, to), count = from.count()](const KernelArgs& args) {
          for_elements(args, count,
                       CastBlocks<From, To, Index>{blocks, args.in[0].as<const From>(),
                                                   args.out[0].as<To>()});
        },
        text_of_blocks(from, to));
  });
}

bool narrows(const KernelRequest& request) {
  const DType to = request.out[0].dtype;
  return request.in[0].dtype == DType::float32 && is_narrow(to);
}
bool widens(const KernelRequest& request) {
  const DType from = request.in[0].dtype;
  return request.out[0].dtype == DType::float32 && is_narrow(from);
}

}  // namespace

Layouts cast_layouts(const KernelRequest& request) {
  const TensorDesc& from = request.in[0];
  if ((!narrows(request) && !widens(request)) || from.dims.size() != 4 || from.count() == 0)
    return flat(request);
  Layouts layouts = row_major(request);
  layouts.in[0] = from.layout;
  if (narrows(request))
    layouts.out[0] = request.out[0].layout.is_channels_last() ? request.out[0].layout : from.layout;
  return layouts;
}

std::unique_ptr<Kernel> cast_cuda(const KernelRequest& request) {
  if (request.in[0].layout != request.out[0].layout) {
    if (narrows(request))
      return dispatch<NarrowFloats>(request.out[0].dtype, [&]<class To>() {
        return cast_and_reorder<float, DeviceType<To>>(request);
      });
    return dispatch<NarrowFloats>(request.in[0].dtype, [&]<class From>() {
      return cast_and_reorder<DeviceType<From>, float>(request);
    });
  }
  return dispatch<Convertible>(request.in[0].dtype, [&]<class From>() {
    return dispatch<Convertible>(request.out[0].dtype, [&]<class To>() {
      return map_one<DeviceType<From>, DeviceType<To>>(request,
                                                       Converted<Computed<DeviceType<To>>>());
    });
  });
}

}  // namespace lockstep
