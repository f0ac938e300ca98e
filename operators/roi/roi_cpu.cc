// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/roi/kernels.h"
#include "operators/roi/roi.h"

namespace lockstep {
namespace {

bool takes_maximum(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  return read_roi_align(reader).max;
}

std::unique_ptr<Kernel> prepare_roi_align(const KernelRequest& request) {
  return takes_maximum(request) ? prepare_roi_max(request) : prepare_roi_mean(request);
}

std::unique_ptr<Kernel> prepare_roi_align_grad(const KernelRequest& request) {
  return takes_maximum(request) ? prepare_roi_max_grad(request) : prepare_roi_mean_grad(request);
}

}  // namespace

std::vector<KernelEntry> roi_cpu() {
  const Refusal floats = takes<Floats>();
  const Refusal placed = every({takes<Floats>(0), takes<Floats>(3)});
  const Refusal placed_back = every({takes<Floats>(0), takes<Floats>(1)});
  const Refusal by_position = every({takes<Floats>(0), takes<Floats>(1)});
  const Refusal by_position_back = every({takes<Floats>(0), takes<Floats>(2)});
  return {{"RoiAlign", "", {{"CPU", floats, prepare_roi_align}}},
          {"MaxRoiPool", "", {{"CPU", floats, prepare_max_roi_pool}}},
          {"RoiAlignGrad", kOwnDomain, {{"CPU", floats, prepare_roi_align_grad}}},
          {"MaxRoiPoolGrad", kOwnDomain, {{"CPU", floats, prepare_max_roi_pool_grad}}},
          {"MultilevelRoiAlign", kOwnDomain, {{"CPU", placed, prepare_multilevel}}},
          {"MultilevelRoiAlignGrad", kOwnDomain, {{"CPU", placed_back, prepare_multilevel_grad}}},
          {"PSRoIPool", kOwnDomain, {{"CPU", by_position, prepare_position}}},
          {"PSRoIPoolGrad", kOwnDomain, {{"CPU", by_position_back, prepare_position_grad}}}};
}

}  // namespace lockstep
