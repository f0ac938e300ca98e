// SPDX-License-Identifier: Apache-2.0
// Batch normalisation in three launches. The first computes partial sums over pieces of the images,
// by many blocks. The second sums the pieces of each channel. The third computes each element.
#include <limits>

#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "operators/batch_norm/passes_cuda.h"

namespace lockstep {
namespace {

// The partial sums, followed by each channel's numbers.
template <class Tiles, class OfChannel>
struct Workspace {
  Both<typename Tiles::Real>* partial;
  OfChannel* of_channels;
  Workspace(std::byte* at, const Tiles& tiles)
      : partial(reinterpret_cast<Both<typename Tiles::Real>*>(at)),
        of_channels(reinterpret_cast<OfChannel*>(at + bytes_of_partial(tiles))) {}
  static std::size_t bytes(const Tiles& tiles) {
    return bytes_of_partial(tiles) + tiles.channels * sizeof(OfChannel);
  }
};

bool lies_last(const TensorDesc& x) { return x.layout.is_channels_last(); }
const char* description_of(const TensorDesc& x) { return lies_last(x) ? "channels last" : ""; }

template <class T, class Tiles, int kCount, bool kAdds>
std::unique_ptr<Kernel> forward(const KernelRequest& request) {
  using In = BatchNormIn;
  using Out = BatchNormOut;
  using Element = Normalise<T, Tiles, kCount, kAdds>;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const BatchNormAttrs attrs = read_batch_norm(request.node);
  const TensorDesc& x_desc = request.in[In::x];
  const Tiles tiles(x_desc);
  const Tiles by_element = tiles_in_rounds<Element>(tiles, x_desc, request.device);
  auto run = [=](const KernelArgs& args) {
    const Workspace<Tiles, Normaliser> workspace(args.workspace, tiles);
    const T* x = operand<T>(args, In::x);
    const float* sums = operand<float>(args, In::sums);
    using Sums = ShiftedSums<T, Tiles, kCount>;
    if (attrs.training && !sums)
      for_tiles(args, tiles, PartialSums<Tiles, 4, Sums>{Sums{x}, workspace.partial});
    for_blocks(args, tiles.channels,
               ChannelStatistics<T, Tiles>{
                   tiles, attrs.epsilon, attrs.momentum, attrs.training, workspace.partial, sums,
                   operand<float>(args, In::squares), x, operand<float>(args, In::scale),
                   operand<float>(args, In::bias), operand<float>(args, In::mean),
                   operand<float>(args, In::variance), workspace.of_channels,
                   result<float>(args, Out::new_mean), result<float>(args, Out::new_variance),
                   result<float>(args, Out::saved_mean), result<float>(args, Out::saved_variance)});
    for_tiles(args, by_element,
              Element{workspace.of_channels, attrs.relu ? 0 : kNone, x, operand<T>(args, In::z),
                      result<T>(args, Out::y)});
  };
  return make_kernel(run, description_of(x_desc), Workspace<Tiles, Normaliser>::bytes(tiles));
}

std::unique_ptr<Kernel> prepare_forward(const KernelRequest& request) {
  using In = BatchNormIn;
  const bool adds = request.in.size() > In::z && request.in[In::z].present();
  const TensorDesc& x = request.in[In::x];
  return tiled(x, lies_last(x), [&]<class T, class Tiles, int kCount>() {
    return adds ? forward<T, Tiles, kCount, true>(request)
                : forward<T, Tiles, kCount, false>(request);
  });
}

// The operands are dy, x, scale, and the mean and variance that the forward pass used.
template <class T, class Tiles, int kCount, Mask kMask>
std::unique_ptr<Kernel> gradient(const KernelRequest& request, const BatchNormGradAttrs& attrs) {
  using In = BatchNormGradIn;
  using Out = BatchNormGradOut;
  const TensorDesc& x_desc = request.in[In::x];
  const Tiles tiles(x_desc);
  const Tiles by_element =
      tiles_in_rounds<Backward<T, Tiles, kCount, kMask>>(tiles, x_desc, request.device);
  auto run = [=](const KernelArgs& args) {
    const Workspace<Tiles, Coefficients> workspace(args.workspace, tiles);
    const auto from = [&]<Mask kOf>(const T* dy) {
      return Incoming<T, Tiles, kCount, kOf>{attrs.epsilon,
                                             dy,
                                             operand<T>(args, In::x),
                                             operand<T>(args, In::y),
                                             operand<float>(args, In::scale),
                                             operand<float>(args, In::bias),
                                             operand<float>(args, In::mean),
                                             operand<float>(args, In::variance)};
    };
    const auto incoming = from.template operator()<kMask>(operand<T>(args, In::dy));
    T* passed = result<T>(args, Out::dz);
    using Sums = GradientSums<T, Tiles, kCount, kMask>;
    for_tiles(args, tiles, PartialSums<Tiles, 2, Sums>{Sums{incoming, passed}, workspace.partial});
    for_blocks(args, tiles.channels,
               SettleGradient<T, Tiles, kCount, kMask>{
                   incoming, tiles, attrs.given, workspace.partial, workspace.of_channels,
                   result<float>(args, Out::dscale), result<float>(args, Out::dbias)});
    const auto differentiate = [&]<Mask kOf>(const Incoming<T, Tiles, kCount, kOf>& rest) {
      for_tiles(
          args, by_element,
          Backward<T, Tiles, kCount, kOf>{rest, workspace.of_channels, result<T>(args, Out::dx)});
    };
    if (passed)
      differentiate(from.template operator()<Mask::none>(passed));
    else
      differentiate(incoming);
  };
  return make_kernel(run, description_of(x_desc), Workspace<Tiles, Coefficients>::bytes(tiles));
}

std::unique_ptr<Kernel> prepare_grad(const KernelRequest& request) {
  const BatchNormGradAttrs attrs = read_batch_norm_grad(request.node);
  const TensorDesc& x = request.in[BatchNormGradIn::x];
  return tiled(x, lies_last(x), [&]<class T, class Tiles, int kCount>() {
    if (!attrs.relu) return gradient<T, Tiles, kCount, Mask::none>(request, attrs);
    if (!attrs.added) return gradient<T, Tiles, kCount, Mask::by_x>(request, attrs);
    return gradient<T, Tiles, kCount, Mask::by_y>(request, attrs);
  });
}

}  // namespace

std::vector<KernelEntry> batch_norm_cuda() {
  const Refusal forward =
      every({takes<TensorFloats>(), whole_channels(0), float_vectors(BatchNormIn::scale), no_clip});
  const Refusal backward = every(
      {takes<TensorFloats>(), whole_channels(1), float_vectors(BatchNormGradIn::scale), no_clip});
  return {
      {"BatchNormalization", "", {{"GPU", forward, prepare_forward, batch_norm_layouts}}},
      {"FusedBatchNorm", kOwnDomain, {{"GPU", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormTrain", kOwnDomain, {{"GPU", forward, prepare_forward, batch_norm_layouts}}},
      {"BatchNormGrad", kOwnDomain, {{"GPU", backward, prepare_grad, batch_norm_grad_layouts}}}};
}

}  // namespace lockstep
