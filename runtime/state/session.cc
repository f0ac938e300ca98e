// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/session.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "graph/auxiliaries.h"
#include "graph/step_fetches.h"
#include "runtime/finite.h"
#include "runtime/state/accelerators.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr std::size_t kPlansKept = 16;

std::vector<TensorDesc> state_descs(const TrainingModel& model) {
  std::vector<TensorDesc> descs;
  for (const std::string& name : model.state_values()) {
    Value value = model.step.at(name);
    descs.push_back({model.step.dtype(value), to_dims(model.step.shape(value))});
  }
  return descs;
}

int chosen_threads(const SessionOptions& options, std::size_t replicas) {
  const int processes = options.comm ? options.comm->size_here() : 1;
  return options.threads > 0 ? options.threads
                             : threads_per_replica(static_cast<int>(replicas) * processes);
}

void check_same_states(const TrainingModel& model, const TrainingModel& held) {
  const std::vector<std::string> names = model.state_values(), known = held.state_values();
  for (std::size_t i = 0; i < std::max(names.size(), known.size()); ++i) {
    const std::string name = i < names.size() ? names[i] : "",
                      of_held = i < known.size() ? known[i] : "";
    check(name == of_held, "state ", i, " is '", name,
          "' in the model of another image size, but '", of_held, "' in the session");
  }
  const std::vector<TensorDesc> here = state_descs(model), there = state_descs(held);
  for (std::size_t i = 0; i < names.size(); ++i)
    check(here[i] == there[i], "'", names[i], "' is ", here[i],
          " in the model of another image size, but ", there[i], " in the session");
}

// Returns the devices, in the order of TrainingModel::state_values().
std::vector<Device> devices_of_states(const TrainingModel& model,
                                      const std::vector<Device>& devices) {
  std::vector<Device> result;
  for (const State& state : model.states)
    for (std::size_t replica = 0; replica < state.values.size(); ++replica)
      result.push_back(devices[std::min(replica, devices.size() - 1)]);
  return result;
}

}  // namespace

Accelerator* accelerator_of(const std::vector<KernelTable>& kernels,
                            const std::vector<Device>& devices) {
  Accelerator* accelerator = nullptr;
  for (const KernelTable& table : kernels)
    if (!devices.empty() && table.kind() == devices[0].kind) accelerator = table.accelerator();
  for (Device device : devices)
    if (accelerator && device.index >= accelerator->devices())
      fail("cannot run on ", text_of(device), ": this machine has ", accelerator->devices(),
           " GPUs that can be used; see `lockstep doctor`");
  return accelerator;
}

Program::Program(Session& session, Spec spec, std::shared_ptr<ArenaPool> arenas)
    : session_(session), spec_(std::move(spec)), arenas_(std::move(arenas)) {
  if (spec_.updates.empty()) return;
  for (const std::vector<std::string>& names : in_common(spec_.model).feeds) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < spec_.feeds.size(); ++i)
      if (std::ranges::find(names, spec_.feeds[i]) != names.end()) places.push_back(i);
    if (places.size() > 1) common_feeds_.push_back(std::move(places));
  }
}

std::span<const Tensor> Program::run(std::span<const Tensor> feeds, const RunOptions& options) {
  Executor& chosen = executor(feeds);
  if (session_.comm()) session_.comm()->at_step(options.context.step);
  check(session_.state_.has_values() || this == session_.init_.get(), spec_.graph.name(),
        ": the state has no values yet; call initialise() or load() first");
  chosen.run(feeds, options);
  if (options.blame_feeds && !options.meanwhile) check_losses(feeds, chosen);
  return chosen.fetches();
}

void Program::check_losses(std::span<const Tensor> feeds, const Executor& executor) const {
  for (const Tensor& loss : executor.fetches().first(spec_.losses)) {
    if (first_not_finite(loss) < 0) continue;
    const std::string fed = fed_not_finite(spec_.model, feeds);
    check(fed.empty(), spec_.graph.name(), ": the loss is ", text_of_value(loss, 0), ", for ", fed);
  }
}

void Program::feed_ahead(std::span<const Tensor> feeds) {
  check_count(feeds);
  if (Executor* const known = known_executor(feeds)) known->feed_ahead(feeds);
}

