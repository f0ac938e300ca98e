// SPDX-License-Identifier: Apache-2.0
// The agreement between `lockstep launch --restarts` and the training that it starts, by variables
// of the environment: a run tells its folder, and a started run may be told to continue there.
#pragma once

#include <string>

#include "app/trace/request.h"
#include "app/train/run_place.h"

namespace lockstep {

// The file that takes the folder of the run; only the launch reads it.
inline constexpr const char* kRunNote = "LOCKSTEP_RUN_NOTE";
// The folder of the run to continue; it takes precedence over --resume.
inline constexpr const char* kContinueRun = "LOCKSTEP_CONTINUE_RUN";

// Tells the launch the folder of this run, if a launch asks for it.
void note_run(const std::string& folder);
// `asked`, or the run that the launch continues, if the run is of the series: a launched script may
// train several networks.
Resume resume_by_launch(const Resume& asked, const std::string& series);
// `asked`, with the mark that the launch continues the run.
TraceRequest trace_by_launch(TraceRequest asked, const std::string& series);

}  // namespace lockstep
