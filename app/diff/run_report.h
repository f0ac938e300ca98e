// SPDX-License-Identifier: Apache-2.0
// `lockstep report RUN..`: the folders of several runs as one page.
#pragma once

#include <string>
#include <vector>

#include "app/report/run_comparison.h"

namespace lockstep {

// Reads the runs' metrics and configurations. Throws an Error for a folder without a run.
RunComparison compared_runs(const std::vector<std::string>& folders);

}  // namespace lockstep
