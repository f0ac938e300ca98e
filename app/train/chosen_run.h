// SPDX-License-Identifier: Apache-2.0
// The choice of a series' run: the newest that has what a command needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/training.h"

namespace lockstep {

struct PassedOver {
  std::string folder, why;
};
struct ChosenRun {
  std::string folder;                   // "": none
  std::vector<PassedOver> passed_over;  // the newer ones, or all; the newest first
};

// Why a command cannot use the run in a folder; "" if it can.
using WhyNot = std::function<std::string(const std::string& folder)>;

// An Error of `why_not` is no reason to pass a run over: the command will meet it again and say it.
ChosenRun choose_run(const std::string& series, const WhyNot& why_not);

// "takes runs/c; passed over: runs/c.2 (..)"; "" where nothing was passed over.
std::string text_of(const ChosenRun& chosen);
// One line for each run that was passed over, each after a line break.
std::string reasons_of(const ChosenRun& chosen);

// Says why a run cannot go on: neither of its checkpoints is there. "" if one is.
std::string lacks_checkpoint(const std::string& folder);
// The checkpoint that tells the run's network and settings: the previous one where only that is
// left.
std::string last_checkpoint_in(const std::string& folder);
// Names the parameters that differ between checkpoint and model; "" if none do.
std::string other_network(const TrainingModel& model, const std::string& checkpoint);

// The folder `named`, without trailing slashes, unless it is the link runs/latest to a run without
// a checkpoint: then the newest run of its series that has one. Says so by `say`, if that is given.
using Say = std::function<void(const std::string& line)>;
std::string run_meant_by(const std::string& named, const Say& say);

// Tells people, on stderr.
void say_on_terminal(const std::string& line);

}  // namespace lockstep
