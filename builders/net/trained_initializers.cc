// SPDX-License-Identifier: Apache-2.0
#include "builders/net/trained_initializers.h"

#include <algorithm>
#include <map>

#include "builders/net/imported.h"
#include "builders/net/imported_batch_norms.h"
#include "builders/net/initializer_rules.h"
#include "builders/net/patterns.h"
#include "graph/gradient.h"
#include "graph/printable.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr const char* kFreeze = "frozen parameters (MODEL.FREEZE, --freeze)";
constexpr const char* kTrain = "trained parameters (MODEL.TRAIN, --train)";

// Decides about one initializer after the other.
class Rules {
 public:
  Rules(const LoadedModel& file, const TrainingPatterns& patterns)
      : file_(file),
        graph_(file.model.inference),
        patterns_(patterns),
        class_weights_(class_weights_of_losses(graph_)),
        normalisers_(normalisers_of_inputs(graph_)) {
    for (const ImportedBatchNorm& norm : batch_norms_of(file)) {
      const bool moves = norm.training || is_named(norm, patterns.batch_norms);
      for (const std::string& name : {norm.mean, norm.variance}) {
        bool& moving = moving_[name];
        moving = moving || moves;
      }
    }
  }

  InitializerChoice choice_of(const std::string& name) const {
    const Value value = graph_.find(name);
    if (!value) return {name, InitializerReason::folded};
    if (graph_.dtype(value) != DType::float32 || !graph_.literal(value))
      return {name, InitializerReason::other_type};
    if (class_weights_.contains(name)) return {name, InitializerReason::class_weights};
    if (const auto found = moving_.find(name); found != moving_.end())
      return {name,
              found->second ? InitializerReason::moving_statistic : InitializerReason::statistic};
    if (matches_any(name, patterns_.trained)) return {name, InitializerReason::asked};
    if (matches_any(name, patterns_.frozen)) return {name, InitializerReason::frozen};
    if (const auto kind = file_.kinds.find(name); kind != file_.kinds.end())
      return {name, why_of(kind->second)};
    return by_rule(name, *graph_.literal(value));
  }

 private:
  static InitializerReason why_of(InitializerKind kind) {
    if (kind == InitializerKind::parameter) return InitializerReason::exported_parameter;
    return kind == InitializerKind::buffer ? InitializerReason::exported_buffer
                                           : InitializerReason::exported_constant;
  }

  InitializerChoice by_rule(const std::string& name, const Literal& literal) const {
    if (!file_.kinds.empty() && literal.dims().empty()) return {name, InitializerReason::code};
    if (normalisers_.certain.contains(name)) return {name, InitializerReason::normaliser};
    if (has_infinity(literal)) return {name, InitializerReason::infinite};
    if (is_mask(literal)) return {name, InitializerReason::mask};
    if (has_name_of_statistic(name)) return {name, InitializerReason::named_statistic};
    if (std::string looks = looks_of(graph_, name); !looks.empty())
      return {name, InitializerReason::unsure, std::move(looks)};
    if (normalisers_.possible.contains(name))
      return {name, InitializerReason::unsure, "the first arithmetic on an input"};
    if (!file_.kinds.empty())
      return {name, InitializerReason::unsure,
              "computed by the exporter from parameters or buffers"};
    return {name, InitializerReason::usual};
  }

  const LoadedModel& file_;
  const Graph& graph_;
  const TrainingPatterns& patterns_;
  std::set<std::string> class_weights_;
  InputNormalisers normalisers_;
  std::map<std::string, bool> moving_;  // running statistics of batch norms, by name
};

// The parameters with a gradient, in a copy of the network in training mode.
std::set<std::string> with_gradient(const LoadedModel& file, const std::string& loss,
                                    const std::set<std::string>& parameters,
                                    const TrainingPatterns& patterns) {
  Graph scratch(file.model.inference.ops(), "trainable");
  Net net(scratch, Mode::train);
  ImportedValues value_named =
      add_imported(net, file, {.trainable = parameters, .train_batch_norm = patterns.batch_norms});
  std::vector<Value> params;
  for (const Net::Param& param : net.params())
    if (param.kind != StateKind::computed) params.push_back(param.value);
  Value target = value_named(loss);
  if (!scratch.shape(target).empty()) target = reduce_sum(scratch, target, {}, false, "total");
  const std::vector<Value> gradients =
      params.empty() ? params : add_gradients(scratch, {{target}}, params).values;
  std::set<std::string> names;
  for (std::size_t i = 0; i < params.size(); ++i)
    if (gradients[i]) names.insert(scratch.name(params[i]));
  return names;
}

void check_asked(const InitializerChoices& choices, const TrainingPatterns& patterns) {
  for (const std::string& pattern : patterns.trained) {
    const InitializerChoice* refused = nullptr;
    bool trains = false;
    for (const InitializerChoice& choice : choices.all) {
      if (!matches_any(choice.name, {pattern})) continue;
      check(choice.why != InitializerReason::class_weights, kTrain, ": '", printable(choice.name),
            "' holds the class weights of a loss, which cannot be trained");
      trains = trains || choice.why == InitializerReason::asked;
      refused = refused ? refused : &choice;
    }
    check(trains, kTrain, ": '", printable(pattern), "' names nothing that can be trained: '",
          printable(refused ? refused->name : pattern),
          "' is constant: ", refused ? refused->reason() : "");
  }
  for (const std::string& pattern : patterns.frozen)
    check(std::any_of(choices.all.begin(), choices.all.end(),
                      [&](const InitializerChoice& choice) {
                        return matches_any(choice.name, {pattern}) &&
                               !matches_any(choice.name, patterns.trained);
                      }),
          kFreeze, ": MODEL.TRAIN (--train) names everything that '", printable(pattern),
          "' matches; remove one of the two");
}

}  // namespace

