// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "graph/auxiliaries.h"
#include "graph/passes/share.h"
#include "graph/step_fetches.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/finite.h"
#include "runtime/nanoseconds.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/accelerators.h"
#include "runtime/state/session_members.h"
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
  const bool owns_cores = std::getenv(kOwnCores) != nullptr;
  const int processes = options.comm && !owns_cores ? options.comm->size_here() : 1;
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

// While it lives, the times of messages are recorded; without a `comm` there are none.
class MessagesOfRun {
 public:
  MessagesOfRun(Comm* comm, RunSpans* spans) : comm_(comm) {
    if (comm_) comm_->record_messages(&spans->messages);
  }
  ~MessagesOfRun() {
    if (comm_) comm_->record_messages(nullptr);
  }
  MessagesOfRun(const MessagesOfRun&) = delete;

 private:
  Comm* comm_;
};

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

Program::Program(std::unique_ptr<Members> members) : members_(std::move(members)) {}
Program::~Program() = default;

Program::Members::Members(Session::Members& session, ProgramSpec spec,
                          std::shared_ptr<ArenaPool> arenas)
    : session(session), spec(std::move(spec)), arenas(std::move(arenas)) {
  if (this->spec.updates.empty()) return;
  for (const std::vector<std::string>& names : in_common(this->spec.model).feeds) {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < this->spec.feeds.size(); ++i)
      if (std::ranges::find(names, this->spec.feeds[i]) != names.end()) positions.push_back(i);
    if (positions.size() > 1) common_feeds.push_back(std::move(positions));
  }
}

const std::vector<std::string>& Program::feeds() const { return members_->spec.feeds; }
const std::vector<std::string>& Program::fetches() const { return members_->spec.fetches; }
std::size_t Program::arena_bytes() const { return members_->arenas->bytes(); }

std::string Program::plan_text(std::span<const Tensor> feeds) {
  return text_of(plan_of(*this, feeds));
}

std::span<const Tensor> Program::run(std::span<const Tensor> feeds, const RunOptions& options) {
  Members& m = *members_;
  Executor& chosen = m.executor(feeds);
  Comm* const comm = m.session.options.comm;
  if (comm) comm->at_step(options.context.step);
  check(m.session.states.has_values() || m.spec.is_initial, m.spec.graph.name(),
        ": the state has no values yet; call initialise() or load() first");
  m.run(chosen, feeds, options);
  if (options.blame_feeds && !options.meanwhile) m.check_losses(feeds, chosen);
  return chosen.fetches();
}

void Program::Members::run(Executor& executor, std::span<const Tensor> feeds,
                           const RunOptions& options) {
  RunSpans* const spans = session.recorder ? session.recorder->begin_run() : nullptr;
  const MessagesOfRun messages(spans ? session.options.comm : nullptr, spans);
  if (spans) {
    spans->model = &spec.model;
    spans->step = options.context.step;
  }
  executor.record(spans);
  const int64_t begins = nanoseconds_now();
  executor.run(feeds, options);
  session.totals.seconds += static_cast<double>(nanoseconds_now() - begins) * 1e-9;
  session.totals.waited += executor.waited();
}

void Program::Members::check_losses(std::span<const Tensor> feeds, const Executor& executor) const {
  for (const Tensor& loss : executor.fetches().first(spec.losses)) {
    if (first_not_finite(loss) < 0) continue;
    const std::string fed = fed_not_finite(spec.model, feeds);
    check(fed.empty(), spec.graph.name(), ": the loss is ", text_of_value(loss, 0), ", for ", fed);
  }
}

void Program::feed_ahead(std::span<const Tensor> feeds) {
  members_->check_count(feeds);
  if (Executor* const known = members_->known_executor(feeds)) known->feed_ahead(feeds);
}

void Program::Members::check_count(std::span<const Tensor> feeds) const {
  check(feeds.size() == spec.feeds.size(), spec.graph.name(), " takes ", spec.feeds.size(),
        " feeds, was given ", feeds.size());
}

