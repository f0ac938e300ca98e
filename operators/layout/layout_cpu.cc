#include "operators/kit/dnnl.h"
#include "operators/layout/layout.h"

namespace lockstep {
namespace {

std::unique_ptr<Kernel> prepare_reorder(const KernelRequest& request) {
  auto kernel = std::make_unique<DnnlKernel>(
      join(request.in[0].channel_block, " -> ", request.out[0].channel_block));
  kernel->move(0, desc_of(request.in[0]), desc_of(request.out[0]));
  return kernel;
}

}  // namespace

std::vector<KernelEntry> layout_cpu() {
  return {{"Reorder", kOwnDomain, {{"oneDNN", anything, prepare_reorder}}}};
}

}  // namespace lockstep
