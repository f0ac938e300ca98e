// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/network.h"

#include <algorithm>

#include "app/arrays/fed_names.h"
#include "app/arrays/network_type.h"
#include "app/onnx/initializer_notes.h"
#include "app/onnx/network_file.h"
#include "app/onnx/network_part.h"
#include "builders/net/imported.h"
#include "builders/net/regularisers.h"
#include "graph/initializer_kinds.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"

namespace lockstep {
namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (Value value : values) names.push_back(graph.name(value));
  return names;
}

// Values by name: the network's, and arrays that the network does not take.
class Values {
 public:
  Values(Net& net, const LoadedModel& file, const ImportedOptions& options,
         const std::map<std::string, TensorType>& beside)
      : net_(net),
        graph_(file.model.inference),
        beside_(beside),
        imported_(add_imported(net, file, options)) {}

  Value operator()(const std::string& name) {
    if (graph_.find(name)) return imported_(name);
    Value& input = added_[name];
    if (!input) input = net_.input(name, beside_.at(name), Where{});
    return input;
  }

 private:
  Net& net_;
  const Graph& graph_;
  const std::map<std::string, TensorType>& beside_;  // arrays that the network does not take
  ImportedValues imported_;
  std::map<std::string, Value> added_;
};

MeanLoss loss_of(Graph& graph, const LossTerm& term, Values& values) {
  if (!term.kind) {
    const Value loss = values(term.prediction);
    return {graph.shape(loss).empty() ? loss : reduce_mean(graph, loss, {}, false)};
  }
  const LossOperands operands{values(term.prediction), values(term.target),
                              term.mask.empty() ? none : values(term.mask)};
  return term.kind->build(graph, operands, term.options, Site("", Where{}));
}

// Metrics read floats.
Value as_float(Graph& graph, Value value) {
  return graph.dtype(value) == DType::float32 ? value : cast(graph, value, DType::float32);
}

// Scores instead of the probabilities that an activation makes of them, if the metric reads scores
// or compares a single channel with 0.
Value metric_input(const Graph& graph, Value output, const Metric& metric) {
  if (metric.kind->of_scores) return scores_behind(graph, output);
  if (metric.kind->of_classes && !metric.options.above) return logits_behind(graph, output);
  return output;
}

void train(Net& net, const std::vector<LossTerm>& terms, Values& values) {
  for (const LossTerm& term : terms) {
    MeanLoss loss = loss_of(net.graph, term, values);
    if (term.weight != 1)
      loss.mean = scale(net.graph, loss.mean, static_cast<float>(term.weight), Site("", Where{}));
    if (loss.count)
      net.loss(term.name, loss.mean, loss.count);
    else
      net.loss(term.name, loss.mean);
  }
}

}  // namespace

// The network, cut for each use.
struct ArraysNetwork::Parts {
  std::shared_ptr<const LoadedModel> training, test, prediction;
  ImportedOptions options;
  std::map<std::string, TensorType> beside;  // the types of arrays by name
};

ArraysNetwork::ArraysNetwork(const ArraysConfig& config)
    : config_(config), terms_(config.loss_terms()), metrics_(config.test_metrics()) {
  file_ = std::make_shared<const LoadedModel>(network_type(config).load(config));
  const Graph& graph = file_->model.inference;
  const auto check_known = [&](const std::string& key, const std::string& name) {
    if (graph.find(name)) return;
    const std::string near = nearest(name, names_of(graph, graph.outputs()));
    fail(Key{key}, ": ", network_type(config).title(config), " has no value '", name, "'; ",
         near.empty() ? "its outputs: " + first_listed(names_of(graph, graph.outputs()), 20)
                      : "did you mean " + near + "?");
  };
  for (const LossTerm& term : terms_) check_known("MODEL.LOSS", term.prediction);
  for (const Metric& metric : metrics_) {
    check_known("TEST.METRICS", metric.output);
    for (const std::string& name : {metric.target, metric.mask})
      if (const Value value = name.empty() ? none : graph.find(name))
        check(!graph.producer(value) && !graph.literal(value), Key{"TEST.METRICS"}, ": '", name,
              "' is computed by the network; a target or a mask is an input of the network, or an "
              "array of the data");
  }
}

std::vector<std::string> ArraysNetwork::losses_in_network() const {
  std::vector<std::string> names;
  for (const LossTerm& term : terms_) {
    add_new(names, term.prediction);
    for (const std::string& other : {term.target, term.mask})
      if (file_->model.inference.find(other)) add_new(names, other);
  }
  return names;
}

// The outputs besides the losses; all outputs of a network that has no others.
std::vector<std::string> ArraysNetwork::predictions() const {
  const Graph& graph = file_->model.inference;
  std::vector<std::string> names;
  for (Value output : graph.outputs()) {
    const std::string& name = graph.name(output);
    const bool is_loss = std::any_of(terms_.begin(), terms_.end(), [&](const LossTerm& term) {
      return !term.kind && term.prediction == name;
    });
    if (!is_loss) names.push_back(name);
  }
  return names.empty() ? names_of(graph, graph.outputs()) : names;
}