void Program::check_count(std::span<const Tensor> feeds) const {
  check(feeds.size() == spec_.feeds.size(), spec_.graph.name(), " takes ", spec_.feeds.size(),
        " feeds, was given ", feeds.size());
}

Executor* Program::known_executor(std::span<const Tensor> feeds) {
  if (moves_ != session_.state_.moves()) cache_.clear();  // states have moved
  for (auto it = cache_.begin(); it != cache_.end(); ++it) {
    const Plan& plan = (*it)->plan();
    bool fits = true;
    for (std::size_t i = 0; i < feeds.size() && fits; ++i)
      fits = plan.feeds[i] < 0 || plan.slots[plan.feeds[i]].desc == feeds[i].desc;
    if (!fits) continue;
    std::rotate(cache_.begin(), it, it + 1);
    return cache_.front().get();
  }
  return nullptr;
}

// True if feeds that replicas have in common are equal.
bool Program::fed_alike(std::span<const Tensor> feeds) const {
  return std::ranges::all_of(common_feeds_, [&](const std::vector<std::size_t>& places) {
    const Tensor& first = feeds[places.front()];
    return std::ranges::all_of(places, [&](std::size_t place) {
      const Tensor& other = feeds[place];
      return !first.data || !other.data ||
             (other.desc == first.desc &&
              std::memcmp(other.data, first.data, first.desc.bytes()) == 0);
    });
  });
}

Executor& Program::executor(std::span<const Tensor> feeds) {
  check_count(feeds);
  if (session_.sharing_.allowed() && !fed_alike(feeds)) session_.sharing_.separate_for_good();
  if (Executor* const known = known_executor(feeds)) return *known;
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    Value input = spec_.graph.at(spec_.feeds[i]);
    check(feeds[i].desc.dtype == spec_.graph.dtype(input), "input '", spec_.feeds[i], "' is ",
          spec_.graph.type(input), " but is fed ", feeds[i].desc);
    dims.push_back(feeds[i].desc.dims);
  }
  CompileOptions options = session_.options_.compile;
  options.threads = session_.threads_;
  // The first program that trains chooses the layouts of states; other programs reorder them if
  // needed.
  const bool initial = this == session_.init_.get();
  const bool chooses = session_.state_.times_laid_out() == 0 && !spec_.updates.empty() && !initial;
  const Sharing::Use use{spec_.updates, initial, chooses};
  Plan plan = compile({.graph = spec_.graph,
                       .feeds = spec_.feeds,
                       .feed_dims = std::move(dims),
                       .fetches = spec_.fetches,
                       .states = session_.state_.names(),
                       .updates = spec_.updates,
                       .devices = session_.devices_,
                       .kernels = session_.kernels_,
                       .options = options,
                       .comm = session_.comm(),
                       .owners = spec_.model.owners(),
                       .state_layouts = session_.state_.layouts(),
                       .chooses_state_layouts = chooses,
                       .common = session_.sharing_.may_share(spec_.model, use)});
  session_.sharing_.arrange(plan, use);
  if (chooses) session_.state_.lay_out(plan.state_descs);
  if (moves_ != session_.state_.moves()) cache_.clear();
  moves_ = session_.state_.moves();
  for (std::size_t i = 0; i < plan.session_states(); ++i) {  // kernels use the states' memory
                                                             // directly
    const TensorDesc &here = plan.state_descs[i], &held = session_.state_.at(plan.states[i]).desc;
    check(!here.present() || here == held, spec_.graph.name(), ": '", plan.states[i], "' is ", here,
          ", but the state is ", held);
  }
  if (cache_.size() == kPlansKept) cache_.pop_back();
  cache_.insert(cache_.begin(), make_executor(std::move(plan), session_.state_, session_.workers_,
                                              session_.accelerator_, session_.comm(), arenas_));
  return *cache_.front();
}

