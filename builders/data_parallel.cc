#include "builders/data_parallel.h"

#include <algorithm>
#include <deque>

#include "builders/patterns.h"
#include "builders/replicas.h"
#include "graph/gradient.h"
#include "graph/passes/schedule.h"
#include "operators/collective/collective.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

class DataParallelBuilder {
 public:
  DataParallelBuilder(const OpSet& ops, const MomentumSgd& optimizer,
                      const DataParallelOptions& options)
      : optimizer_(optimizer), options_(options), model_(ops) {
    check(options.replicas >= 1, "a model needs at least one replica, not ", options.replicas);
    model_.replicas = options.replicas;
  }

  // The four beats, then the graphs beside them.
  TrainingModel build(const ModelFn& model) {
    replicate_forward(model);
    add_backward();
    const int first_update = model_.step.node_count();
    if (options_.clip.before_reduce) clip(1.0F / static_cast<float>(options_.replicas));
    reduce_gradients();
    if (!options_.clip.before_reduce) clip(1);
    update_parameters();
    schedule(model_.step, first_update);

    declare_outputs();
    initialise_states();
    build_inference(model);
    return std::move(model_);
  }

 private:
  std::string scope_of(int replica) const { return join(options_.scope, "_", replica); }
  Graph& step() { return model_.step; }
  const std::vector<Net::Param>& params() const { return nets_[0].params(); }

  void replicate_forward(const ModelFn& model) {
    std::vector<ReplicaPart> parts;
    for (int k = 0; k < options_.replicas; ++k) {
      NameScope scope(step(), scope_of(k));
      ReplicaScope replica(step(), k);
      nets_.emplace_back(step(), Mode::train, scope_of(k), scope_of(k));
      const int first = step().node_count();
      model(nets_.back());
      parts.push_back({first, step().node_count(), &nets_.back()});
      check_same_network(step(), parts[0], parts.back(), k);
      rates_.push_back(step().input("lr", {DType::float32, {1}}));
      scale_losses(nets_.back());
    }
    check(!nets_[0].losses().empty(), "the model declares no loss, there is nothing to train");
  }

  // The all-reduce sums; with each loss scaled by 1/N that sum is the gradient of the mean.
  void scale_losses(const Net& net) {
    std::vector<Value> scaled;
    for (const Net::Named& loss : net.losses())
      scaled.push_back(options_.replicas == 1
                           ? loss.value
                           : scale(step(), loss.value, 1.0F / static_cast<float>(options_.replicas),
                                   Site(loss.name + "_scaled")));
    losses_.push_back(std::move(scaled));
  }

  bool is_trained(const Net::Param& param) const {
    return param.kind != StateKind::computed && !matches_any(param.name, options_.frozen);
  }

  void check_frozen() const {
    for (const std::string& pattern : options_.frozen) {
      const bool used = std::any_of(params().begin(), params().end(), [&](const Net::Param& param) {
        return matches_any(param.name, {pattern});
      });
      check(used, "frozen: no parameter is called '", pattern, "'");
    }
  }

  void clip(float scale) {
    if (!options_.clip.active()) return;
    for (std::size_t k = 0; k < nets_.size(); ++k) {
      ReplicaScope replica(step(), static_cast<int>(k));
      gradients_[k] = clip_gradients(step(), options_.clip, gradients_[k], scale);
    }
  }

