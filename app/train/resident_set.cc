// SPDX-License-Identifier: Apache-2.0
#include "app/train/resident_set.h"

#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kResidentKey = "TRAIN.RESIDENT";

// Checks the host's memory for the part of this process: the rows as they are read, and, on CPUs,
// the rows where the steps read them.
void check_resident_memory(const TrainSettings& settings, const ResidentSet& set, int processes) {
  std::size_t bytes = 0;
  for (const NamedDesc& tensor : set.example) bytes += tensor.desc.bytes();
  const std::size_t copies = settings.run.devices.list.at(0).info().in_host_memory ? 2 : 1;
  const int64_t rows = set.minibatches() * set.batch / processes;
  check_memory(copies * bytes * static_cast<std::size_t>(rows),
               join(kResidentKey, " true, for ", rows, " ", set.of, " of ", bytes, " bytes",
                    copies > 1 ? " as they are read and where the steps read them" : "", ","));
}

}  // namespace

ResidentInputs resident_inputs(const TrainSettings& settings, const ResidentSet& set,
                               int processes) {
  if (!settings.resident) return {};
  check(set.minibatches() >= 1, Key{kResidentKey}, " needs ", set.of,
        " for at least one minibatch, but there are ", set.examples, " for ",
        Key{"TRAIN.BATCH_SIZE"}, " ", set.batch);
  check_resident_memory(settings, set, processes);
  const int64_t replicas = settings.replicas() * processes;
  ResidentInputs inputs;
  for (const NamedDesc& tensor : set.example) inputs.rows.push_back(tensor.name);
  inputs.limits = {.minibatch = set.batch / replicas,
                   .capacity = set.minibatches() * (set.batch / replicas)};
  return inputs;
}

ConfigKeys resident_keys(TrainSettings& c) {
  return {{kResidentKey,
           &c.resident,
           "load the training set onto the devices once, before the first step; a step then takes "
           "its minibatch from there; not with changes of examples that differ in each epoch",
           {.decides_bits = true}}};
}

void check_drawn_once(const TrainSettings& settings, const std::vector<DrawnChange>& changes) {
  if (!settings.resident) return;
  for (const DrawnChange& change : changes)
    check(!change.asked, Key{kResidentKey}, " reads each example once, before the first step, but ",
          change.what, " anew in each epoch; ",
          change.way_out.empty() ? "" : change.way_out + ", or ", "leave TRAIN.RESIDENT out");
}

}  // namespace lockstep