Executor* Program::Members::known_executor(std::span<const Tensor> feeds) {
  if (moves != session.states.moves()) cache.clear();  // the states' memory has changed
  for (auto it = cache.begin(); it != cache.end(); ++it) {
    const Plan& plan = (*it)->plan();
    bool fits = true;
    for (std::size_t i = 0; i < feeds.size() && fits; ++i)
      fits = plan.feeds[i] < 0 || plan.slots[plan.feeds[i]].desc == feeds[i].desc;
    if (!fits) continue;
    std::rotate(cache.begin(), it, it + 1);
    return cache.front().get();
  }
  return nullptr;
}

bool Program::Members::fed_alike(std::span<const Tensor> feeds) const {
  return std::ranges::all_of(common_feeds, [&](const std::vector<std::size_t>& positions) {
    const Tensor& first = feeds[positions.front()];
    return std::ranges::all_of(positions, [&](std::size_t position) {
      const Tensor& other = feeds[position];
      return !first.data || !other.data ||
             (other.desc == first.desc &&
              std::memcmp(other.data, first.data, first.desc.bytes()) == 0);
    });
  });
}

Executor& Program::Members::executor(std::span<const Tensor> feeds) {
  check_count(feeds);
  States& states = session.states;
  Sharing& sharing = session.sharing;
  if (sharing.allowed() && !fed_alike(feeds)) sharing.separate_for_good();
  if (Executor* const known = known_executor(feeds)) return *known;
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    Value input = spec.graph.at(spec.feeds[i]);
    check(feeds[i].desc.dtype == spec.graph.dtype(input), "input '", spec.feeds[i], "' is ",
          spec.graph.type(input), " but is fed ", feeds[i].desc);
    dims.push_back(feeds[i].desc.dims);
  }
  CompileOptions options = session.options.compile;
  options.threads = session.threads;
  // The first program that trains chooses the layouts of states; other programs reorder copies.
  const bool chooses = states.times_laid_out() == 0 && !spec.updates.empty() && !spec.is_initial;
  const Sharing::Use use{spec.updates, spec.is_initial, chooses};
  Plan plan = compile({.graph = spec.graph,
                       .feeds = spec.feeds,
                       .feed_dims = std::move(dims),
                       .fetches = spec.fetches,
                       .states = states.names(),
                       .updates = spec.updates,
                       .devices = session.devices,
                       .kernels = session.kernels,
                       .options = options,
                       .comm = session.options.comm,
                       .owners = spec.model.owners(),
                       .state_layouts = states.layouts(),
                       .chooses_state_layouts = chooses,
                       .common = sharing.may_share(spec.model, use)});
  sharing.arrange(plan, use);
  if (chooses) states.lay_out(plan.state_descs);
  if (moves != states.moves()) cache.clear();
  moves = states.moves();
  for (std::size_t i = 0; i < plan.session_states(); ++i) {  // kernels use the states' own memory
    const TensorDesc &here = plan.state_descs[i], &held = states.at(plan.states[i]).desc;
    check(!here.present() || here == held, spec.graph.name(), ": '", plan.states[i], "' is ", here,
          ", but the state is ", held);
  }
  if (cache.size() == kPlansKept) cache.pop_back();
  cache.insert(cache.begin(), make_executor(std::move(plan), states, session.workers,
                                            session.accelerator, session.options.comm, arenas));
  return *cache.front();
}

Session::Members::Members(const TrainingModel& model, std::vector<Device> devices_given,
                          const std::vector<KernelTable>& kernels, const SessionOptions& options)
    : model(model),
      devices(std::move(devices_given)),
      kernels(kernels),
      accelerator(accelerator_of(kernels, devices)),
      options(options),
      threads(chosen_threads(options, devices.size())),
      workers(accelerator ? 1 : static_cast<int>(devices.size()) + (options.comm ? 1 : 0), threads,
              !accelerator && options.comm ? 1 : 0),
      states(model.state_values(), state_descs(model), accelerator,
             accelerator ? devices_of_states(model, devices) : std::vector<Device>{}),
      sharing(states, options.compile.share && !accelerator && model.replicas > 1) {
  const int auxiliaries = auxiliaries_of(model);
  check(static_cast<int>(devices.size()) == model.replicas + auxiliaries, "the model has ",
        model.replicas, model.replicas == 1 ? " replica" : " replicas",
        auxiliaries > 0 ? join(" and ", auxiliaries, " auxiliary devices") : "", " but ",
        devices.size(), " devices were given");
  init = make_program({model, model.init, {}, {}, model.initial, 0, true}, new_arenas());
  step = make_step(model, new_arenas());
  inference = make_inference(model, new_arenas());
}

