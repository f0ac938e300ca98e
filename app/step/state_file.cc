// SPDX-License-Identifier: Apache-2.0
#include "app/step/state_file.h"

#include <filesystem>
#include <sstream>
#include <vector>

#include "app/format.h"
#include "app/train/checkpoint_keys.h"
#include "app/train/saved_numbers.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

constexpr const char* kSteps = "steps";
constexpr const char* kNames = "parameters";  // their names, each followed by a newline
constexpr const char* kOtherState = "name another file with --state to start anew";

// Throws if the file has parameters that the network lacks: they would be lost.
void check_none_lost(const Metadata& saved, const std::set<std::string>& names,
                     const std::string& path) {
  const auto found = saved.find(kNames);
  if (found == saved.end()) return;  // of an earlier version
  std::istringstream lines(found->second);
  std::vector<std::string> lost;
  for (std::string name; std::getline(lines, name);)
    if (names.count(name) == 0) lost.push_back(name);
  constexpr std::size_t kMostNames = 5;
  check(lost.empty(), path, ": is of another network: it has ", first_listed(lost, kMostNames),
        ", which this network does not train; ", kOtherState);
}

}  // namespace

StepStateFile::StepStateFile(const StepRequest& request, const StepConfig& config,
                             const Session& session, int64_t rows)
    : path_(*request.state),
      replicas_(config.replicas()),
      decay_(config.step.options.average.decay) {
  StepConfig copy = config;  // keys refer to a configuration that they may change
  const ConfigKeys keys = keys_of(copy);
  equal_ = remembered(keys, copy);
  equal_.emplace("--loss", request.loss);
  decides_ = deciding_bits(keys);
  decides_.insert({{"the rows of a step", std::to_string(rows)},
                   {"replicas", std::to_string(replicas_)},
                   {"threads", std::to_string(session.threads())}});
  check_names_to_store(session.model());
  for (const State& state : session.model().states)
    if (is_parameter(state.kind) || state.kind == StateKind::computed) names_.insert(state.name);
}

std::optional<int64_t> StepStateFile::read(Session& session) {
  if (!std::filesystem::exists(path_)) return std::nullopt;
  const Metadata saved = load_checkpoint(session, path_, [&](const Metadata& metadata) {
    check_remembered(equal_, metadata, path_, replicas_, kOtherState);
    check_averages(metadata, decay_, path_, kOtherState);
    whole_number(metadata, kSteps, 0, kMostSteps, path_);
  });
  check_none_lost(saved, names_, path_);
  const int64_t steps = whole_number(saved, kSteps, 0, kMostSteps, path_);
  const std::string changed = changed_since(saved, decides_);
  note_ = join(path_, ": continues after ", count_of(steps, "step", "steps"),
               changed.empty() ? "" : " with ", changed,
               changed.empty() ? "" : ": bits may differ from steps without a break");
  return steps;
}

void StepStateFile::write(Session& session, int64_t steps) const {
  Metadata metadata = equal_;
  metadata.insert(decides_.begin(), decides_.end());
  metadata.emplace(kSteps, std::to_string(steps));
  for (const std::string& name : names_) metadata[kNames] += name + "\n";
  save_checkpoint(session, path_, metadata);
}

}  // namespace lockstep
