// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/profile_check.h"

#include <algorithm>
#include <set>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/plan/step_phases.h"

namespace lockstep {
namespace {

// "cpu_0/" of cpu_0/conv1; "" for a name without a replica.
std::string replica_of(const std::string& name) {
  const std::size_t slash = name.find('/');
  const bool is_replica = name.starts_with("cpu_") || name.starts_with("gpu_");
  return is_replica && slash != name.npos ? name.substr(0, slash + 1) : "";
}

void check_shapes(const std::vector<NamedTime>& times, const Plan& plan, const PlanStep& step,
                  const std::string& path) {
  const std::string shapes = shapes_of(plan, step);
  std::string others;
  for (const NamedTime& time : times) {
    if (time.shapes == shapes) return;
    if (time.type == step.type && time.is_of_pass) others = time.shapes;
  }
  check(others.empty(), path, ": is the trace of another batch or network: ", printable(step.name),
        " (", step.type, ") has ", printable(others), " there and ", printable(shapes),
        " here; trace this step with this batch on each replica, or simulate with the batch of the "
        "trace (--batch)");
}

// The number of names, and the first.
struct Missing {
  std::set<std::string> names;
  std::string text() const {
    return join(names.size(), " (such as ", printable(shortened(*names.begin())), ")");
  }
};

}  // namespace

std::vector<std::string> check_profile(const KernelProfile& profile, const Plan& plan,
                                       const TrainingModel& model, const std::string& path) {
  const std::vector<Phase> phases = phases_of(plan, model);
  std::set<std::string> planned, replicas;
  Missing untimed, unplanned;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    planned.insert(step.name);
    replicas.insert(replica_of(step.name));
    if (phases[i] != Phase::forward && phases[i] != Phase::backward) continue;
    if (const std::vector<NamedTime>* times = times_named(profile, step))
      check_shapes(*times, plan, step, path);
    else
      untimed.names.insert(step.name);
  }
  for (const auto& [name, times] : profile.by_name)
    if (times[0].is_of_pass && !planned.contains(name.substr(0, name.rfind(", part "))) &&
        replicas.contains(replica_of(name)))
      unplanned.names.insert(name);
  if (untimed.names.empty() && unplanned.names.empty()) return {};
  std::string note = join(printable(path), " is the trace of another step");
  if (!untimed.names.empty()) note += join("; steps without a time by name: ", untimed.text());
  if (!unplanned.names.empty())
    note += join("; operators that this step does not have: ", unplanned.text());
  return {note};
}

}  // namespace lockstep
