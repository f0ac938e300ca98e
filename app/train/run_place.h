// SPDX-License-Identifier: Apache-2.0
// The folder of a run, and the checkpoint it resumes.
#pragma once

#include <memory>
#include <string>

#include "app/train/chosen_run.h"
#include "app/train/learning.h"
#include "app/train/run_folder.h"

namespace lockstep {

// --resume, with the word that may follow it.
struct Resume {
  bool wanted = false;
  std::string in;  // a folder, a checkpoint, or auto; "": the newest of the series
};

struct RunPlace {
  std::unique_ptr<RunLock> lock;
  std::string from;  // the checkpoint, or ""
};
// Decides by a run's checkpoint if the run can be resumed.
struct ResumeRules {
  WhyNot other_network, other_settings;
  Say say;  // reports which run was chosen, and which runs were passed over
};
// The rules of a prepared task with the step `model` and `replicas` replicas in all processes. The
// task and the model must outlive the rules.
ResumeRules rules_of(Learning& task, const TrainingModel& model, int64_t replicas);

// Makes the series' next folder, or finds the run to resume. Throws if there is nothing to resume;
// the error has the command for the previous checkpoint if that checkpoint is intact.
RunPlace place_of(const std::string& series, const Resume& resume, const ResumeRules& rules);

// The command that continues the run. The run's own configuration contains its original settings,
// including KEY VALUE pairs.
std::string resuming_command(const std::string& folder);

// For errors about a damaged or missing newest checkpoint. Offers the previous checkpoint if it is
// intact; "" if there is none.
std::string offer_of_previous(const std::string& folder);
// Offers the previous checkpoint to a command that does not train; `use` is the text that names the
// file.
std::string offer_of_previous(const std::string& folder, const std::string& use);

}  // namespace lockstep
