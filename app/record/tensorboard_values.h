// SPDX-License-Identifier: Apache-2.0
// TensorBoard values other than scalars: entries of a Summary that name their plugin.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/record/proto_message.h"
#include "app/record/test_result.h"

namespace lockstep {

// Several images under one tag, in order.
ProtoMessage images_value(const std::string& tag, const std::vector<SamplePicture>& samples,
                          const std::string& description);

// The start and the end of a row in the table of hyperparameters.
ProtoMessage run_starts_value(const std::vector<std::pair<std::string, std::string>>& settings,
                              double time);
enum class RunEnd { success = 1, failure = 2, running = 3 };
ProtoMessage run_ends_value(RunEnd how, double time);

}  // namespace lockstep
