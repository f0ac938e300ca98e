// SPDX-License-Identifier: Apache-2.0
// The texts of runs and of their steps in a trace, for its writer and its readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

// The name of a run of the training step, counted from 0: "step 3" for number 2.
std::string name_of_training_run(uint64_t number);

enum class RunProgram { training, prediction };
// The program of a run with this name. A prediction has the name of its graph.
RunProgram program_of_run(std::string_view name);

// The facts of a step's slices: its operator, its kernel, its part of a collective, its results
// with their shapes, and the bytes that it reads and writes.
std::vector<std::pair<std::string, std::string>> facts_of(const Plan& plan, const PlanStep& step);

}  // namespace lockstep
