// SPDX-License-Identifier: Apache-2.0
// AnchorTargets and ProposalTargets by their definitions: every anchor and proposal is compared
// with every object, and all candidates are sorted by their keys. Overlaps are rounded to float32,
// so thresholds and ties are the same as in a kernel.
#pragma once

#include "operators/targets/targets.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {

// The stream of random numbers. The seed and step of cases are 0.
inline constexpr int64_t kTargetsStream = 7;
Reference naive_anchor_targets(const AnchorTargetsAttrs& attrs);
Reference naive_proposal_targets(const ProposalTargetsAttrs& attrs);

// The operators as cases. Operands have the names of targets.h.
struct TargetOperands {
  CaseInput boxes, classes, crowd, im_info, image_number;
};
OpCase anchor_targets_case(const std::string& name, const TargetOperands& operands,
                           const AnchorTargetsAttrs& attrs);
OpCase proposal_targets_case(const std::string& name, CaseInput proposals, CaseInput sources,
                             const TargetOperands& operands, const ProposalTargetsAttrs& attrs);

CaseInput of_floats(const std::vector<float>& values, const Dims& dims);

// Returns the outputs of one run of a case.
std::vector<Literal> results_of(const OpCase& c, int threads = 1);

}  // namespace lockstep::testing
