// SPDX-License-Identifier: Apache-2.0
#include "app/step/run.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "app/config/read.h"
#include "app/format.h"
#include "app/onnx/initializer_notes.h"
#include "app/onnx/network_file.h"
#include "app/step/config.h"
#include "app/step/data.h"
#include "app/step/places.h"
#include "app/step/results.h"
#include "app/step/state_file.h"
#include "app/trace/steps_trace.h"
#include "app/train/saved_numbers.h"
#include "app/train/step_result.h"
#include "builders/net/trained_initializers.h"
#include "graph/new_values.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "runtime/finite.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

// Prints which initializers are trained.
TrainingModel step_of(const StepRequest& request, const StepConfig& config,
                      const std::shared_ptr<const LoadedModel>& file) try {
  DataParallelOptions options = options_of(config.step, config.run);
  const TrainingPatterns patterns{options.frozen, config.trained.train, config.trained.batch_norms};
  const InitializerChoices choices = choose_some_initializers(*file, request.loss, patterns);
  ImportedOptions imported;
  imported.train_batch_norm = patterns.batch_norms;
  imported.trainable = choices.trained();
  options.frozen.clear();  // frozen initializers are not parameters
  for (const std::string& note : notes_on(*file, choices)) std::cout << note << "\n";
  const bool corrects = config.schedule.scale_momentum && !config.has_constant_rate();
  return build_data_parallel_model(all_ops(), imported_model(file, request.loss, imported),
                                   optimizer_of(config.optimizer, corrects), options);
} catch (const Error& error) {
  rethrow_as(error, request.network, ", --loss ", request.loss, ": ", error);
}

// Runs steps of a session, and checks that their numbers are finite.
class Steps {
 public:
  Steps(const StepRequest& request, const StepConfig& config, Session& session, StepData& data)
      : request_(request), config_(config), session_(session), data_(data), feeds_(model()) {
    for (const StepInput& input : model().inputs)
      if (input.role == Role::data) fed_.insert(input.feed());
    std::vector<std::string> fetches = model().fetch_values();
    results_ = fetches.size();
    for (const Replicated& gradient : model().gradients) fetches.push_back(gradient.values[0]);
    program_ = session.program(model().step, model().feed_values(), fetches, model().updates);
  }

  // Runs step number `step`.
  void run(int64_t step) {
    inputs_ = &data_.at(step);
    for (const std::string& name : fed_) feeds_.set(name, view_of(inputs_->at(name)));
    feeds_.set(Role::rate, learning_rate(config_.schedule, step));
    if (feeds_.has(Role::correction))
      feeds_.set(Role::correction, momentum_correction(config_.schedule, step));
    const std::span<const Tensor> fetched =
        program_->run(feeds_.tensors(), session_.run_options(static_cast<uint64_t>(step)));
    gradients_ = fetched.subspan(results_);
    const StepResult result =
        result_of(model(), Results(model(), fetched.first(results_), feeds_.shares()));
    const std::string when = says_each() ? join("step ", step + 1) : "the step";
    const std::span<const Tensor> losses = fetched.first(model().replicas);
    for (const Tensor& loss : losses) check_finite(when, "the loss", loss);
    for (std::size_t i = 0; i < gradients_.size() && result.skipped.empty(); ++i)
      check_finite(when, "the gradient of '" + model().gradients[i].name + "'", gradients_[i]);
    double loss = 0;
    for (const Tensor& part : losses) loss += *part.as<float>();
    losses_.push_back(static_cast<float>(loss));
    tell(step, loss, result);
  }

  // Throws, so that values that are not finite never replace good ones.
  void check_states(int64_t step) const {
    const std::string when = says_each() ? join("step ", step + 1) : "the step";
    for (const State& state : model().states)
      if (is_result(state.kind) || is_slot(state.kind))
        check_finite(when, "'" + state.name + "'", states_of(session_).see(state.values[0]).tensor);
  }

  const std::vector<float>& losses() const { return losses_; }
  // Of the last step, valid until the next one.
  std::span<const Tensor> gradients() const { return gradients_; }

 private:
  const TrainingModel& model() const { return session_.model(); }
  bool says_each() const { return request_.steps > 1 || request_.state; }

