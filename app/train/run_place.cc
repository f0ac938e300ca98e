// SPDX-License-Identifier: Apache-2.0
#include "app/train/run_place.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/train/checkpoint_keys.h"
#include "app/train/saved_numbers.h"
#include "app/train/training_run.h"
#include "graph/printable.h"
#include "lockstep/checkpoint.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The command that resumes from the checkpoint before the newest.
std::string command_for_previous(const std::string& folder) {
  return join("lockstep train ", shell_word(folder + "/config.yaml"), " --resume ",
              shell_word(previous_of(checkpoint_in(folder))));
}

// The folder and checkpoint of a chosen or named run.
RunPlace place_in(const std::string& named) {
  const std::string folder = real_folder(named);
  std::error_code trouble;
  check(fs::exists(checkpoint_in(folder), trouble), "--resume: '", folder,
        "' contains no checkpoint.safetensors", offer_of_previous(folder));
  return {std::make_unique<RunLock>(folder), checkpoint_in(folder)};
}

// True if an older run of the series has appeared since the choice: another `--resume auto` was
// quicker.
bool came_before(const std::string& own, const std::string& series, const ChosenRun& chosen) {
  const std::vector<std::string> runs = runs_of(series);
  const auto place = std::find(runs.begin(), runs.end(), own);
  return std::any_of(place, runs.end(), [&](const std::string& run) {
    const auto is_it = [&](const PassedOver& known) { return known.folder == run; };
    return run != own && std::none_of(chosen.passed_over.begin(), chosen.passed_over.end(), is_it);
  });
}

// Begins a run for `--resume auto` if no other run could be meant. Returns no lock if the choice is
// out of date.
RunPlace begun_place(const std::string& series, const ChosenRun& chosen, const ResumeRules& rules) {
  for (const auto& [folder, why] : chosen.passed_over)
    check(!lacks_checkpoint(folder).empty() || !rules.other_network(folder).empty(),
          "--resume auto: ", folder, ": ", why);
  if (!chosen.passed_over.empty()) {
    const std::string& newest = chosen.passed_over[0].folder;
    // A run that was cut off before its first checkpoint begins again in its folder.
    if (!lacks_checkpoint(newest).empty() && had_run(newest)) {
      rules.say(join("--resume auto begins again in ", newest, ", which contains no checkpoint"));
      return {std::make_unique<RunLock>(newest), ""};
    }
  }
  RunPlace place{start_next_run(series), ""};
  if (came_before(place.lock->folder(), series, chosen)) return {};
  if (!chosen.passed_over.empty())
    rules.say(join("--resume auto starts a run, since none can be resumed:", reasons_of(chosen)));
  return place;
}

RunPlace newest_place(const std::string& series, const Resume& resume, const ResumeRules& rules) {
  const ChosenRun chosen = choose_run(series, [&](const std::string& folder) {
    std::string why = lacks_checkpoint(folder);
    if (why.empty()) why = rules.other_network(folder);
    return why.empty() ? rules.other_settings(folder) : why;
  });
  // The user may mean the run in progress, even before its first checkpoint.
  for (const auto& [folder, why] : chosen.passed_over)
    if (const std::optional<std::string> holder = held_by(folder);
        holder && !lacks_checkpoint(folder).empty())
      fail("'", folder, "' is in use by another run", *holder,
           "; --resume FOLDER names another run");
  if (!chosen.folder.empty()) {
    if (const std::string said = text_of(chosen); !said.empty()) rules.say("--resume " + said);
    return place_in(chosen.folder);
  }
  if (resume.in == "auto") {
    RunPlace place = begun_place(series, chosen, rules);
    return place.lock ? std::move(place) : newest_place(series, resume, rules);
  }
  check(!chosen.passed_over.empty(), "--resume: there is no run in '", series,
        "' yet; --resume auto starts one");
  fail("--resume: no run of '", series,
       "' can be resumed; without --resume a new run is started:", reasons_of(chosen));
}

}  // namespace

std::string resuming_command(const std::string& folder) {
  return join("lockstep train ", shell_word(folder + "/config.yaml"), " --resume ",
              shell_word(folder));
}

std::string offer_of_previous(const std::string& folder) {
  return offer_of_previous(folder, join("continue from it with:  ", command_for_previous(folder)));
}

std::string offer_of_previous(const std::string& folder, const std::string& use) {
  const std::string previous = previous_of(checkpoint_in(folder));
  std::error_code trouble;
  if (!fs::exists(previous, trouble)) return "";
  try {
    const int64_t steps =
        whole_number(checkpoint_metadata(previous), "steps", 0, kMostSteps, previous);
    return join("; the previous checkpoint, from iteration ", steps, ", is intact; ", use);
  } catch (const Error& error) {
    return join("; the previous checkpoint cannot be used either: ", error.what());
  }
}

ResumeRules rules_of(Learning& task, const TrainingModel& model, int64_t replicas) {
  const auto other_settings = [&task, replicas](const std::string& folder) -> std::string {
    const std::string path = last_checkpoint_in(folder);
    Metadata now = to_be_remembered(task);
    Metadata saved = read_safetensors_header(path).metadata;
    for (const auto& [key, value] : task.inferred_in(saved)) now[key] = value;
    renew(saved, now, task.remembered_before(), path);
    try {
      check_remembered(now, saved, path, replicas);
      check_averages(saved, task.settings().step.options.average.decay, path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  return {[&model](const std::string& folder) {
            return other_network(model, last_checkpoint_in(folder));
          },
          other_settings, say_on_terminal};
}

RunPlace place_of(const std::string& series, const Resume& resume, const ResumeRules& rules) {
  if (!resume.wanted) return {start_next_run(series), ""};
  std::error_code trouble;
  if (fs::is_regular_file(resume.in, trouble)) {
    const fs::path file(resume.in);
    const std::string folder =
        file.has_parent_path() ? real_folder(file.parent_path().string()) : ".";
    return {std::make_unique<RunLock>(folder), join(folder, "/", file.filename().string())};
  }
  if (resume.in.empty() || resume.in == "auto") return newest_place(series, resume, rules);
  return place_in(run_meant_by(resume.in, rules.say));
}

}  // namespace lockstep
