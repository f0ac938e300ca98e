// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data_parallel.h"

#include <optional>

#include "builders/all_reduce/all_reduce.h"
#include "builders/all_reduce/expand.h"
#include "builders/resident/inputs.h"
#include "builders/step/clip.h"
#include "builders/step/embeddings.h"
#include "builders/step/forward.h"
#include "builders/step/initial_states.h"
#include "builders/step/linear_layers.h"
#include "builders/step/loss_scale.h"
#include "builders/step/non_finite.h"
#include "builders/step/one_replica.h"
#include "builders/step/precision.h"
#include "builders/step/prediction.h"
#include "builders/step/report.h"
#include "builders/step/resident_inputs.h"
#include "builders/step/sequential_statistics.h"
#include "builders/step/shared_counts.h"
#include "builders/step/sync_batch_norm.h"
#include "builders/step/updates.h"
#include "builders/step/whole_loss.h"
#include "graph/auxiliaries.h"
#include "graph/average.h"
#include "graph/passes/replicate.h"
#include "graph/passes/schedule.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

constexpr const char* kLossWeight = "loss_weight";

bool means(const DataParallelOptions& options) {
  return options.all_reduce.spec.reduction == Reduction::mean;
}
bool scales_loss(const DataParallelOptions& options) {
  return info_of(options.precision).wants_scaled_loss && !options.forward_only;
}

// Scales each loss by 1/N, so that the sum over replicas is the gradient of the mean loss. With
// `mean:` the all-reduce itself divides by N.
void scale_losses(OneReplica& one, const DataParallelOptions& options) {
  OneReplica::Part& part = one.parts[0];
  const int shares = (means(options) ? 1 : options.replicas) * options.micro_batches;
  if (options.weighted)
    part.weight =
        step_input(one.graph, kLossWeight, {DType::float32, {}}, "the weight of its losses");
  share_counts(one, {options.replicas, options.micro_batches, means(options)});
  for (std::size_t i = 0; i < part.losses.size(); ++i) {
    if (one.counts[i]) continue;
    Value& loss = part.losses[i];
    const Site site(one.loss_names[i] + "_scaled");
    if (part.weight)
      loss = mul(one.graph, loss, part.weight, site);
    else if (shares != 1)
      loss = scale(one.graph, loss, 1.0F / static_cast<float>(shares), site);
  }
}

// The replica's share of the loss, as a factor of its gradients.
Value share_of(OneReplica& one, const DataParallelOptions& options) {
  if (!options.weighted)
    return one.graph.constant("share",
                              Literal::scalar(1.0F / static_cast<float>(options.replicas)));
  std::vector<Value> weights;
  for (const OneReplica::Part& part : one.parts) weights.push_back(part.weight);
  if (weights.size() == 1) return weights[0];
  return one.graph.add_value({.type = "Sum", .inputs = weights}, "share");
}

void clip(OneReplica& one, const DataParallelOptions& options) {
  if (!options.clip.active()) return;
  const bool before = options.clip.before_reduce;
  const Value share = before && !means(options) ? share_of(one, options) : none;
  one.gradients = clip_gradients(one.graph, options.clip, one.gradients, share,
                                 before && options.skip_non_finite);
}

// The index of the first non-finite gradient, as in TrainingModel::gradients.
Value first_bad_gradient(OneReplica& one, const char* which) {
  return find_non_finite(one.graph, one.present_gradients(), join("non_finite_", which));
}

std::string reduce(OneReplica& one, const DataParallelOptions& options) {
  AllReducer reducer(options.all_reduce, options.replicas);
  std::vector<Value> gradients;
  std::vector<std::string> names;
  one.for_each_gradient([&](const Net::Param& param, Value& gradient) {
    gradients.push_back(gradient);
    names.push_back(param.name);
  });
  const std::vector<Value> sums = reducer.sum_all(one.graph, gradients, names);
  std::size_t next = 0;
  one.for_each_gradient([&](const Net::Param&, Value& gradient) { gradient = sums[next++]; });
  return reducer.bucket_plan();
}

