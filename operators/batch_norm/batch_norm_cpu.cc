// SPDX-License-Identifier: Apache-2.0
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "operators/batch_norm/passes_cpu.h"
#include "operators/kit/dispatch.h"

namespace lockstep {

std::vector<KernelEntry> batch_norm_cpu() {
  const Refusal forward = every({takes<Normalised>(), float_vectors(BatchNormIn::scale)});
  const Refusal backward = every({takes<Normalised>(), float_vectors(BatchNormGradIn::scale)});
  return {
      {"BatchNormalization", "", {{"CPU", forward, prepare_batch_norm, batch_norm_layouts}}},
      {"FusedBatchNorm", kOwnDomain, {{"CPU", forward, prepare_batch_norm, batch_norm_layouts}}},
      {"BatchNormTrain", kOwnDomain, {{"CPU", forward, prepare_batch_norm, batch_norm_layouts}}},
      {"BatchNormGrad",
       kOwnDomain,
       {{"CPU", backward, prepare_batch_norm_grad, batch_norm_grad_layouts}}}};
}

}  // namespace lockstep
