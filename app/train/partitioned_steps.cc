// SPDX-License-Identifier: Apache-2.0
#include "app/train/partitioned_steps.h"

#include <algorithm>

#include "app/train/config_agreement.h"
#include "graph/print.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"

namespace lockstep {

std::vector<TrainingModel> own_steps(Learning& task, Comm* comm,
                                     const std::function<void()>& before_data) {
  // Checks the keys before the data is read: the data changes keys, and different data would be
  // reported as a different key.
  if (comm) {
    task.share_inferred(*comm);
    check_agreement(*comm, to_be_agreed_on(task.keys()));
  }
  before_data();
  task.prepare();
  if (!comm) return task.steps(1);
  check_agreement(*comm, task.also_alike());
  std::vector<TrainingModel> own;
  for (const TrainingModel& whole : task.steps(comm->size())) {
    const std::string step = text_of(whole);
    check_agreement(*comm, {{"the bucket plan", whole.bucket_plan},
                            {"the step graph", digest(step.data(), step.size())}});
    own.push_back(partition(whole, {comm->rank(), comm->size()}));
  }
  return own;
}

BatchShares shares_of(const Learning& task, int64_t replicas) {
  return {task.images_of_step(), replicas, task.settings().step.options.micro_batches};
}

Rows rows_of_process(const Learning& task, const TrainingModel& own) {
  const BatchShares shares = shares_of(task, std::max(own.whole_replicas, own.replicas));
  const int64_t first = shares.rows(own.first_replica, 0).first;
  const Rows last = shares.rows(own.first_replica + own.replicas - 1, shares.parts - 1);
  return {first, last.first + last.count - first};
}

}  // namespace lockstep
