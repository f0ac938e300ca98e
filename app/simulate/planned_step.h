// SPDX-License-Identifier: Apache-2.0
// The time of a step as it is planned: the workers of all processes run the steps of their plans in
// order, with the plans' waits, and exchange messages over the links of the cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "app/simulate/kernel_times.h"
#include "app/simulate/step_simulation.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// The plans of all processes of a step, for looking at them. Throws if the cluster has another
// number of devices than the step. The source must outlive them.
class PlannedProcesses {
 public:
  PlannedProcesses(const SourcedModel& source, const Cluster& cluster);
  ~PlannedProcesses();

  int count() const { return static_cast<int>(plans_.size()); }
  const SourcedModel& part(int rank) const { return parts_.empty() ? source_ : *parts_[rank]; }
  const Plan& plan(int rank) const { return *plans_[rank]; }

 private:
  std::vector<std::unique_ptr<Comm>> comms_;  // outlive the plans
  const SourcedModel& source_;
  std::vector<std::unique_ptr<SourcedModel>> parts_;  // none for one process, which runs the source
  std::vector<std::unique_ptr<Plan>> plans_;
};

SimulatedStep simulate_plans(const PlannedProcesses& processes, const Cluster& cluster,
                             KernelTimes& times);

// "" if the step can be simulated as planned on this cluster, or the reason why not.
std::string why_not_planned(const SourcedModel& source, const Cluster& cluster);

}  // namespace lockstep