  void add_backward() {
    check_frozen();
    std::vector<Loss> losses;
    for (const auto& of_replica : losses_)
      for (Value loss : of_replica) losses.push_back({loss});
    std::vector<Value> wanted;
    for (const Net& net : nets_)
      for (const Net::Param& param : net.params())
        if (is_trained(param)) wanted.push_back(param.value);
    Gradients gradients = add_gradients(step(), losses, wanted);
    std::string unreached;
    for (const std::string& name : gradients.unreached) unreached += "\n  " + name;
    check(unreached.empty() || options_.allow_untrained,
          "no loss reaches these parameters (set allow_untrained to keep them as they are):",
          unreached);
    gradients_.resize(nets_.size());
    std::size_t next = 0;
    for (std::size_t k = 0; k < nets_.size(); ++k)
      for (const Net::Param& param : nets_[k].params())
        gradients_[k].push_back(is_trained(param) ? gradients.values[next++] : none);
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

  void update_parameters() {
    for (const Net& net : nets_)
      for (const Net::Param& param : net.params())
        if (param.next)
          model_.updates.push_back({step().name(param.value), step().name(param.next)});
    for (std::size_t p = params().size(); p-- > 0;) {
      if (!gradients_[0][p]) continue;
      model_.gradients.push_back(
          replicated(params()[p].name, [&](std::size_t k) { return gradients_[k][p]; }));
      for (std::size_t k = 0; k < nets_.size(); ++k) {
        ReplicaScope replica(step(), static_cast<int>(k));
        const Net::Param& param = nets_[k].params()[p];
        const std::string name = step().name(param.value);
        Value momentum = step().input(name + "_momentum", step().type(param.value));
        UpdatedParam updated =
            add_update(step(), optimizer_,
                       {param.value, gradients_[k][p], momentum, rates_[k], param.kind, name});
        model_.updates.push_back({name, step().name(updated.param)});
        model_.updates.push_back({name + "_momentum", step().name(updated.momentum)});
      }
    }
  }

  template <class List>
  Replicated replicated(const std::string& name, const List& value_of) {
    Replicated item{name, {}};
    for (std::size_t k = 0; k < nets_.size(); ++k) item.values.push_back(step().name(value_of(k)));
    return item;
  }

  void declare_outputs() {
    for (std::size_t i = 0; i < nets_[0].inputs().size(); ++i)
      model_.inputs.push_back(replicated(
          nets_[0].inputs()[i].name, [&](std::size_t k) { return nets_[k].inputs()[i].value; }));
    model_.inputs.push_back(replicated("lr", [&](std::size_t k) { return rates_[k]; }));
    for (std::size_t i = 0; i < nets_[0].losses().size(); ++i)
      model_.losses.push_back(
          replicated(nets_[0].losses()[i].name, [&](std::size_t k) { return losses_[k][i]; }));
    for (std::size_t i = 0; i < nets_[0].metrics().size(); ++i)
      model_.metrics.push_back(replicated(
          nets_[0].metrics()[i].name, [&](std::size_t k) { return nets_[k].metrics()[i].value; }));
    for (const auto* items : {&model_.losses, &model_.metrics})
      for (const Replicated& item : *items)
        for (const std::string& name : item.values) step().output(step().at(name));
    for (const Binding& update : model_.updates) step().output(step().at(update.value));
  }

  // Replica 0 draws, the others get a copy; momentum starts at zero everywhere.
  void initialise_states() {
    int stream = 0;
    for (std::size_t p = 0; p < params().size(); ++p) {
      const Net::Param& param = params()[p];
      State state{replicated(param.name, [&](std::size_t k) { return nets_[k].params()[p].value; }),
                  param.kind};
      Value first;
      {
        ReplicaScope replica(model_.init, 0);
        first = param.initializer(model_.init, param.dims, stream++,
                                  Site(state.values[0] + "_init", Where{"", 0}));
      }
      bind_initial(state, first);
      model_.states.push_back(state);
      if (!gradients_[0][p]) continue;
      State momentum = state;
      momentum.name += "_momentum";
      momentum.kind = StateKind::momentum;
      for (std::size_t k = 0; k < nets_.size(); ++k) {
        ReplicaScope replica(model_.init, static_cast<int>(k));
        momentum.values[k] += "_momentum";
        Value zero = constant(0)(model_.init, param.dims, 0,
                                 Site(momentum.values[k] + "_init", Where{"", 0}));
        model_.init.output(zero);
        model_.initial.push_back({momentum.values[k], model_.init.name(zero)});
      }
      model_.states.push_back(momentum);
    }
  }

  void bind_initial(const State& state, Value first) {
    std::vector<Value> values{first};
    if (state.values.size() > 1) {
      std::vector<std::string> names;
      for (const std::string& name : state.values) names.push_back(name + "_shared");
      values = broadcast(model_.init, first, names, state.name + "_broadcast");
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      model_.init.output(values[k]);
      model_.initial.push_back({state.values[k], model_.init.name(values[k])});
    }
  }

  // The same network for prediction, with replica 0's state. Its values carry no replica's scope,
  // so it can stand in one file with the step.
  void build_inference(const ModelFn& model) {
    Net net(model_.inference, Mode::infer, "", scope_of(0));
    model(net);
    for (const Net::Named& output : net.outputs()) model_.inference.output(output.value);
  }

  const MomentumSgd& optimizer_;
  const DataParallelOptions& options_;
  TrainingModel model_;
  std::deque<Net> nets_;                       // per replica
  std::vector<Value> rates_;                   // per replica
  std::vector<std::vector<Value>> losses_;     // [replica][loss], scaled
  std::vector<std::vector<Value>> gradients_;  // [replica][param]; none: not trained
};

}  // namespace

TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const MomentumSgd& optimizer,
                                        const DataParallelOptions& options) {
  return DataParallelBuilder(ops, optimizer, options).build(model);
}

}  // namespace lockstep
