// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "app/simulate/simulation.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson json_of_step(const SimulatedStep& step) {
  OrderedJson phases;
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    phases[std::string(name_of(static_cast<Phase>(phase)))] = step.phases[phase];
  return {{"seconds", step.seconds},    {"phases", phases},    {"feeds", step.feeds},
          {"exposed", step.exposed},    {"bytes", step.bytes}, {"messages", step.messages},
          {"memory_bytes", step.memory}};
}

OrderedJson json_or_null(const std::optional<SimulatedStep>& step) {
  return step ? json_of_step(*step) : OrderedJson(nullptr);
}

OrderedJson json_of_choice(const ReduceChoice& choice) {
  return {{"all_reduce", text_of(choice.spec)},
          {"packing", choice.buckets.empty() ? text_of(choice.packing) : "buckets"},
          {"wire", text_of_wire(choice.wire)},
          {"micro_batches", choice.micro_batches}};
}

OrderedJson json_of_scored(const ScoredChoice& one) {
  return {{"choice", json_of_choice(one.choice)}, {"step", json_of_step(one.step)}};
}

OrderedJson json_of_cluster(const Cluster& cluster) {
  OrderedJson links;
  for (std::size_t kind = 0; kind < kLinkKinds; ++kind) {
    const ClusterLink& link = cluster.links[kind];
    links[std::string(name_of(static_cast<LinkKind>(kind)))] = {{"latency", link.speed.latency},
                                                                {"bandwidth", link.speed.bandwidth},
                                                                {"shared", link.shared}};
  }
  return {{"file", cluster.name},           {"hosts", cluster.hosts},
          {"devices", cluster.devices},     {"processes", cluster.processes},
          {"flops", cluster.flops},         {"bandwidth", cluster.bandwidth},
          {"memory_bytes", cluster.memory}, {"launch", cluster.launch},
          {"profile", cluster.profile},     {"links", links}};
}

}  // namespace

void write_json(std::ostream& out, const Simulation& made) {
  OrderedJson curve = OrderedJson::array(), by_spec = OrderedJson::array();
  for (const ScalingPoint& point : made.curve)
    curve.push_back({{"devices", point.cluster.all_devices()},
                     {"hosts", point.cluster.hosts},
                     {"step", json_of_step(point.step)},
                     {"best", json_or_null(point.best)}});
  OrderedJson best = nullptr;
  if (made.found) {
    for (const ScoredChoice& one : made.found->by_spec) by_spec.push_back(json_of_scored(one));
    best = {{"tried", made.found->tried},
            {"fits", made.found->fits},
            {"found", json_of_scored(made.found->best)},
            {"without_wire", json_of_scored(made.found->exact)},
            {"by_algorithm", by_spec}};
  }
  const OrderedJson document{{"schema", kSimulationSchema},
                             {"source", made.source},
                             {"cluster", json_of_cluster(made.cluster)},
                             {"choice", json_of_choice(made.choice)},
                             {"examples", made.examples()},
                             {"step", json_of_step(made.step())},
                             {"planned", json_or_null(made.planned)},
                             {"why_not_planned", made.why_not_planned},
                             {"alike", json_of_step(made.alike)},
                             {"each", json_or_null(made.each)},
                             {"alone", json_of_step(made.alone)},
                             {"kernel_times",
                              {{"by_name", made.sources.by_name},
                               {"by_shape", made.sources.by_shape},
                               {"by_roofline", made.sources.by_roofline},
                               {"profiled_devices", made.profiled_devices}}},
                             {"curve", curve},
                             {"best", best},
                             {"notes", made.replica.notes}};
  out << document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

}  // namespace lockstep