Session::Session(const TrainingModel& model, std::vector<Device> devices,
                 const std::vector<KernelTable>& kernels, const SessionOptions& options)
    : model_(model),
      devices_(std::move(devices)),
      kernels_(kernels),
      accelerator_(accelerator_of(kernels, devices_)),
      options_(options),
      threads_(chosen_threads(options, devices_.size())),
      workers_(accelerator_ ? 1 : static_cast<int>(devices_.size()) + (options.comm ? 1 : 0),
               threads_, !accelerator_ && options.comm ? 1 : 0),
      state_(model.state_values(), state_descs(model), accelerator_,
             accelerator_ ? devices_of_states(model, devices_) : std::vector<Device>{}),
      sharing_(state_, options.compile.share && !accelerator_ && model.replicas > 1) {
  const int auxiliaries = auxiliaries_of(model);
  check(static_cast<int>(devices_.size()) == model.replicas + auxiliaries, "the model has ",
        model.replicas, model.replicas == 1 ? " replica" : " replicas",
        auxiliaries > 0 ? join(" and ", auxiliaries, " auxiliary devices") : "", " but ",
        devices_.size(), " devices were given");
  init_ = program(model.init, {}, {}, model.initial);
  step_ = make_step(model, new_arenas());
  inference_ = make_inference(model, new_arenas());
}

std::shared_ptr<ArenaPool> Session::new_arenas() const {
  return std::make_shared<ArenaPool>(accelerator_);
}

std::unique_ptr<Program> Session::make_program(Program::Spec spec,
                                               std::shared_ptr<ArenaPool> arenas) {
  return std::unique_ptr<Program>(new Program(*this, std::move(spec), std::move(arenas)));
}

std::unique_ptr<Program> Session::program(const Graph& graph, std::vector<std::string> feeds,
                                          std::vector<std::string> fetches,
                                          std::vector<Binding> updates, const Program* beside) {
  return make_program({model_, graph, std::move(feeds), std::move(fetches), std::move(updates)},
                      beside ? beside->arenas_ : new_arenas());
}

std::unique_ptr<Program> Session::make_step(const TrainingModel& model,
                                            std::shared_ptr<ArenaPool> arenas) {
  // Steps that skip non-finite gradients accept any feeds.
  const std::size_t losses = model.checks.empty() ? model.losses.size() : 0;
  return make_program({model, model.step, model.feed_values(), step_fetches(model), model.updates,
                       losses * model.replicas},
                      std::move(arenas));
}

std::unique_ptr<Program> Session::make_inference(const TrainingModel& model,
                                                 std::shared_ptr<ArenaPool> arenas) {
  const Graph& graph = model.inference;
  const std::set<std::string> states(state_.names().begin(), state_.names().end());
  std::vector<std::string> inputs, outputs;
  for (Value input : graph.inputs())
    if (!states.contains(graph.name(input))) inputs.push_back(graph.name(input));
  for (Value output : graph.outputs()) outputs.push_back(graph.name(output));
  return make_program({model, graph, std::move(inputs), std::move(outputs), {}}, std::move(arenas));
}

std::unique_ptr<Program> Session::step_of(const TrainingModel& model) {
  check_same_states(model, model_);
  return make_step(model, step_->arenas_);
}

std::unique_ptr<Program> Session::inference_of(const TrainingModel& model) {
  check_same_states(model, model_);
  return make_inference(model, inference_->arenas_);
}

void Session::initialise() {
  sharing_.start_anew();
  init_->run({}, run_options(0));
  state_.note_values();
  init_->cache_.clear();  // frees memory that would stay unused for the rest of the run
  init_->arenas_ = new_arenas();
}

void Session::load(const StateValues& values) { state_.write_all(values); }

StateValues Session::save() const {
  StateValues values;
  for (const State& state : model_.states)
    if (is_saved(state.kind))
      for (const std::string& name : state.values) values.emplace(name, state_.read(name));
  return values;
}

std::string fed_not_finite(const TrainingModel& model, std::span<const Tensor> feeds) {
  const std::size_t replicas = model.replicas;
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (const int64_t place = first_not_finite(feeds[i]); place >= 0)
      return join("input '", model.inputs[i / replicas].name, "' of replica ",
                  model.first_replica + i % replicas, " is fed ", text_of_value(feeds[i], place),
                  " at ", text_of_place(feeds[i].desc.dims, place));
  return "";
}

}  // namespace lockstep
