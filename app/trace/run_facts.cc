// SPDX-License-Identifier: Apache-2.0
#include "app/trace/run_facts.h"

#include "graph/listed.h"
#include "lockstep/error.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

constexpr std::string_view kTrainingRun = "step ";
constexpr std::size_t kMostListedResults = 4;  // of a step, in a text

}  // namespace

std::string name_of_training_run(uint64_t number) { return join(kTrainingRun, number + 1); }

RunProgram program_of_run(std::string_view name) {
  if (!name.starts_with(kTrainingRun)) return RunProgram::prediction;
  name.remove_prefix(kTrainingRun.size());
  const bool is_number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
  return is_number ? RunProgram::training : RunProgram::prediction;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Plan& plan, const PlanStep& step) {
  std::vector<std::pair<std::string, std::string>> facts{{"operator", step.type}};
  const std::string how = step.kernel->describe();
  facts.emplace_back("kernel", step.candidate + (how.empty() ? "" : ", " + how));
  if (step.parts > 1) facts.emplace_back("part", join(step.part + 1, " of ", step.parts));
  std::vector<std::string> results;
  for (const int slot : step.out)
    if (slot >= 0) results.push_back(join(plan.slots[slot].name, ": ", plan.slots[slot].desc));
  facts.emplace_back("results", first_listed(std::move(results), kMostListedResults));
  facts.emplace_back("bytes read and written", std::to_string(bytes_of(plan, step)));
  return facts;
}

}  // namespace lockstep
