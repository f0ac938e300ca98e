#include "builders/data_parallel.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "builders/initial_states.h"
#include "builders/non_finite.h"
#include "builders/patterns.h"
#include "builders/precision.h"
#include "builders/replicas.h"
#include "builders/report.h"
#include "builders/sync_batch_norm.h"
#include "graph/gradient.h"
#include "graph/passes/schedule.h"
#include "graph/random_stream.h"
#include "operators/elementwise/elementwise.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

constexpr const char* kLossWeight = "loss_weight";
constexpr const char* kCorrection = "momentum_correction";

class DataParallelBuilder {
 public:
  DataParallelBuilder(const OpSet& ops, const MomentumSgd& optimizer,
                      const DataParallelOptions& options)
      : optimizer_(optimizer), options_(options), model_(ops) {
    check(options.replicas >= 1, "a model needs at least one replica, not ", options.replicas);
    check(options.micro_batches >= 1, "a share of the batch has at least one part, not ",
          options.micro_batches);
    check(!(options.weighted && options.synchronised_batch_norm),
          "synchronised batch norm needs equal shares; the loss is weighted, so they are not");
    check(!(options.weighted && means()), "the all-reduce spec '", options.all_reduce.spec,
          "' takes means, which needs equal shares; the loss is weighted, so they are not");
    model_.replicas = options.replicas;
    options_.skip_non_finite = options.skip_non_finite || scales_loss();
  }

  // The four beats, then the graphs beside them.
  TrainingModel build(const ModelFn& model) {
    for (int part = 0; part < options_.micro_batches; ++part) {
      replicate_forward(model, part);
      add_backward(part);
    }
    report();
    const int first_appended = model_.step.node_count();
    if (scales_loss()) unscale_gradients();
    if (options_.deferred) {
      if (options_.skip_non_finite) unsound_ = find_non_finite("_unsound");
      if (options_.clip.before_reduce) clip();  // by the share of this step
      defer_gradients();
    }
    if (options_.skip_non_finite) origin_ = find_non_finite("_origin");
    if (options_.clip.before_reduce && !options_.deferred) clip();
    reduce_gradients();
    const int first_after_reduce = model_.step.node_count();
    if (options_.skip_non_finite) skipped_ = find_non_finite("_skipped");
    if (!options_.clip.before_reduce) clip();
    update_statistics();
    update_parameters();
    if (scales_loss()) update_loss_scales(model_, scales_, skipped_, options_.loss_scaling);
    // Gradients of the step before would let updates come first, and computation wait for them.
    schedule(model_.step, first_appended,
             options_.deferred ? first_after_reduce : model_.step.node_count());

    declare_outputs();
    initialise_states();
    build_inference(model);
    if (options_.precision != DType::float32) lower_precision(model_, options_.precision);
    return std::move(model_);
  }

