// SPDX-License-Identifier: Apache-2.0
// The seconds of a plan's steps: from a trace of an earlier run, or by the roofline of a device.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/simulate/cluster.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// The time of an operator with results of certain shapes.
struct NamedTime {
  std::string type, shapes;  // shapes without layouts: "float32[8,3], int64[2]"
  bool is_of_pass = false;   // of the forward or backward pass
  double seconds = 0;
};

// Medians over the training steps of a trace.
struct KernelProfile {
  // Of an operator, with its part of a collective. Several times if its shapes differ by step.
  std::map<std::string, std::vector<NamedTime>> by_name;
  std::map<std::string, double> by_shape;  // of operators of one type with results of one shape
  double between = 0;                      // seconds between two operators of a worker
  double feeds = 0;                        // seconds before the first operator of a step
  int devices = 0;                         // workers of replicas
  int steps = 0;                           // for each of them
};

// Reads a file that `--trace` has written (docs/traces.md). Throws an Error that names the file.
KernelProfile read_profile(const std::string& path);
KernelProfile profile_of(const std::string& text, const std::string& path);

// The number of steps whose time was found in each way.
struct TimeSources {
  int by_name = 0, by_shape = 0, by_roofline = 0;
};

// The result shapes of a step, without layouts.
std::string shapes_of(const Plan& plan, const PlanStep& step);
// The profile's times of operators with the step's name and part; null if there are none.
const std::vector<NamedTime>* times_named(const KernelProfile& profile, const PlanStep& step);

class KernelTimes {
 public:
  // Reads the profile that the cluster names, if any.
  explicit KernelTimes(const Cluster& cluster);
  KernelTimes(Cluster cluster, KernelProfile profile)
      : cluster_(std::move(cluster)), profile_(std::move(profile)) {}

  // The seconds of a step, with the executor's time until the next one. Throws an Error that names
  // the step if neither the profile nor a roofline has a time.
  double of(const Plan& plan, const PlanStep& step);
  // The same, or nothing if the profile has no time: neither of an operator with the step's name
  // and shapes, nor of one with its type, shapes and layouts.
  std::optional<double> measured(const Plan& plan, const PlanStep& step);
  // The seconds before a replica's first step, for a plan with these feeds.
  double feeds(const Plan& plan, int worker) const;
  // The seconds of the executor between two steps.
  double between() const { return profile_.steps > 0 ? profile_.between : cluster_.launch; }

  const TimeSources& sources() const { return sources_; }
  const KernelProfile& profile() const { return profile_; }

 private:
  Cluster cluster_;
  KernelProfile profile_;
  TimeSources sources_;
};

}  // namespace lockstep
