// SPDX-License-Identifier: Apache-2.0
#include "builders/resident/inputs.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kLimits = "resident";   // minibatch 64 capacity 1000 longest 10
constexpr const char* kStates = "sequences";  // inputs of states, one per line
constexpr std::string_view kEnding = "_resident";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_at(const TrainingModel& model, const char* key) {
  const auto found = model.metadata.find(key);
  return found == model.metadata.end() ? "" : found->second;
}

std::string text_of(const ResidentLimits& limits) {
  return join("minibatch ", limits.minibatch, " capacity ", limits.capacity, " longest ",
              limits.longest);
}

ResidentLimits limits_in(const std::string& text) {
  ResidentLimits limits;
  std::istringstream stream(text);
  std::string words[3];
  stream >> words[0] >> limits.minibatch >> words[1] >> limits.capacity >> words[2] >>
      limits.longest;
  check(bool(stream) && text_of(limits) == text, "metadata: ", kLimits, " is '", text,
        "', should be 'minibatch ROWS capacity ROWS longest ROWS'");
  return limits;
}

}  // namespace

std::string resident_state(const std::string& input) { return input + std::string(kEnding); }

void check_resident(const ResidentInputs& resident) {
  const ResidentLimits& limits = resident.limits;
  for (const auto& [name, rows] : {std::pair{"minibatch", limits.minibatch},
                                   {"capacity", limits.capacity},
                                   {"longest", limits.longest}})
    check(rows >= 1, "resident.limits.", name, " is ", rows, " rows, should be at least 1");
  check(!resident.rows.empty(), "resident states need resident rows: list the inputs of rows, too");
  std::set<std::string> names;
  for (const auto* inputs : {&resident.rows, &resident.states})
    for (const std::string& name : *inputs)
      check(names.insert(name).second, "the resident input '", name, "' is listed twice");
}

void write_resident(const ResidentInputs& resident, TrainingModel& model) {
  model.metadata[kLimits] = text_of(resident.limits);
  std::string states;
  for (const std::string& name : resident.states) states += name + "\n";
  if (!states.empty()) model.metadata[kStates] = states;
}

ResidentInputs read_resident(const TrainingModel& model) {
  check(model.metadata.contains(kLimits),
        "the model holds no batch on its devices; build it with DataParallelOptions::resident");
  ResidentInputs resident;
  resident.limits = limits_in(text_at(model, kLimits));
  resident.states = lines_of(text_at(model, kStates));
  std::size_t of_sequences = 0;
  for (const State& state : model.states) {
    if (state.kind != StateKind::resident) continue;
    check(state.name.ends_with(kEnding), "metadata: the resident state '", state.name,
          "' should end in ", kEnding);
    const Shape& shape = model.step.shape(model.step.at(state.values.at(0)));
    check(!shape.empty() && shape[0] == Dim(resident.limits.capacity), "metadata: '", state.name,
          "' is ", shape, ", but holds ", resident.limits.capacity, " rows");
    const std::string input = state.name.substr(0, state.name.size() - kEnding.size());
    const bool states =
        std::find(resident.states.begin(), resident.states.end(), input) != resident.states.end();
    states ? void(++of_sequences) : resident.rows.push_back(input);
  }
  check(of_sequences == resident.states.size(), "metadata: ", kStates, " lists ",
        resident.states.size(), " inputs, but the step holds ", of_sequences);
  check_resident(resident);
  return resident;
}

}  // namespace lockstep
