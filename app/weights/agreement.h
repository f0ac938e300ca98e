// SPDX-License-Identifier: Apache-2.0
// Checks of a source of weights against a network and its configuration. All shapes would fit, and
// the features be wrong in silence.
#pragma once

#include "app/weights/match.h"
#include "app/weights/translate.h"

namespace lockstep {

inline constexpr const char* kMustAgree = "TRAIN.WEIGHTS_MUST_AGREE";

// Throws, naming the key, if the configuration contradicts a fact of the source, or if the body has
// another kind of norm.
void check_source_agrees(const std::vector<WeightSlot>& slots, const TranslatedWeights& file,
                         const WeightsSource& source, const WeightsOptions& options);

// Throws if the file has a part of the body in another size: a deeper or a shallower network.
void check_whole_parts(const std::vector<WeightSlot>& slots, const TranslatedWeights& file,
                       const WeightsOptions& options);

// Throws if the file's body has tensors that no rule knows, such as squeeze-and-excitation's.
// `names`: of all tensors of the file.
void check_nothing_more(const std::vector<WeightSlot>& slots, const std::vector<std::string>& names,
                        const WeightsSource& source, const WeightsOptions& options);

// A line for each fact of the source that the configuration contradicts on purpose.
std::vector<std::string> intended_differences(const std::vector<WeightSlot>& slots,
                                              const WeightsSource& source,
                                              const WeightsOptions& options);

// True if both texts are equal, as texts or as lists of numbers.
bool same_values(const std::string& a, const std::string& b);

}  // namespace lockstep
