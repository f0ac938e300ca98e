// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "builders/step/partition_graph.h"
#include "graph/auxiliaries.h"
#include "lockstep/data_parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kStepMessages = 0;
constexpr int64_t kInitMessages = int64_t{1} << 32;

class ModelCutter {
 public:
  ModelCutter(const TrainingModel& whole, const ProcessShare& share)
      : whole_(whole),
        shares_(share, whole.replicas, auxiliaries_of(whole)),
        owners_(whole.owners()) {}

  TrainingModel run() {
    check_equal_shares();
    TrainingModel part(whole_.step.ops());
    part.replicas = shares_.count();
    part.first_replica = shares_.first();
    part.whole_replicas = whole_.replicas;
    part.bucket_plan = whole_.bucket_plan;
    part.all_reduce = whole_.all_reduce;
    part.wire = whole_.wire;
    part.metadata = whole_.metadata;
    set_auxiliaries(part, shares_.auxiliaries());
    take(whole_.states, part.states);
    take(whole_.inputs, part.inputs);
    take(whole_.losses, part.losses);
    take(whole_.metrics, part.metrics);
    take(whole_.checks, part.checks);
    take(whole_.gradients, part.gradients);
    part.step = cut_graph(whole_.step, shares_, owners_, kStepMessages);
    part.init = cut_graph(whole_.init, shares_, owners_, kInitMessages);
    take(whole_.updates, part.updates);
    take(whole_.initial, part.initial);
    part.inference = whole_.inference.clone();
    // Prediction reads the states of the first replica, which is now this process's first replica.
    for (const State& state : whole_.states)
      if (Value input = part.inference.find(state.values[0]))
        part.inference.rename(input, state.values[shares_.first()]);
    return part;
  }

 private:
  // Throws for whole_loss with weighted shares: a process receives as many rows from another
  // process as it has.
  void check_equal_shares() const {
    if (shares_.processes() == 1) return;
    const bool weighted =
        std::any_of(whole_.inputs.begin(), whole_.inputs.end(),
                    [](const StepInput& input) { return input.role == Role::weight; });
    for (int index = 0; weighted && index < whole_.step.node_count(); ++index)
      check(!whole_.step.node(index).attributes().has(kShapedLike),
            "whole_loss (TRAIN.WHOLE_LOSS) cannot be computed by several processes if replicas may "
            "have different numbers of rows; choose a TRAIN.BATCH_SIZE that divides equally "
            "among all replicas and their micro-batches, or use one process");
  }
  std::vector<std::string> share_of(const std::vector<std::string>& values) const {
    const auto first = values.begin() + shares_.first();
    return {first, first + shares_.count()};
  }
  template <class Item>
  void take(const std::vector<Item>& from, std::vector<Item>& to) const {
    for (const Item& item : from) {
      to.push_back(item);
      to.back().values = share_of(item.values);
    }
  }
  void take(const std::vector<Binding>& from, std::vector<Binding>& to) const {
    for (const Binding& binding : from)
      if (shares_.process_of(owners_.at(binding.state)) == shares_.rank()) to.push_back(binding);
  }

  const TrainingModel& whole_;
  const Shares shares_;
  const Owners owners_;
};

}  // namespace

TrainingModel partition(const TrainingModel& whole, const ProcessShare& share) {
  return ModelCutter(whole, share).run();
}

}  // namespace lockstep