 private:
  std::string scope_of(int replica) const { return join(options_.scope, "_", replica); }
  std::vector<std::string> scopes() const {
    std::vector<std::string> scopes;
    for (int k = 0; k < options_.replicas; ++k) scopes.push_back(scope_of(k));
    return scopes;
  }
  static std::string micro(int part) { return join("micro_", part); }
  std::size_t at(int part, int replica) const {
    return static_cast<std::size_t>(part * options_.replicas + replica);
  }
  Net& net(int part, int replica) { return nets_[at(part, replica)]; }
  static Value of(const std::vector<Value>& values, std::size_t k) {
    return values.empty() ? none : values[k];
  }
  Graph& step() { return model_.step; }
  const std::vector<Net::Param>& params() const { return nets_[0].params(); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Net::Param& param : params()) names.push_back(param.name);
    return names;
  }

  // The network on every replica; of a later part of the batch, with the parameters of the first.
  void replicate_forward(const ModelFn& model, int part) {
    std::vector<ReplicaPart> parts;
    const bool first = part == 0;
    for (int k = 0; k < options_.replicas; ++k) {
      NameScope scope(step(), scope_of(k));
      ReplicaScope replica(step(), k);
      std::optional<NameScope> inner;
      if (!first) inner.emplace(step(), micro(part));
      nets_.emplace_back(step(), Mode::train, step().scope(), scope_of(k),
                         first ? nullptr : &net(part - 1, k));
      const int begin = step().node_count();
      model(nets_.back());
      number_random_streams(step(), begin, step().scope(), {k, part});
      parts.push_back({begin, step().node_count(), &nets_.back()});
      check_same_network(step(), parts[0], parts.back(), k);
      if (first) rates_.push_back(step().input("lr", {DType::float32, {1}}));
      if (first && optimizer_.correct_momentum)
        corrections_.push_back(step().input(kCorrection, {DType::float32, {1}}));
      scale_losses(nets_.back());
    }
    check(!nets_[0].losses().empty(), "the model declares no loss, there is nothing to train");
    if (options_.synchronised_batch_norm && options_.replicas > 1) synchronise(parts);
  }

  void synchronise(const std::vector<ReplicaPart>& parts) {
    Synchronised result = synchronise_batch_norm(step(), parts);
    model_.step = std::move(result.graph);
    auto move = [&](Value& value) {
      if (value) value = result.moved[static_cast<std::size_t>(value.id)];
    };
    for (Net& net : nets_)
      net.move_to([&](Value value) { return result.moved[static_cast<std::size_t>(value.id)]; });
    for (auto* list : {&rates_, &corrections_, &weights_})
      for (Value& value : *list) move(value);
    for (LossScale& scale : scales_)
      for (Value* value : {&scale.scale, &scale.inverse, &scale.sound_steps}) move(*value);
    for (auto* table : {&losses_, &gradients_})
      for (std::vector<Value>& list : *table)
        for (Value& value : list) move(value);
  }

  bool means() const { return options_.all_reduce.spec.reduction == Reduction::mean; }
  float one_share() const { return 1.0F / static_cast<float>(options_.replicas); }

  // The all-reduce sums; with each loss scaled by 1/N that sum is the gradient of the mean. One
  // that takes means needs nothing of the kind.
  void scale_losses(const Net& net) {
    const int shares = (means() ? 1 : options_.replicas) * options_.micro_batches;
    Value weight;
    if (options_.weighted)
      weights_.push_back(weight = step().input(kLossWeight, {DType::float32, {}}));
    std::vector<Value> scaled;
    for (const Net::Named& loss : net.losses()) {
      const Site site(loss.name + "_scaled");
      if (weight)
        scaled.push_back(mul(step(), loss.value, weight, site));
      else if (shares == 1)
        scaled.push_back(loss.value);
      else
        scaled.push_back(scale(step(), loss.value, 1.0F / static_cast<float>(shares), site));
    }
    losses_.push_back(std::move(scaled));
  }

  void report() {
    for (int k = 0; k < options_.replicas; ++k) {
      NameScope scope(step(), scope_of(k));
      ReplicaScope replica(step(), k);
      std::vector<const Net*> parts;
      std::vector<std::vector<Value>> losses;
      for (int part = 0; part < options_.micro_batches; ++part) {
        parts.push_back(&net(part, k));
        losses.push_back(losses_[at(part, k)]);
      }
      reports_.push_back(report_of(step(), parts, losses, means() ? one_share() : 1));
    }
  }

  bool is_trained(const Net::Param& param) const {
    return param.kind != StateKind::computed && !matches_any(param.name, options_.frozen);
  }

  void clip() {
    if (!options_.clip.active()) return;
    for (int k = 0; k < options_.replicas; ++k) {
      ReplicaScope replica(step(), k);
      std::vector<Value>& mine = gradients_[static_cast<std::size_t>(k)];
      const bool before = options_.clip.before_reduce;
      mine = clip_gradients(step(), options_.clip, mine, before && !means() ? share_of(k) : none,
                            before && options_.skip_non_finite);
    }
  }

  // What the gradients of a replica were multiplied by: its share of the loss.
  Value share_of(int k) {
    const std::string name = join(scope_of(k), "/share");
    if (!options_.weighted) return step().constant(name, Literal::scalar(one_share()));
    std::vector<Value> weights;
    for (int part = 0; part < options_.micro_batches; ++part)
      weights.push_back(weights_[at(part, k)]);
    if (weights.size() == 1) return weights[0];
    return step().add_value({.type = "Sum", .inputs = weights}, Site(name, Where{"", 0}));
  }

  void add_backward(int part) {
    if (part == 0) check_patterns_used(options_.frozen, names(), "frozen");
    std::vector<Loss> losses;
    for (int k = 0; k < options_.replicas; ++k) {
      ReplicaScope replica(step(), k);
      if (scales_loss() && part == 0) scales_.push_back(add_loss_scale(step(), scope_of(k)));
      for (Value loss : losses_[at(part, k)])
        losses.push_back({loss, scales_loss()
                                    ? seed_of(step(), scales_[static_cast<std::size_t>(k)], loss)
                                    : none});
    }
    std::vector<Value> wanted;
    for (int k = 0; k < options_.replicas; ++k)
      for (const Net::Param& param : net(0, k).params())
        if (is_trained(param)) wanted.push_back(param.value);
    const bool only = options_.micro_batches == 1;
    Gradients gradients =
        add_gradients(step(), losses, wanted, only ? "_grad" : join("_grad_of_", micro(part)));
    std::string unreached;
    for (const std::string& name : gradients.unreached) unreached += "\n  " + name;
    check(unreached.empty() || options_.allow_untrained,
          "no loss reaches these parameters (set allow_untrained to keep them as they are):",
          unreached);
    gradients_.resize(static_cast<std::size_t>(options_.replicas));
    std::size_t next = 0;
    for (int k = 0; k < options_.replicas; ++k) {
      ReplicaScope replica(step(), k);
      std::vector<Value>& mine = gradients_[static_cast<std::size_t>(k)];
      mine.resize(params().size());
      for (std::size_t p = 0; p < params().size(); ++p) {
        const Net::Param& param = net(0, k).params()[p];
        if (!is_trained(param)) continue;
        const Value gradient = gradients.values[next++];
        mine[p] = mine[p] && gradient ? accumulate(mine[p], gradient, param, part) : gradient;
      }
    }
  }

  // Added up part by part, so that only the sum outlives a part.
  Value accumulate(Value sum, Value gradient, const Net::Param& param, int part) {
    const std::string name = step().name(param.value) + "_grad";
    const bool last = part == options_.micro_batches - 1;
    return add(step(), sum, gradient,
               Site(last ? name : join(name, "_up_to_", micro(part)), Where{"", 0}));
  }

  bool scales_loss() const { return options_.precision == DType::float16; }

  void unscale_gradients() {
    for (std::size_t k = 0; k < gradients_.size(); ++k) {
      ReplicaScope replica(step(), static_cast<int>(k));
      for (Value& gradient : gradients_[k])
        if (gradient) gradient = unscaled(step(), scales_[k], gradient);
    }
  }

  // From here on gradients are those of the step before; this step's wait.
  void defer_gradients() {
    for (std::size_t k = 0; k < gradients_.size(); ++k) {
      ReplicaScope replica(step(), static_cast<int>(k));
      for (std::size_t p = 0; p < params().size(); ++p) {
        Value& gradient = gradients_[k][p];
        if (!gradient) continue;
        const std::string name = step().name(net(0, static_cast<int>(k)).params()[p].value);
        const Value before = step().input(name + "_deferred", step().type(gradient));
        model_.updates.push_back({step().name(before), step().name(gradient)});
        gradient = before;
      }
    }
  }

  // On each replica the first of its gradients that is not finite. They are listed as
  // TrainingModel::gradients is.
  std::vector<Value> find_non_finite(const char* ending) {
    std::vector<Value> found;
    for (int k = 0; k < options_.replicas; ++k) {
      ReplicaScope replica(step(), k);
      std::vector<Value> mine;
      for (std::size_t p = params().size(); p-- > 0;)
        if (Value gradient = gradients_[static_cast<std::size_t>(k)][p]) mine.push_back(gradient);
      found.push_back(
          lockstep::find_non_finite(step(), mine, join(scope_of(k), "/non_finite", ending)));
    }
    return found;
  }

  void reduce_gradients() {
    AllReducer reducer(options_.all_reduce, options_.replicas);
    if (options_.replicas == 1) return;
    AllReducer::PerParam gradients;
    std::vector<std::string> names;
    std::vector<std::size_t> trained;
    for (std::size_t p = 0; p < params().size(); ++p) {
      if (!gradients_[0][p]) continue;
      trained.push_back(p);
      names.push_back(params()[p].name);
      gradients.emplace_back();
      for (const auto& of_replica : gradients_) gradients.back().push_back(of_replica[p]);
    }
    const AllReducer::PerParam sums = reducer.sum_all(step(), gradients, names);
    for (std::size_t i = 0; i < trained.size(); ++i)
      for (std::size_t k = 0; k < sums[i].size(); ++k) gradients_[k][trained[i]] = sums[i][k];
    model_.bucket_plan = reducer.bucket_plan();
  }

  void update_statistics() {
    Statistics statistics;
    for (std::size_t p = 0; p < params().size(); ++p) {
      if (!net(options_.micro_batches - 1, 0).params()[p].next) continue;
      statistics.names.push_back(params()[p].name);
      statistics.states.emplace_back();
      statistics.next.emplace_back();
      for (int k = 0; k < options_.replicas; ++k) {
        statistics.states.back().push_back(net(0, k).params()[p].value);
        statistics.next.back().push_back(net(options_.micro_batches - 1, k).params()[p].next);
      }
    }
    // Deferred, whether the step is skipped is known one step later; a replica whose own gradients
    // are not finite keeps the statistics it had. Where statistics are of all replicas, so is what
    // keeps them from being taken over.
    if (options_.deferred && options_.skip_non_finite)
      keep_statistics(step(), statistics,
                      options_.synchronised_batch_norm
                          ? find_non_finite_statistics(step(), statistics, scopes())
                          : unsound_);
    statistics.next =
        settle_statistics(step(), options_.statistics, statistics.next, statistics.names);
    if (!options_.deferred && options_.skip_non_finite)
      keep_statistics(step(), statistics, skipped_);
    for (std::size_t k = 0; k < gradients_.size(); ++k)
      for (std::size_t i = 0; i < statistics.names.size(); ++i)
        model_.updates.push_back(
            {step().name(statistics.states[i][k]), step().name(statistics.next[i][k])});
  }

  void update_parameters() {
    for (std::size_t p = params().size(); p-- > 0;) {
      if (!gradients_[0][p]) continue;
      model_.gradients.push_back(
          replicated(params()[p].name, [&](std::size_t k) { return gradients_[k][p]; }));
      for (std::size_t k = 0; k < gradients_.size(); ++k) {
        ReplicaScope replica(step(), static_cast<int>(k));
        const Net::Param& param = nets_[k].params()[p];
        const std::string name = step().name(param.value);
        Value momentum = step().input(name + "_momentum", step().type(param.value));
        UpdatedParam updated = add_update(step(), optimizer_,
                                          {param.value, gradients_[k][p], momentum, rates_[k],
                                           of(corrections_, k), of(skipped_, k), param.kind, name});
        model_.updates.push_back({name, step().name(updated.param)});
        model_.updates.push_back({name + "_momentum", step().name(updated.momentum)});
      }
    }
  }

  template <class List>
  Replicated replicated(const std::string& name, const List& value_of) {
    Replicated item{name, {}};
    for (std::size_t k = 0; k < gradients_.size(); ++k)
      item.values.push_back(step().name(value_of(k)));
    return item;
  }

  void declare_outputs() {
    for (int part = 0; part < options_.micro_batches; ++part) {
      const std::string prefix = part == 0 ? "" : micro(part) + "/";
      for (std::size_t i = 0; i < nets_[0].inputs().size(); ++i)
        model_.inputs.push_back(replicated(prefix + nets_[0].inputs()[i].name, [&](std::size_t k) {
          return net(part, static_cast<int>(k)).inputs()[i].value;
        }));
      if (options_.weighted)
        model_.inputs.push_back(replicated(prefix + kLossWeight, [&](std::size_t k) {
          return weights_[at(part, static_cast<int>(k))];
        }));
    }
    model_.inputs.push_back(replicated("lr", [&](std::size_t k) { return rates_[k]; }));
    if (optimizer_.correct_momentum)
      model_.inputs.push_back(
          replicated(kCorrection, [&](std::size_t k) { return corrections_[k]; }));
    for (std::size_t i = 0; i < nets_[0].losses().size(); ++i)
      model_.losses.push_back(replicated(nets_[0].losses()[i].name,
                                         [&](std::size_t k) { return reports_[k].losses[i]; }));
    for (std::size_t i = 0; i < nets_[0].metrics().size(); ++i)
      model_.metrics.push_back(replicated(nets_[0].metrics()[i].name,
                                          [&](std::size_t k) { return reports_[k].metrics[i]; }));
    if (options_.skip_non_finite) {
      model_.checks.push_back(replicated("skipped", [&](std::size_t k) { return skipped_[k]; }));
      model_.checks.push_back(replicated("non_finite", [&](std::size_t k) { return origin_[k]; }));
    }
    for (const auto* items : {&model_.losses, &model_.metrics, &model_.checks})
      for (const Replicated& item : *items)
        for (const std::string& name : item.values) step().output(step().at(name));
    for (const Binding& update : model_.updates) step().output(step().at(update.value));
  }

  void initialise_states() {
    std::vector<StateKind> of_trained{StateKind::momentum};
    if (options_.deferred) of_trained.push_back(StateKind::deferred);
    for (std::size_t p = 0; p < params().size(); ++p) {
      const Net::Param& param = params()[p];
      State state{replicated(param.name, [&](std::size_t k) { return nets_[k].params()[p].value; }),
                  param.kind};
      add_state(model_, {std::move(state), param.dims, param.initializer, static_cast<int>(p)},
                gradients_[0][p] ? of_trained : std::vector<StateKind>{});
    }
    if (scales_loss()) add_loss_scale_states(model_, scales_, options_.loss_scaling);
  }

  // The same network for prediction, with replica 0's state. Its values carry no replica's scope,
  // so it can stand in one file with the step.
  void build_inference(const ModelFn& model) {
    Net net(model_.inference, Mode::infer, "", scope_of(0));
    model(net);
    for (const Net::Named& output : net.outputs()) model_.inference.output(output.value);
  }

  const MomentumSgd& optimizer_;
  DataParallelOptions options_;
  TrainingModel model_;
  std::deque<Net> nets_;                    // [at(part, replica)]
  std::vector<Value> weights_;              // likewise, of losses; or none
  std::vector<std::vector<Value>> losses_;  // likewise, [loss], scaled
  std::vector<Value> rates_, corrections_;  // per replica
  std::vector<LossScale> scales_;           // per replica; none unless the loss is scaled
  // Per replica; none unless non-finite steps are skipped. `unsound_`: of this step's own
  // gradients, where updates take those of the step before.
  std::vector<Value> origin_, skipped_, unsound_;
  std::vector<Report> reports_;                // per replica
  std::vector<std::vector<Value>> gradients_;  // [replica][param]; none: not trained
};

}  // namespace

DataParallelOptions replicas_on(const std::vector<Device>& devices) {
  check(!devices.empty(), "there is no device for a replica");
  const bool cpu = devices[0].kind == DeviceKind::cpu;
  return {.replicas = static_cast<int>(devices.size()), .scope = cpu ? "cpu" : "gpu"};
}

TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const MomentumSgd& optimizer,
                                        const DataParallelOptions& options) {
  return DataParallelBuilder(ops, optimizer, options).build(model);
}

}  // namespace lockstep