  void tell(int64_t step, double loss, const StepResult& result) const {
    if (!says_each() && result.skipped.empty() && result.numbers.empty()) return;
    std::cout << "step " << step + 1 << ": " << printable(request_.loss) << " = " << loss;
    const std::vector<std::string> names = numbers_of(model());
    for (std::size_t i = 0; i < names.size(); ++i)
      std::cout << ", " << printable(names[i]) << " = " << result.numbers[i];
    if (!result.skipped.empty()) std::cout << "; skipped: " << result.skipped;
    std::cout << "\n";
  }

  void check_finite(const std::string& when, const std::string& subject,
                    const Tensor& tensor) const {
    const int64_t place = first_not_finite(tensor);
    if (place < 0) return;
    std::string fed;
    for (const auto& [name, value] : *inputs_)
      if (const int64_t at = first_not_finite(view_of(value)); at >= 0 && fed.empty())
        fed = join("; input '", name, "' holds ", text_of_value(view_of(value), at), " at ",
                   text_of_place(value.dims(), at));
    fail(request_.network, ": after ", when, " ", subject, " is ", text_of_value(tensor, place),
         " at ", text_of_place(tensor.desc.dims, place), fed, "; nothing is written");
  }

  const StepRequest& request_;
  const StepConfig& config_;
  Session& session_;
  StepData& data_;
  Feeds feeds_;
  const std::map<std::string, Literal>* inputs_ = nullptr;  // of the last step
  std::set<std::string> fed_;  // inputs of the step; a network may have others
  std::unique_ptr<Program> program_;
  std::size_t results_ = 0;  // fetches before the gradients
  std::vector<float> losses_;
  std::span<const Tensor> gradients_;
};

// Initialises the session, from the file of an earlier call if there is one. Returns the number of
// completed steps.
int64_t begin_steps(Session& session, std::optional<StepStateFile>& state) {
  const std::optional<int64_t> done = state ? state->read(session) : std::nullopt;
  if (done)
    std::cout << state->note() << "\n";
  else
    session.initialise();
  return done.value_or(0);
}

void check_length(const StepRequest& request, const StepConfig& config, int64_t first) {
  const int64_t most = config.ends ? config.schedule.max_iter : kMostSteps;
  check(request.steps <= most - first, Key{"SOLVER.MAX_ITER"}, " is ", most, ", but --steps ",
        request.steps, first > 0 ? join(" after ", first, " steps") : "", " would end with step ",
        first + request.steps);
}

void summarise(const StepRequest& request, const TrainingModel& model, float loss) {
  const auto computed = std::ranges::count(model.states, StateKind::computed, &State::kind);
  std::cout << printable(request.loss) << " = " << loss << "; "
            << count_of(static_cast<int64_t>(model.gradients.size()), "parameter", "parameters")
            << " updated, " << computed << " running statistics, on "
            << count_of(model.replicas, "replica", "replicas") << "\n";
}

}  // namespace

void run_steps(const StepRequest& request) {
  check(!request.loss.empty(), "--loss is empty; name the value to minimise");
  const StepConfig config = read_step_config(request);
  check_places(request);
  StepDataOptions of_data{.path = request.inputs, .batch = request.batch};
  LoadedModel network = load_network(request.network, &of_data.declared);
  StepData data(network.model.inference, of_data);
  const auto types = types_of_shares(network.model.inference, data.at(0), config.replicas(),
                                     config.step.options.micro_batches);
  const TrainingModel model = step_of(request, config, specialised(std::move(network), types));
  Session session(model, all_devices(config.run), all_kernels(),
                  session_options(config, config.run.threads, nullptr));
  if (request.new_network)
    prefixing("-o", [&] { check_initializers(request.network, renewed_initializers(session)); });
  std::optional<StepStateFile> state;
  if (request.state) state.emplace(request, config, session, data.rows());
  const int64_t first = begin_steps(session, state), end = first + request.steps;
  check_length(request, config, first);
  Steps steps(request, config, session, data);
  PrintedTrace trace(request.trace, session, {first + 1, end}, std::cout);
  for (int64_t step = first; step < end; ++step)
    trace.around(step + 1, static_cast<double>(data.rows()), [&] { steps.run(step); });
  steps.check_states(end - 1);

  const AverageOptions& average = config.step.options.average;
  if (request.new_network)
    save_with_values(request.network, new_values(session, average.active() && average.predicts),
                     *request.new_network);
  if (request.outputs)
    write_step_results(*request.outputs, request.loss, steps.losses(), steps.gradients(), session);
  if (state) state->write(session, end);
  summarise(request, model, steps.losses().back());
}

}  // namespace lockstep
