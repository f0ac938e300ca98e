// SPDX-License-Identifier: Apache-2.0
// Chooses the newest run of a series that a command can use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

struct PassedOver {
  std::string folder, why;
};
struct ChosenRun {
  std::string folder;                   // "": none
  std::vector<PassedOver> passed_over;  // the newer runs, or all runs; newest first
};

// The reason why a command cannot use the run in a folder; "" if it can.
using WhyNot = std::function<std::string(const std::string& folder)>;

// An Error of `why_not` does not reject a run: the command meets the error again and reports it.
ChosenRun choose_run(const std::string& series, const WhyNot& why_not);

// "uses runs/c; passed over: runs/c.2 (..)"; "" if no run was passed over.
std::string text_of(const ChosenRun& chosen);
// A line for each run that was passed over, after a line break.
std::string reasons_of(const ChosenRun& chosen);

// The reason why a run cannot be resumed: both of its checkpoints are missing. "" if one exists.
std::string lacks_checkpoint(const std::string& folder);
// The checkpoint with the run's network and settings: the newest, or the previous if only the
// previous exists.
std::string last_checkpoint_in(const std::string& folder);
// Names the parameters that differ between checkpoint and model; "" if all are equal.
std::string other_network(const TrainingModel& model, const std::string& checkpoint);

// The folder `named`, without trailing slashes. If `named` is the link runs/latest to a run without
// a checkpoint: the newest run of its series with a checkpoint, which `say` reports if given.
using Say = std::function<void(const std::string& line)>;
std::string run_meant_by(const std::string& named, const Say& say);

// Prints a line on stderr.
void say_on_terminal(const std::string& line);

}  // namespace lockstep
