// SPDX-License-Identifier: Apache-2.0
#include "app/pages/graph_facts.h"

#include "app/inspect/units.h"
#include "graph/printable.h"

namespace lockstep {

GraphFacts graph_facts(const TrainingModel& model, const ModelFigures& figures,
                       const LookedAt& planned) {
  const ReplicaFigures& replica = figures.replicas.at(0);
  GraphFacts facts;
  const auto add = [&](std::string_view name, const std::string& fact) {
    facts.rows.emplace_back(name, fact);
  };
  add("parameters", in_units(replica.parameters) + ", " + bytes_text(replica.parameter_bytes));
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::reduce, Phase::update})
    if (const double flops = replica.of(phase).all(); flops > 0)
      add(name_of(phase), flop_text(flops));
  add("examples", std::to_string(replica.examples));
  add("states", bytes_text(replica.state_bytes));
  if (model.step.node_count() > 0) {
    add("activations", bytes_text(replica.activation_bytes));
    add("reduced", bytes_text(replica.reduced_bytes) + " in " +
                       count_of(replica.messages, "message", "messages"));
  }
  if (planned.plan && !planned.plan->workers.empty())
    add("peak memory", text_of_bytes(planned_memory(*planned.plan, 0).all()));
  if (model.replicas > 1)
    facts.notes.push_back(join("Figures of replica 0 of ", model.replicas, "."));
  if (!figures.why_open.empty())
    facts.notes.push_back("Shapes are unknown: " + printable(shortened(figures.why_open, 400)));
  return facts;
}

}  // namespace lockstep
