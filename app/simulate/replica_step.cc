// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/replica_step.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>

#include "app/inspect/figures.h"
#include "app/inspect/requests.h"
#include "graph/auxiliaries.h"
#include "graph/placement.h"
#include "lockstep/operators.h"
#include "runtime/plan/makers.h"
#include "runtime/plan/step_phases.h"

namespace lockstep {
namespace {

// Finds the gradients of replica 0 before they are summed.
class OwnGradients {
 public:
  explicit OwnGradients(const TrainingModel& model)
      : model_(model), graph_(model.step), phases_(phases_of(model)) {}

  // Gradients of buckets, each with its own value; in the order of parameters.
  struct Found {
    GradientSize size;
    Value own;
  };
  std::vector<Found> find(std::vector<std::string>& notes) {
    std::map<std::string, Value> own;
    if (!model_.bucket_plan.empty()) own = of_buckets();
    std::vector<Found> found;
    for (const Replicated& gradient : std::views::reverse(model_.gradients)) {  // the last is first
      const Value reduced = before_update(graph_.at(gradient.values.at(0)));
      Value value = reduced;
      if (is_reduced(reduced)) {
        const auto known = own.find(gradient.name);
        if (known == own.end()) {
          notes.push_back("the sum of " + gradient.name +
                          " is by rows, which the scaling curve leaves out");
          continue;
        }
        value = known->second;
      }
      found.push_back(
          {{gradient.name, element_count(to_dims(graph_.shape(reduced))), graph_.dtype(reduced)},
           value});
    }
    return found;
  }

 private:
  bool is_reduced(Value value) const {
    const auto maker = graph_.producer(value);
    return maker && phases_[maker->index()] == Phase::reduce;
  }

  // The gradient before the update changes its values, as clipping by the norm of all gradients
  // does. `value` itself if no value of its size leads to one.
  Value before_update(Value value) const {
    const auto maker = graph_.producer(value);
    if (!maker || phases_[maker->index()] != Phase::update) return value;
    const int64_t count = element_count(to_dims(graph_.shape(value)));
    for (const Value input : maker->inputs()) {
      if (!input || !is_static(graph_.shape(input))) continue;
      if (element_count(to_dims(graph_.shape(input))) != count) continue;
      const Value found = before_update(input);
      const auto own = graph_.producer(found);
      if (own && phases_[own->index()] != Phase::update) return found;
    }
    return value;
  }

  // Packing keeps the order of the bucket plan, so the values before it have the order of the
  // names.
  std::map<std::string, Value> of_buckets() const {
    std::vector<GradientSize> sizes;
    std::map<std::string, Value> reduced;
    const std::set<std::string> packed = names_in_buckets(model_.bucket_plan);
    for (const Replicated& gradient : model_.gradients) {
      if (!packed.contains(gradient.name)) continue;
      const Value value = before_update(graph_.at(gradient.values.at(0)));
      reduced[gradient.name] = value;
      sizes.push_back(
          {gradient.name, element_count(to_dims(graph_.shape(value))), graph_.dtype(value)});
    }
    std::map<std::string, Value> own;
    for (const Bucket& bucket : parse_buckets(model_.bucket_plan, sizes, "the step's buckets")) {
      const std::vector<Value> leaves = leaves_of(reduced.at(sizes[bucket[0]].name));
      for (std::size_t i = 0; i < bucket.size() && !leaves.empty(); ++i)
        own[sizes[bucket[i]].name] = leaves[std::min(i, leaves.size() - 1)];
    }
    return own;
  }

  // The values of replica 0 that the steps of a sum begin with, in the order of operands.
  std::vector<Value> leaves_of(Value reduced) const {
    std::vector<Value> leaves, open{reduced};
    std::set<int> seen{reduced.id};
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      const auto maker = graph_.producer(value);
      if (!maker || phases_[maker->index()] != Phase::reduce) {
        if (maker && maker->replica() <= 0) leaves.push_back(value);
        continue;
      }
      const auto inputs = maker->inputs();
      for (std::size_t i = inputs.size(); i-- > 0;)
        if (inputs[i] && seen.insert(inputs[i].id).second) open.push_back(inputs[i]);
    }
    return leaves;
  }

  const TrainingModel& model_;
  const Graph& graph_;
  const std::vector<Phase> phases_;
};

class StepReader {
 public:
  StepReader(const SourcedModel& source, const Plan& plan, KernelTimes& times)
      : source_(source), model_(source.model), plan_(plan), times_(times) {}

