// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/simulation.h"

#include <algorithm>

#include "app/config/files.h"
#include "app/config/read.h"
#include "app/inspect/requests.h"
#include "app/simulate/planned_step.h"
#include "app/simulate/profile_check.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// Keys whose values a simulation of other numbers of devices needs: a built step shows only their
// effect.
constexpr const char* kRingOrder = "RING_ORDER";  // a list
constexpr const char* kChoiceKeys[] = {"ALL_REDUCE", "PACKING", "WIRE", kRingOrder};

// The options that a step's file names.
void read_stored(const TrainingModel& model, const std::string& file, AllReduceOptions& options) {
  prefixing(phrase(printable(file), ": the stored options of its sums: "), [&] {
    if (!model.all_reduce.empty()) options.spec = parse_all_reduce(model.all_reduce);
    if (!model.wire.empty()) options.wire = parse_wire(model.wire);
  });
}

bool names_no_algorithm(const ModelRequest& request, const TrainingModel& model) {
  return is_onnx(request.source) && model.replicas > 1 && model.all_reduce.empty();
}

}  // namespace

ReduceChoice choice_of(const ModelRequest& request, const TrainingModel& model, int processes) {
  StepSettings settings;
  ConfigKeys keys = keys_of(settings);
  if (is_yaml(request.source)) {
    const ConfigFiles files = config_files(request.source);
    for (const char* key : kChoiceKeys)
      if (const auto said = said_of(key, files, {})) read_words(keys, {key, said->text});
    for (const ConfigFile& file : files)
      if (const auto said = list_in_yaml(kRingOrder, file.text, file.path))
        read_words(keys, {kRingOrder, said->text});
  }
  for (std::size_t i = 0; i + 1 < request.settings.size(); i += 2) {
    const ConfigKey* key = find_key(keys, request.settings[i]);
    const auto is_choice = [&](const std::string& name) { return key && key->key == name; };
    if (std::ranges::any_of(kChoiceKeys, is_choice))
      read_words(keys, {request.settings[i], request.settings[i + 1]});
  }
  if (is_onnx(request.source)) read_stored(model, request.source, settings.options.all_reduce);
  const Packing ready{PackingRule::ready, int64_t{25} << 20U, 0, int64_t{1} << 20U};
  ReduceChoice choice;
  choice.spec = settings.options.all_reduce.spec;
  choice.wire = settings.options.all_reduce.wire;
  choice.ring_order = settings.options.all_reduce.ring_order;
  choice.packing = settings.packing.value_or(processes > 1 ? ready : Packing{});
  if (!settings.packing) choice.buckets = model.bucket_plan;
  return choice;
}

Simulation simulate(const SimulationRequest& request) {
  Simulation made;
  made.source = request.model.source;
  made.cluster = read_cluster(request.cluster);
  KernelTimes times(made.cluster);
  made.profiled_devices = times.profile().devices;
  const SourcedModel source = model_from(request.model);
  ReduceChoice own = choice_of(request.model, source.model, made.cluster.all_processes());
  own.micro_batches = static_cast<int>(source.shares.parts);
  made.choice = fitted(own, made.cluster);
  made.has_ring_order = !own.ring_order.empty();
  made.replicas = source.model.replicas;
  made.device = devices_of(source, false).at(0).info().text;
  {
    const Plan plan = plan_of_step(source);
    std::vector<std::string> notes;
    if (times.profile().steps > 0)
      notes = check_profile(times.profile(), plan, source.model, made.cluster.profile);
    made.replica = replica_step(source, plan, times);
    made.replica.notes.insert(made.replica.notes.end(), notes.begin(), notes.end());
    made.sources = times.sources();
  }
  if (names_no_algorithm(request.model, source.model))
    made.replica.notes.push_back(
        "the file does not say how its gradients are summed, as files of earlier versions do not; "
        "other numbers of devices take '" +
        text_of(made.choice.spec) + "'. Build the step again");
  if (made.cluster.all_devices() > 1 && made.choice.spec != own.spec)
    made.replica.notes.push_back(join("the step sums with '", text_of(own.spec), "', but ",
                                      made.cluster.all_devices(), " devices admit only '",
                                      text_of(made.choice.spec), "', which the law takes"));
  made.why_not_planned = why_not_planned(source, made.cluster);
  if (made.why_not_planned.empty())
    made.planned = simulate_plans(PlannedProcesses(source, made.cluster), made.cluster, times);

  const Cluster one = resized(made.cluster, 1);
  made.alone = StepSimulator(made.replica, one).alike(made.choice);
  StepSimulator simulator(made.replica, made.cluster);
  made.alike = simulator.alike(made.choice);
  if (request.each) made.each = simulator.each(made.choice);
  const bool sums = !made.replica.gradients.empty();
  if (request.searches && made.cluster.all_devices() > 1 && sums)
    made.found = search_choices(made.replica, made.cluster);
  for (const int size : sizes_of_curve(made.cluster, sums ? request.most : 0)) {
    ScalingPoint point{resized(made.cluster, size), {}, {}};
    StepSimulator there(made.replica, point.cluster);
    point.step = there.alike(fitted(own, point.cluster));
    if (made.found) {
      ReduceChoice best = made.found->best.choice;
      for (AllReduceRange& range : best.spec.ranges)  // as many shards as here, in proportion
        range.shards = std::max<int64_t>(1, range.shards * size / made.cluster.all_devices());
      point.best = there.alike(fitted(best, point.cluster));
    }
    made.curve.push_back(std::move(point));
  }
  return made;
}

}  // namespace lockstep
