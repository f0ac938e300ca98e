// SPDX-License-Identifier: Apache-2.0
#include "operators/reduce/channel_sums.h"

#include <algorithm>
#include <array>

#include "operators/kit/dispatch.h"
#include "operators/reduce/extent.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// The number of partial sums in reduce_rows() of reduce_cpu.cc.
constexpr int64_t kParts = 8;

// The sums of the first `channels` channels of a block; the other channels are padding.
template <class T, int kBlock>
void sums_of_block(const T* x, int64_t images, int64_t image_pitch, int64_t plane,
                   std::size_t channels, float* y) {
  std::array<std::array<double, kBlock>, kParts> part{};
  for (int64_t n = 0; n < images; ++n) {
    const T* from = x + n * image_pitch;
    const int64_t whole = plane / kParts * kParts;
    for (int64_t i = 0; i < whole; i += kParts)
      for (std::size_t k = 0; k < kParts; ++k, from += kBlock)
        for (std::size_t c = 0; c < kBlock; ++c) part[k][c] += static_cast<float>(from[c]);
    for (int64_t i = whole; i < plane; ++i, from += kBlock)
      for (std::size_t c = 0; c < kBlock; ++c) part[0][c] += static_cast<float>(from[c]);
  }
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t k = 1; k < kParts; ++k) part[0][c] += part[k][c];
    y[c] = static_cast<float>(part[0][c]);
  }
}

template <class T>
std::unique_ptr<Kernel> sums_in_blocks(const KernelRequest& request) {
  const TensorDesc& x = request.in[0];
  const int64_t images = x.dims[0], channels = x.dims[1], block = x.block();
  const int64_t blocks = (channels + block - 1) / block, plane = x.count() / (images * channels);
  return make_kernel(
      [=, threads = request.threads](const KernelArgs& args) {
        const auto sum = block == 16 ? sums_of_block<T, 16> : sums_of_block<T, 8>;
        const int64_t grain = std::max<int64_t>(1, 16384 / (images * plane * block));
        parallel_for(blocks, grain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b)
            sum(args.in[0].as<const T>() + b * plane * block, images, blocks * plane * block, plane,
                std::min(block, channels - b * block), args.out[0].as<float>() + b * block);
        });
      },
      join("by channel, in blocks of ", block));
}

}  // namespace

std::string no_channel_sums(const KernelRequest& request) {
  if (!request.in[0].layout.is_blocks()) return "takes channel blocks";
  return not_by_channel(request);
}

Layouts channel_sums_layouts(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[0] = request.in[0].layout;
  return layouts;
}

std::unique_ptr<Kernel> prepare_channel_sums(const KernelRequest& request) {
  return dispatch<TensorFloats>(request.in[0].dtype,
                                [&]<class T>() { return sums_in_blocks<T>(request); });
}

}  // namespace lockstep