Replicated named(const std::string& name, const Graph& graph, Value value) {
  return {name, {graph.name(value)}};
}

// Lists the step's inputs, losses, metrics, checks and gradients in the model.
void list_values(TrainingModel& model, const OneReplica& one, const StepReport& report,
                 const Flags& flags, const Optimizer& optimizer) {
  const Graph& graph = one.graph;
  const auto list_input = [&](Value input, Role role, int part) {
    model.inputs.push_back({named(graph.name(input), graph, input), role, part});
  };
  for (std::size_t part = 0; part < one.parts.size(); ++part) {
    const int number = static_cast<int>(part);
    for (const Net::Named& input : one.parts[part].inputs)
      list_input(input.value, Role::data, number);
    if (one.parts[part].weight) list_input(one.parts[part].weight, Role::weight, number);
  }
  for (const OptimizerFeed& feed : optimizer.feeds) list_input(graph.at(feed.name), feed.role, 0);
  for (std::size_t i = 0; i < report.losses.size(); ++i)
    model.losses.push_back(named(one.loss_names[i], graph, report.losses[i]));
  for (std::size_t i = 0; i < report.metrics.size(); ++i)
    model.metrics.push_back(named(one.metric_names[i], graph, report.metrics[i]));
  if (flags.skipped) {
    model.checks.push_back(named("skipped", graph, flags.skipped));
    model.checks.push_back(named("non_finite", graph, flags.origin));
  }
  for (std::size_t p = one.params.size(); p-- > 0;)
    if (one.gradients[p])
      model.gradients.push_back(named(one.params[p].name, graph, one.gradients[p]));
}

// Declares the network's outputs for each part of the share.
void declare_network_outputs(OneReplica& one) {
  for (std::size_t part = 0; part < one.parts.size(); ++part)
    for (std::size_t i = 0; i < one.output_names.size(); ++i)
      one.graph.output(named_output(
          one.graph,
          {name_in_part(static_cast<int>(part), one.output_names[i]), one.parts[part].outputs[i]}));
}

void declare_outputs(TrainingModel& model) {
  for (const auto* items : {&model.losses, &model.metrics, &model.checks})
    for (const Replicated& item : *items) model.step.output(model.step.at(item.values[0]));
  for (const Binding& update : model.updates) model.step.output(model.step.at(update.value));
}

void initialise_states(TrainingModel& model, const OneReplica& one, const Optimizer& optimizer,
                       const DataParallelOptions& options) {
  std::vector<BesideState> of_trained;
  for (const OptimizerSlot& slot : optimizer.slots)
    of_trained.push_back(
        {slot.name, slot.differs_by_replica ? StateKind::own_slot : StateKind::slot, slot.first});
  if (options.deferred)
    of_trained.push_back({std::string(name_of(StateKind::deferred)), StateKind::deferred});
  if (options.average.active()) of_trained.push_back({kAverage, StateKind::average, 0, true});
  for (std::size_t p = 0; p < one.params.size(); ++p) {
    const Net::Param& param = one.params[p];
    State state{{param.name, {param.name}}, param.kind};
    add_state(model,
              {std::move(state), param.dims, param.initializer, static_cast<int>(p), param.origin},
              one.gradients[p] ? of_trained : std::vector<BesideState>{}, options.replicas);
  }
  if (optimizer.counts)
    add_state(model, {State{{kUpdatesMade, {kUpdatesMade}}, StateKind::slot}, {}, constant(0)}, {},
              options.replicas);
  if (scales_loss(options)) add_loss_scale_states(model, options.loss_scaling, options.replicas);
  for (const std::string& name : one.held)
    model.states.push_back({{name, {name}}, StateKind::resident});
  if (options.resident.any()) write_resident(options.resident, model);
}

}  // namespace

TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const Optimizer& trained_by,
                                        const DataParallelOptions& given, const Where& where) {
  DataParallelOptions options = given;
  check_options(options);
  const Optimizer optimizer = options.forward_only ? no_updates() : trained_by;
  const int n = options.replicas;
  const bool skips = options.skip_non_finite = options.skip_non_finite || scales_loss(options);

  // Forward and backward pass.
  OneReplica one = trace(ops, model, options.forward_only);
  if (options.forward_only) compute_as_predicting(one);
  make_linear_layers_products(one);
  if (options.resident.any()) hold_resident_inputs(one, options.resident);
  std::optional<WholeLoss> whole;
  if (options.whole_loss) whole.emplace(one);
  if (options.synchronised_batch_norm && n > 1) synchronise_batch_norm(one);
  one.graph.inherit_origins(where.text());  // later nodes inherit the model function's lines
  scale_losses(one, options);
  std::optional<LossScale> scale;
  Differentiation how{{}, options.frozen, options.allow_untrained, options.forward_only};
  if (scales_loss(options)) {
    scale = add_loss_scale(one.graph);
    for (Value loss : one.parts[0].losses) how.seeds.push_back(seed_of(one.graph, *scale, loss));
  }
  differentiate(one, how);
  repeat(one, options.micro_batches);
  declare_network_outputs(one);
  const EmbeddingSums embeddings(one, options);
  StepReport report = report_of(one, means(options) ? 1.0F / static_cast<float>(n) : 1);
  if (whole) {
    report.metrics.push_back(whole->add_to(one, n));
    one.metric_names.emplace_back(kWholeLoss);
  }

  // Gradients before the sum.
  const int first_appended = one.graph.node_count();
  Flags flags;
  TrainingModel step(ops);
  step.init.inherit_origins(where.text());
  const auto also = [&](const std::vector<Binding>& more) {
    step.updates.insert(step.updates.end(), more.begin(), more.end());
  };
  if (scale)
    one.for_each_gradient([&](const Net::Param&, Value& g) { g = unscaled(one.graph, *scale, g); });
  if (options.deferred) {
    if (skips) flags.unsound = first_bad_gradient(one, "unsound");
    if (options.clip.before_reduce) clip(one, options);  // scaled by this step's share
    also(defer(one));
  }
  if (skips) flags.origin = first_bad_gradient(one, "origin");
  if (options.clip.before_reduce && !options.deferred) clip(one, options);
  if (!options.forward_only) {
    step.bucket_plan = reduce(one, options);
    step.all_reduce = text_of(options.all_reduce.spec);
    step.wire = text_of_wire(options.all_reduce.wire);
  }
  embeddings.add_to(one, options);
  step.metadata = embeddings.choices();

  // Updates.
  const int first_after_reduce = one.graph.node_count();
  if (skips) flags.skipped = first_bad_gradient(one, "skipped");
  if (!options.clip.before_reduce) clip(one, options);
  also(update_statistics(
      one, {options.statistics, n, options.deferred, options.synchronised_batch_norm}, flags));
  also(update_parameters(one, optimizer, options.rules, flags));
  if (options.average.active())
    also(update_averages(one, options.average.decay, step.updates, flags));
  if (scale) also(update_loss_scale(one.graph, *scale, flags.skipped, options.loss_scaling));
  list_values(step, one, report, flags, optimizer);
  initialise_states(step, one, optimizer, options);
  // Updates by deferred gradients are scheduled after all computation. Otherwise they would run
  // first and delay the computation, because their operands exist from the start.
  schedule(one.graph, first_appended,
           options.deferred ? first_after_reduce : one.graph.node_count());
  step.step = std::move(one.graph);
  declare_outputs(step);
  trace_inference(step, model);
  if (options.average.active() && options.average.predicts) predict_by_averages(step);
  if (options.precision != DType::float32) lower_precision(step, options.precision);

  TrainingModel all = replicate(step, n, options.scope);
  all.step = expand_joined_rows(expand_in_turn(std::move(all.step)));
  all.step = expand(std::move(all.step), options.all_reduce);
  set_auxiliaries(all, options.all_reduce.auxiliaries * options.all_reduce.processes);
  return all;
}

}  // namespace lockstep
