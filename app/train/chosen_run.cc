// SPDX-License-Identifier: Apache-2.0
#include "app/train/chosen_run.h"

#include <filesystem>
#include <iostream>
#include <map>

#include "app/train/run_folder.h"
#include "app/train/weights.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/checkpoint.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool usable(const std::string& folder, const WhyNot& why_not, std::string& why) {
  try {
    why = why_not(folder);
  } catch (const Error&) {
    why.clear();
  }
  return why.empty();
}

}  // namespace

ChosenRun choose_run(const std::string& series, const WhyNot& why_not) {
  ChosenRun chosen;
  for (const std::string& folder : runs_of(series)) {
    std::string why;
    if (usable(folder, why_not, why)) {
      chosen.folder = folder;
      break;
    }
    chosen.passed_over.push_back({folder, why});
  }
  return chosen;
}

std::string text_of(const ChosenRun& chosen) {
  std::vector<std::string> others;
  for (const auto& [folder, why] : chosen.passed_over) others.push_back(folder + " (" + why + ")");
  return others.empty() ? ""
                        : join("uses ", chosen.folder, "; passed over: ", listed(others, ", "));
}

std::string reasons_of(const ChosenRun& chosen) {
  std::string lines;
  for (const auto& [folder, why] : chosen.passed_over) lines += join("\n  ", folder, ": ", why);
  return lines;
}

std::string lacks_checkpoint(const std::string& folder) {
  const std::string newest = checkpoint_in(folder);
  std::error_code trouble;
  return fs::exists(newest, trouble) || fs::exists(previous_of(newest), trouble)
             ? ""
             : "contains no checkpoint.safetensors";
}

std::string last_checkpoint_in(const std::string& folder) {
  const std::string newest = checkpoint_in(folder), previous = previous_of(newest);
  std::error_code trouble;
  return !fs::exists(newest, trouble) && fs::exists(previous, trouble) ? previous : newest;
}

std::string other_network(const TrainingModel& model, const std::string& checkpoint) {
  constexpr std::size_t kMostNamed = 2;
  std::map<std::string, TensorType> stored;
  for (const StoredTensor& tensor : read_safetensors_header(checkpoint).tensors)
    stored.emplace(tensor.name, TensorType{tensor.dtype, to_shape(tensor.dims)});
  std::vector<std::string> missing, wrong;
  for (const State& state : model.states) {
    if (!is_weight(state.kind)) continue;
    const TensorType& ours = model.step.type(model.step.at(state.values[0]));
    const auto found = stored.find(state.name);
    if (found == stored.end())
      missing.push_back(state.name);
    else if (found->second.dtype != ours.dtype || found->second.shape != ours.shape)
      wrong.push_back(join(state.name, " is ", ours, ", in the file ", found->second));
  }
  if (!wrong.empty())
    return join("another network, with different shapes: ", first_listed(wrong, kMostNamed));
  return missing.empty() ? ""
                         : join("another network, which lacks ", first_listed(missing, kMostNamed));
}

std::string run_meant_by(const std::string& named, const Say& say) {
  const fs::path link = without_slashes(named);
  std::error_code trouble;
  const std::string folder = fs::is_directory(link, trouble) ? link.string() : named;
  if (link.filename() != "latest" || !fs::is_symlink(link, trouble)) return folder;
  const std::string target = target_of(link).string();
  if (fs::is_directory(target, trouble) && lacks_checkpoint(target).empty()) return folder;
  ChosenRun chosen = choose_run(series_with(target), lacks_checkpoint);
  check(!chosen.folder.empty(), "'", folder, "' leads to ", target,
        ", and no run of its series can be used:",
        chosen.passed_over.empty() ? " there is none" : reasons_of(chosen));
  if (say)
    say(join(
        "uses ", chosen.folder, " instead of ", folder, ", which leads to ", target,
        fs::exists(target, trouble) ? ": it contains no checkpoint.safetensors" : ": it is gone"));
  return chosen.folder;
}

void say_on_terminal(const std::string& line) {
  std::cerr << "lockstep: " << printable_lines(line) << "\n";
}

}  // namespace lockstep
