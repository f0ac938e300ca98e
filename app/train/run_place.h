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
// The rules by which a run of the series can be resumed or not, given its checkpoint.
struct ResumeRules {
  WhyNot other_network, other_settings;
  Say say;  // tells which run was taken, and which were not
};
// The rules of a prepared task whose step is `model`; `replicas`: of all processes. The task and
// the model must outlive the rules.
ResumeRules rules_of(Learning& task, const TrainingModel& model, int64_t replicas);

// Makes the series' next folder, or finds the one to resume in. Throws if there is nothing to
// resume, with the command that resumes from the previous checkpoint if that is whole.
RunPlace place_of(const std::string& series, const Resume& resume, const ResumeRules& rules);

// The command that continues the run. The run's own configuration contains its original settings,
// KEY VALUE pairs too.
std::string resuming_command(const std::string& folder);

// For errors about the folder's newest checkpoint, damaged or gone: offers the one before it, if
// that is whole; "" if there is none.
std::string offer_of_previous(const std::string& folder);
// Offers the previous checkpoint to a command that does not train: `use` says how to name the file.
std::string offer_of_previous(const std::string& folder, const std::string& use);

}  // namespace lockstep
