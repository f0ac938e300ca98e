// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/implementations.h"

#include <algorithm>

#include "operators/conv/amx/amx.h"
#include "operators/conv/epilogue_cpu.h"
#include "operators/conv/im2col/im2col.h"
#include "operators/conv/onednn/onednn.h"
#include "operators/conv/pointwise_grad_w/pointwise_grad_w.h"
#include "operators/conv/winograd/winograd.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

std::string is_not_exact(const KernelRequest& request) {
  return request.exact ? "is not exact" : "";
}

// The implementation's candidate, with the refusals that the implementation states as data.
Candidate candidate_of(const ConvImplementation& implementation) {
  Candidate candidate = implementation.candidate;
  std::vector<Refusal> refusals{implementation.types};
  if (!implementation.is_exact) refusals.emplace_back(is_not_exact);
  if (candidate.refuses) refusals.push_back(candidate.refuses);
  candidate.refuses = every(std::move(refusals));
  return candidate;
}

// Makes a FusedConvGradX from an implementation's ConvGradX.
Candidate adding(Candidate candidate) {
  candidate.prepare = [convolves = candidate.prepare](const KernelRequest& request) {
    return with_addition(convolves(request), request);
  };
  if (candidate.wish)
    candidate.wish = [convolves = candidate.wish](const KernelRequest& request) {
      Layouts layouts = convolves(request);
      layouts.in[ConvGradXIn::z] = layouts.out[0];
      return layouts;
    };
  return candidate;
}

// `adds`: for a FusedConvGradX.
std::vector<Candidate> candidates_for(ConvPass pass, bool adds = false) {
  std::vector<Candidate> candidates;
  for (const ConvImplementation& each : conv_implementations())
    if (std::ranges::find(each.passes, pass) != each.passes.end())
      candidates.push_back(adds && !each.adds ? adding(candidate_of(each)) : candidate_of(each));
  return candidates;
}

}  // namespace

// Methods for bfloat16 follow methods for float32. A refusal because of the type is then not
// reported as the reason for steps in float32 (plan --why).
const std::vector<ConvImplementation>& conv_implementations() {
  static const std::vector<ConvImplementation> all = [] {
    std::vector<ConvImplementation> list;
    for (const auto& methods : {winograd_convolutions(), im2col_convolutions(), amx_convolutions(),
                                pointwise_convolutions(), onednn_convolutions()})
      list.insert(list.end(), methods.begin(), methods.end());
    return list;
  }();
  return all;
}

std::vector<KernelEntry> conv_cpu() {
  return {{"Conv", "", candidates_for(ConvPass::forward)},
          {"FusedConv", kOwnDomain, candidates_for(ConvPass::forward)},
          {"ConvTranspose", "", {onednn_transpose()}},
          {"ConvGradX", kOwnDomain, candidates_for(ConvPass::grad_x)},
          {"FusedConvGradX", kOwnDomain, candidates_for(ConvPass::grad_x, true)},
          {"ConvGradW", kOwnDomain, candidates_for(ConvPass::grad_w)}};
}

}  // namespace lockstep
