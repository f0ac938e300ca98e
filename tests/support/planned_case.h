// SPDX-License-Identifier: Apache-2.0
// Small models with the plans that `lockstep plan` makes of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/inspect/requests.h"
#include "lockstep/operators.h"
#include "tests/support/networks.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {

struct PlannedCase {
  PlannedCase(std::string its_name, TrainingModel model, bool gpus = false, int parts = 1,
              int64_t rows = 6)
      : name(std::move(its_name)),
        on_gpus(gpus),
        source{LoadedModel{std::move(model)}, RunSettings{.devices = {}, .threads = 1}, {}} {
    const int replicas = source.model.replicas;
    source.shares = {.batch = rows * replicas * parts, .replicas = replicas, .parts = parts};
  }

  const TrainingModel& model() const { return source.model; }

  std::string name;
  bool on_gpus;
  SourcedModel source;
};

// The plan as `lockstep plan` makes it.
inline Plan planned_for_page(const PlannedCase& each, PlannedMemory* memory = nullptr) {
  const std::vector<KernelTable>& kernels = each.on_gpus ? queued_kernels() : all_kernels();
  const int replicas = each.model().replicas;
  const CompileRequest request = plan_request(
      each.source, false, each.on_gpus ? gpu_devices(replicas) : cpu_devices(replicas), kernels);
  Plan plan = compile(request);
  if (memory) *memory = memory_with_loader(each.source, request, plan);
  return plan;
}

}  // namespace lockstep::testing
