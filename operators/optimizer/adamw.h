// SPDX-License-Identifier: Apache-2.0
// AdamW for one element, as in torch.optim.AdamW: Adam with the gradient without decay. The decay
// is decoupled: rate * decay * param is subtracted from the parameter and does not enter the
// moments.
#pragma once

#include <utility>

#include "operators/optimizer/adam.h"

namespace lockstep {

struct AdamWRule : AdamRule {
  static constexpr const char* kType = "AdamWUpdate";
  static constexpr bool kDecouplesDecay = true;

  static UpdateSignature signature() {
    UpdateSignature signature = AdamRule::signature();
    signature.doc += " - rate * decay * param";
    return signature;
  }
  static AdamWRule read(AttributeReader reader) { return {AdamRule::read(std::move(reader))}; }
};

}  // namespace lockstep
