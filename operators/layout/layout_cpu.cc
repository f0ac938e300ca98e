// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dnnl.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

std::string text_of_block(const TensorDesc& tensor) {
  return tensor.layout.is_tiles() ? text_of(tensor.layout.tiles()) : join(tensor.block());
}

std::unique_ptr<Kernel> prepare_reorder(const KernelRequest& request) {
  auto kernel = std::make_unique<DnnlKernel>(
      join(text_of_block(request.in[0]), " -> ", text_of_block(request.out[0])));
  kernel->move(0, desc_of(request.in[0]), desc_of(request.out[0]));
  return kernel;
}

}  // namespace

std::vector<KernelEntry> layout_cpu() {
  return {{"Reorder", kOwnDomain, {{"oneDNN", anything, prepare_reorder}}}};
}

}  // namespace lockstep