  ReplicaStep read() {
    const std::vector<Phase> phases = phases_of(plan_, model_);
    const std::vector<std::vector<int>> makers = makers_of_steps(plan_);
    std::vector<int> kernel_of(plan_.steps.size(), -1);
    for (const int number : plan_.workers[0].steps) {
      if (phases[number] == Phase::reduce) continue;
      kernel_of[number] = static_cast<int>(step_.kernels.size());
      step_.kernels.push_back({times_.of(plan_, plan_.steps[number]), phases[number]});
    }
    find_gradients(kernel_of);
    find_waits(phases, makers, kernel_of);
    const DeviceInfo& device = plan_.workers[0].device.info();
    step_.has_queues = device.has_queues;
    step_.feeds = times_.feeds(plan_, 0);
    step_.between = times_.between();
    step_.examples = static_cast<double>(rows_of_replica(source_, 0));
    step_.memory = planned_memory(plan_, 0);
    step_.bucket_plan = model_.bucket_plan;
    const ReplicaFigures figures = figures_of(source_).replicas.at(0);
    step_.micro_batches = static_cast<int>(source_.shares.parts);
    step_.activations = figures.activation_bytes / step_.micro_batches;
    step_.reduced_bytes = figures.reduced_bytes;
    step_.messages = figures.messages;
    return std::move(step_);
  }

 private:
  // A value may have no slot, because it is fused or a view: its operands then lead to the kernel.
  int kernel_making(Value value, const std::unordered_map<std::string, int>& by_name) const {
    const Graph& graph = model_.step;
    for (int tries = 0; value && tries < 100; ++tries) {
      if (const auto found = by_name.find(graph.name(value)); found != by_name.end())
        return found->second;
      const auto maker = graph.producer(value);
      if (!maker || maker->inputs().empty()) return -1;
      value = maker->inputs()[0];
    }
    return -1;
  }

  void find_gradients(const std::vector<int>& kernel_of) {
    std::unordered_map<std::string, int> by_name;  // of results
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      for (const int slot : plan_.steps[i].out)
        if (slot >= 0 && kernel_of[i] >= 0) by_name[plan_.slots[slot].name] = kernel_of[i];
    for (const OwnGradients::Found& found : OwnGradients(model_).find(step_.notes))
      step_.gradients.push_back({found.size, kernel_making(found.own, by_name)});
  }

  // Follows the gradients through the steps of sums to the kernels that read the sums. Without sums
  // the kernels of the update read the gradients themselves.
  void find_waits(const std::vector<Phase>& phases, const std::vector<std::vector<int>>& makers,
                  const std::vector<int>& kernel_of) {
    std::vector<std::set<int>> made(step_.kernels.size());
    for (std::size_t g = 0; g < step_.gradients.size(); ++g)
      if (const int kernel = step_.gradients[g].made_by; kernel >= 0)
        made[kernel].insert(static_cast<int>(g));
    std::vector<std::set<int>> carries(plan_.steps.size());  // by step of a sum
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const bool sums = phases[i] == Phase::reduce;
      if (!sums && kernel_of[i] < 0) continue;
      std::set<int> all;
      for (const int maker : makers[i]) {
        const int kernel = kernel_of[maker];
        const bool is_read = sums || (kernel >= 0 && phases[i] == Phase::update);
        if (phases[maker] == Phase::reduce)
          all.insert(carries[maker].begin(), carries[maker].end());
        else if (kernel >= 0 && is_read)
          all.insert(made[kernel].begin(), made[kernel].end());
        if (kernel >= 0 && !sums && phases[maker] == Phase::update)  // also waits, by its operand
          all.insert(step_.kernels[kernel].awaits.begin(), step_.kernels[kernel].awaits.end());
      }
      if (sums)
        carries[i] = std::move(all);
      else
        step_.kernels[kernel_of[i]].awaits.assign(all.begin(), all.end());
    }
  }

  const SourcedModel& source_;
  const TrainingModel& model_;
  const Plan& plan_;
  KernelTimes& times_;
  ReplicaStep step_;
};

}  // namespace

double ReplicaStep::seconds_of(Phase phase) const {
  double seconds = 0;
  for (const ReplicaKernel& kernel : kernels)
    if (kernel.phase == phase) seconds += kernel.seconds;
  return seconds;
}

double ReplicaStep::seconds() const {
  double all = feeds;
  for (const ReplicaKernel& kernel : kernels) all += kernel.seconds;
  return all;
}

std::vector<GradientSize> ReplicaStep::sizes() const {
  std::vector<GradientSize> all;
  for (const ReplicaGradient& gradient : gradients) all.push_back(gradient.size);
  return all;
}

double ReplicaStep::gradient_bytes() const {
  double bytes = 0;
  for (const ReplicaGradient& gradient : gradients)
    bytes += static_cast<double>(gradient.size.bytes());
  return bytes;
}

Plan plan_of_step(const SourcedModel& source) {
  CompileRequest request =
      plan_request(source, /*inference=*/false, devices_of(source, false), all_kernels());
  request.limits_memory = false;
  return compile(request);
}

ReplicaStep replica_step(const SourcedModel& source, const Plan& plan, KernelTimes& times) {
  check(source.model.step.node_count() > 0,
        "the model has no training step to simulate; build one (lockstep build), or name a loss");
  check(auxiliaries_of(source.model) == 0, "a step with auxiliary devices (", Key{"AUX_DEVICES"},
        ") cannot be simulated; build the step without them");
  return StepReader(source, plan, times).read();
}

}  // namespace lockstep
