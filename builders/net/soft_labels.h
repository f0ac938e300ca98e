// SPDX-License-Identifier: Apache-2.0
// Labels that are less than certain: label smoothing, and pictures that are mixtures of two.
#pragma once

#include "lockstep/net.h"

namespace lockstep {

struct SoftLabels {
  // The share of each label's weight that is spread evenly over all classes, as
  // torch.nn.CrossEntropyLoss(label_smoothing=) has it.
  float smoothing = 0;
  bool mixed = false;  // rows have a second label: inputs kSecondLabel and kSecondShare

  bool active() const { return smoothing > 0 || mixed; }
};

inline constexpr const char* kSecondLabel = "second_label";  // int64 [N]
inline constexpr const char* kSecondShare = "second_share";  // float32 [N]: its weight
// The loss that soft labels add to the cross entropy with the certain label. The sum of both is the
// cross entropy with the soft label.
inline constexpr const char* kSoftLabels = "soft_labels";

// The model with soft labels in training; the accuracy counts the first label. Throws when the
// model is traced if its only loss is not a cross entropy, as classify() adds it.
ModelFn with_soft_labels(ModelFn model, const SoftLabels& soft);

}  // namespace lockstep