// An initializer is trained if a term of the loss trains it.
InitializerChoices ArraysNetwork::choices_of(const LoadedModel& training) const {
  const TrainingPatterns patterns{config_.step.options.frozen, config_.trained.train,
                                  config_.trained.batch_norms};
  InitializerChoices all = choose_initializers(training, terms_[0].prediction, patterns);
  for (std::size_t t = 1; t < terms_.size(); ++t) {
    const InitializerChoices more = choose_initializers(training, terms_[t].prediction, patterns);
    for (std::size_t i = 0; i < all.all.size(); ++i)
      if (all.all[i].why == InitializerReason::unused) all.all[i] = more.all.at(i);
  }
  if (all.trained().empty())
    return choose_some_initializers(training, terms_[0].prediction, patterns);
  return all;
}

std::vector<std::string> ArraysNetwork::notes(const ExampleTypes& examples) const {
  const Parts parts = this->parts(examples);
  std::vector<std::string> notes = notes_on(*parts.training, choices_of(*parts.training));
  if (const auto nodes = drawing_nodes(parts.prediction->model.inference); !nodes.empty())
    notes.push_back(
        join("the network draws random numbers in prediction, too, the same in each "
             "prediction, at ",
             first_listed(nodes, 5)));
  return notes;
}

// A prediction takes examples of any form.
ArraysNetwork::Parts ArraysNetwork::parts(const ExampleTypes& examples) const {
  const auto whole = specialised(network_type(config_).load(config_), types_of(examples));
  std::vector<std::string> losses = losses_in_network(), tested = losses;
  const Graph& graph = whole->model.inference;
  for (const Metric& metric : metrics_)
    for (const std::string& name : {metric.output, metric.target, metric.mask})
      if (!name.empty() && graph.find(name)) add_new(tested, name);
  Parts parts{part_of(*whole, losses),
              part_of(*whole, tested),
              part_of(*specialised(network_type(config_).load(config_), {}), predictions()),
              {},
              {}};
  for (const auto& [name, example] : examples) parts.beside[name] = batch_type(example);
  parts.options.train_batch_norm = config_.trained.batch_norms;
  parts.options.trainable = choices_of(*parts.training).trained();
  return parts;
}

std::vector<TrainingModel> ArraysNetwork::steps(const std::vector<ExampleTypes>& forms,
                                                int processes,
                                                const ResidentInputs& resident) const {
  std::vector<TrainingModel> steps;
  for (const ExampleTypes& examples : forms)
    steps.push_back(step(parts(examples), processes, resident));
  return steps;
}

TrainingModel ArraysNetwork::step(const Parts& parts, int processes,
                                  const ResidentInputs& resident) const {
  DataParallelOptions options = options_of(config_.step, config_.run, processes);
  options.resident = resident;
  options.weighted = !shares_of(config_, options.replicas).equal();
  options.share = config_.batch_size / options.replicas;
  options.frozen.clear();  // frozen initializers are not parameters
  const ModelFn model = [&](Net& net) {
    if (net.training()) {
      Values values(net, *parts.training, parts.options, parts.beside);
      train(net, terms_, values);
      return;
    }
    Values values(net, *parts.prediction, parts.options, parts.beside);
    for (const std::string& name : predictions()) net.output(name, values(name));
  };
  TrainingModel built = build_data_parallel_model(
      all_ops(), model, optimizer_of(config_.optimizer, config_.schedule.scale_momentum), options);
  write_kinds(file_->kinds, built.metadata);
  return built;
}

std::string ArraysNetwork::mean_named(std::size_t term) { return join("test_mean_", term); }
std::string ArraysNetwork::count_named(std::size_t term) { return join("test_count_", term); }
std::string ArraysNetwork::metric_named(std::size_t metric) { return join("test_output_", metric); }

TrainingModel ArraysNetwork::test_step(const ExampleTypes& examples, int processes) const {
  const DataParallelOptions options = options_of(config_.step, config_.run, processes);
  const DataParallelOptions forward{.replicas = options.replicas,
                                    .scope = options.scope,
                                    .forward_only = true,
                                    .precision = options.precision};
  const Parts parts = this->parts(examples);
  const ModelFn model = [&](Net& net) {
    if (!net.training()) return;
    Values values(net, *parts.test, parts.options, parts.beside);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const MeanLoss loss = loss_of(net.graph, terms_[i], values);
      net.output(mean_named(i), loss.mean);
      if (loss.count) net.output(count_named(i), loss.count);
    }
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      const Value output = values(metrics_[i].output);
      net.output(metric_named(i),
                 as_float(net.graph, metric_input(net.graph, output, metrics_[i])));
    }
  };
  return build_data_parallel_model(all_ops(), model, MomentumSgd{}, forward);
}

}  // namespace lockstep