Session::Session(const TrainingModel& model, std::vector<Device> devices,
                 const std::vector<KernelTable>& kernels, const SessionOptions& options)
    : members_(std::make_unique<Members>(model, std::move(devices), kernels, options)) {}
Session::~Session() = default;

const TrainingModel& Session::model() const { return members_->model; }
const std::vector<Device>& Session::devices() const { return members_->devices; }
int Session::threads() const { return members_->threads; }
Comm* Session::comm() const { return members_->options.comm; }
Program& Session::step() { return *members_->step; }
Program& Session::inference() { return *members_->inference; }
RunOptions Session::run_options(uint64_t step) const { return {{members_->options.seed, step}}; }

std::shared_ptr<ArenaPool> Session::Members::new_arenas() const {
  return std::make_shared<ArenaPool>(accelerator);
}

std::unique_ptr<Program> Session::Members::make_program(ProgramSpec spec,
                                                        std::shared_ptr<ArenaPool> arenas) {
  return std::make_unique<Program>(
      std::make_unique<Program::Members>(*this, std::move(spec), std::move(arenas)));
}

std::unique_ptr<Program> Session::program(const Graph& graph, std::vector<std::string> feeds,
                                          std::vector<std::string> fetches,
                                          std::vector<Binding> updates, const Program* beside) {
  return members_->make_program(
      {model(), graph, std::move(feeds), std::move(fetches), std::move(updates)},
      beside ? beside->members().arenas : members_->new_arenas());
}

std::unique_ptr<Program> Session::Members::make_step(const TrainingModel& model,
                                                     std::shared_ptr<ArenaPool> arenas) {
  // Steps that skip non-finite gradients accept any feeds.
  const std::size_t losses = model.checks.empty() ? model.losses.size() : 0;
  return make_program({model, model.step, model.feed_values(), step_fetches(model), model.updates,
                       losses * model.replicas},
                      std::move(arenas));
}

std::unique_ptr<Program> Session::Members::make_inference(const TrainingModel& model,
                                                          std::shared_ptr<ArenaPool> arenas) {
  const Graph& graph = model.inference;
  const std::set<std::string> names(states.names().begin(), states.names().end());
  std::vector<std::string> inputs, outputs;
  for (Value input : graph.inputs())
    if (!names.contains(graph.name(input))) inputs.push_back(graph.name(input));
  for (Value output : graph.outputs()) outputs.push_back(graph.name(output));
  return make_program({model, graph, std::move(inputs), std::move(outputs), {}}, std::move(arenas));
}

std::unique_ptr<Program> Session::step_of(const TrainingModel& model) {
  check_same_states(model, members_->model);
  return members_->make_step(model, members_->step->members().arenas);
}

std::unique_ptr<Program> Session::inference_of(const TrainingModel& model) {
  check_same_states(model, members_->model);
  return members_->make_inference(model, members_->inference->members().arenas);
}

void Session::initialise() {
  Members& m = *members_;
  m.sharing.start_anew();
  m.init->run({}, run_options(0));
  m.states.note_values();
  // Frees memory that would stay unused for the rest of the run.
  m.init->members().cache.clear();
  m.init->members().arenas = m.new_arenas();
}

void Session::load(const StateValues& values) { members_->states.write_all(values); }

StateValues Session::save() const {
  StateValues values;
  for (const State& state : model().states)
    if (is_saved(state.kind))
      for (const std::string& name : state.values) values.emplace(name, read(name));
  return values;
}

Literal Session::read(const std::string& state) const { return members_->states.read(state); }
void Session::write(const std::string& state, const Literal& value) {
  members_->states.write(state, value);
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
