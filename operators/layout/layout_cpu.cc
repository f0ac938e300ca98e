// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dnnl.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

std::string text_of_block(int block) {
  return is_in_tiles(block) ? text_of_layout(block).substr(1) : join(block);
}

std::unique_ptr<Kernel> prepare_reorder(const KernelRequest& request) {
  auto kernel =
      std::make_unique<DnnlKernel>(join(text_of_block(request.in[0].channel_block), " -> ",
                                        text_of_block(request.out[0].channel_block)));
  kernel->move(0, desc_of(request.in[0]), desc_of(request.out[0]));
  return kernel;
}

}  // namespace

std::vector<KernelEntry> layout_cpu() {
  return {{"Reorder", kOwnDomain, {{"oneDNN", anything, prepare_reorder}}}};
}

}  // namespace lockstep
