// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/targets/kernels_cpu.h"
#include "operators/targets/targets.h"

namespace lockstep {

std::vector<KernelEntry> targets_cpu() {
  return {{"AnchorTargets",
           kOwnDomain,
           {{"CPU", every({takes<Float32>(0), takes<Float32>(3)}), prepare_anchor_targets}}},
          {"ProposalTargets",
           kOwnDomain,
           {{"CPU", every({takes<Float32>(0), takes<Float32>(2)}), prepare_proposal_targets}}},
          {"MaskTargets",
           kOwnDomain,
           {{"CPU", every({takes<Float32>(0), takes<Float32>(2)}), prepare_mask_targets}}},
          {"KeypointTargets",
           kOwnDomain,
           {{"CPU", every({takes<Float32>(0), takes<Float32>(2)}), prepare_keypoint_targets}}}};
}

}  // namespace lockstep
