// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/blocks_cuda.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

template <class T, class Index>
struct Reordered {
  Blocks<Index> blocks;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = x[blocks.from(static_cast<Index>(i))]; }
};

std::unique_ptr<Kernel> prepare_reorder(const KernelRequest& request) {
  const TensorDesc &from = request.in[0], &to = request.out[0];
  return of_size(from.dtype, [&]<class T>() {
    return indexed(from, [&]<class Index>() {
      return make_kernel(
          [blocks = Blocks<Index>(from, to), count = from.count()](const KernelArgs& args) {
            for_elements(
                args, count,
                Reordered<T, Index>{blocks, args.in[0].as<const T>(), args.out[0].as<T>()});
          },
          text_of_blocks(from, to));
    });
  });
}

}  // namespace

std::vector<KernelEntry> layout_cuda() {
  return {{"Reorder", kOwnDomain, {{"GPU", anything, prepare_reorder}}}};
}

}  // namespace lockstep