const ReasonRecord& record_of_reason(InitializerReason why) {
  using enum InitializerRole;
  static const ReasonRecord kRecords[] = {
      {InitializerReason::folded, constant, "only constants depend on it"},
      {InitializerReason::other_type, constant, "not float32"},
      {InitializerReason::class_weights, constant, "class weights of a loss"},
      {InitializerReason::statistic, constant,
       "running statistics of a batch norm that stays fixed"},
      {InitializerReason::moving_statistic, statistic,
       "running statistics, which each step updates"},
      {InitializerReason::asked, parameter, "named by MODEL.TRAIN or --train"},
      {InitializerReason::frozen, constant, "named by MODEL.FREEZE or --freeze"},
      {InitializerReason::exported_parameter, parameter, "a parameter, the exporter says"},
      {InitializerReason::exported_buffer, constant, "a buffer, the exporter says"},
      {InitializerReason::exported_constant, constant, "a constant, the exporter says"},
      {InitializerReason::code, constant, "a number of the code, which the exporter does not list"},
      {InitializerReason::normaliser, constant, "normalises an input"},
      {InitializerReason::infinite, constant, "holds an infinite value"},
      {InitializerReason::mask, constant, "a mask"},
      {InitializerReason::named_statistic, constant, "running statistics by name"},
      {InitializerReason::unsure, parameter, "cannot be decided"},
      {InitializerReason::usual, parameter, "a float32 initializer"},
      {InitializerReason::unused, constant, "the loss does not depend on it"},
  };
  const auto* record = std::find_if(std::begin(kRecords), std::end(kRecords),
                                    [&](const ReasonRecord& each) { return each.why == why; });
  check(record != std::end(kRecords), "internal: a reason without a record");
  return *record;
}

std::string InitializerChoice::reason() const {
  const std::string text = record_of_reason(why).text;
  return looks.empty() ? text : text + ": " + looks;
}

std::set<std::string> InitializerChoices::trained() const {
  std::set<std::string> names;
  for (const InitializerChoice& choice : all)
    if (choice.role() == InitializerRole::parameter) names.insert(choice.name);
  return names;
}

const InitializerChoice* InitializerChoices::find(const std::string& name) const {
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const InitializerChoice& choice) { return choice.name == name; });
  return found == all.end() ? nullptr : &*found;
}

InitializerChoices choose_initializers(const LoadedModel& file, const std::string& loss,
                                       const TrainingPatterns& patterns) {
  check_patterns_used(patterns.frozen, file.initializers, kFreeze);
  check_patterns_used(patterns.trained, file.initializers, kTrain);
  check_names_batch_norms(file, patterns.batch_norms);
  InitializerChoices choices;
  const Rules rules(file, patterns);
  for (const std::string& name : file.initializers) choices.all.push_back(rules.choice_of(name));
  if (!loss.empty()) {
    const std::set<std::string> used = with_gradient(file, loss, choices.trained(), patterns);
    for (InitializerChoice& choice : choices.all)
      if (choice.role() == InitializerRole::parameter && !used.contains(choice.name))
        choice = {choice.name, InitializerReason::unused};
  }
  check_asked(choices, patterns);
  for (const ImportedBatchNorm& norm : batch_norms_of(file))
    choices.fixed_batch_norms += !norm.training && !is_named(norm, patterns.batch_norms);
  return choices;
}

InitializerChoices choose_some_initializers(const LoadedModel& file, const std::string& loss,
                                            const TrainingPatterns& patterns) {
  InitializerChoices choices = choose_initializers(file, loss, patterns);
  if (!choices.trained().empty()) return choices;
  const std::string nothing = join("there is nothing to train: '", loss, "' depends on ");
  TrainingPatterns free = patterns;
  free.frozen.clear();
  const std::size_t all = choose_initializers(file, loss, free).trained().size();
  check(all == 0, nothing, "float32 initializers, but all ", all,
        " are frozen by MODEL.FREEZE or --freeze: free some");
  const Graph& graph = file.model.inference;
  std::map<DType, int> others;
  for (const std::string& name : file.initializers)
    if (const Value value = graph.find(name); value && is_floating(graph.dtype(value)))
      ++others[graph.dtype(value)];
  others.erase(DType::float32);
  for (const InitializerChoice& choice : choices.all)
    check(choice.why == InitializerReason::folded || choice.why == InitializerReason::other_type ||
              choice.why == InitializerReason::unused || !others.empty(),
          nothing, "no float32 initializer that is trained: '", printable(choice.name),
          "' is constant (", choice.reason(),
          "); MODEL.TRAIN or --train names initializers to train nevertheless");
  check(!others.empty(), nothing, "no float32 initializer");
  std::string counts;
  for (const auto& [type, count] : others)
    counts += join(counts.empty() ? "" : ", ", count, " of ", type);
  fail(nothing, "no float32 initializer, but there are others: ", counts,
       "; parameters are trained in float32: export the network in float32 (PyTorch: "
       "model.float()); to compute in 16 bits, set PRECISION");
}

std::set<std::string> trainable_initializers(const LoadedModel& file, const std::string& loss,
                                             const std::vector<std::string>& frozen,
                                             const std::vector<std::string>& trained) {
  return choose_initializers(file, loss, {.frozen = frozen, .trained = trained}).trained();
}

}  // namespace lockstep
