#include "operators/elements_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

// Element i of the result, decoded by the result's blocks, is found by the operand's.
template <class T, class Index>
struct Reordered {
  Index channels, plane, from_block, to_block;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    Index rest = static_cast<Index>(i);
    const Index within = rest % to_block;
    rest /= to_block;
    const Index place = rest % plane;
    rest /= plane;
    const Index blocks = channels / to_block;
    const Index channel = rest % blocks * to_block + within;
    const Index image = rest / blocks;
    const Index from = (image * (channels / from_block) + channel / from_block) * plane + place;
    y[i] = x[from * from_block + channel % from_block];
  }
};

template <class T, class Index>
std::unique_ptr<Kernel> reorder_kernel(const KernelRequest& request) {
  const Dims& dims = request.in[0].dims;
  const int64_t count = request.in[0].count();
  const int64_t plane = count == 0 ? 0 : count / (dims[0] * dims[1]);
  return make_kernel(
      [=, channels = dims[1], from = request.in[0].channel_block,
       to = request.out[0].channel_block](const KernelArgs& args) {
        for_elements(args, count,
                     Reordered<T, Index>{static_cast<Index>(channels), static_cast<Index>(plane),
                                         static_cast<Index>(from), static_cast<Index>(to),
                                         args.in[0].as<const T>(), args.out[0].as<T>()});
      },
      join(request.in[0].channel_block, " -> ", request.out[0].channel_block));
}

// Divisions by 64-bit numbers are slow, and hardly a tensor needs them.
template <class T>
std::unique_ptr<Kernel> indexed(const KernelRequest& request) {
  return request.in[0].count() <= UINT32_MAX ? reorder_kernel<T, uint32_t>(request)
                                             : reorder_kernel<T, uint64_t>(request);
}

std::unique_ptr<Kernel> prepare_reorder(const KernelRequest& request) {
  switch (size_of(request.in[0].dtype)) {
    case 1:
      return indexed<uint8_t>(request);
    case 2:
      return indexed<uint16_t>(request);
    case 4:
      return indexed<uint32_t>(request);
    default:
      return indexed<uint64_t>(request);
  }
}

}  // namespace

std::vector<KernelEntry> layout_cuda() { return {{"Reorder", kOwnDomain, prepare_reorder}}; }

}  // namespace lockstep
