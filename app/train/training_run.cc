// SPDX-License-Identifier: Apache-2.0
#include "app/train/training_run.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "app/trace/recorder.h"
#include "app/train/checkpoint_keys.h"
#include "app/train/partitioned_steps.h"
#include "app/train/saved_numbers.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/nanoseconds.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

// Keys of a checkpoint.
constexpr const char* kRounds = "rounds";
constexpr const char *kProcesses = "processes", *kReplicas = "replicas", *kThreads = "threads";

std::string rounds_in(const Metadata& saved) {
  const auto found = saved.find(kRounds);
  return found == saved.end() ? "" : found->second;
}

}  // namespace

std::vector<std::unique_ptr<TrainingRun::Form>> TrainingRun::forms_with(
    std::vector<TrainingModel> steps) {
  std::vector<std::unique_ptr<Form>> forms;
  for (TrainingModel& step : steps) forms.push_back(std::make_unique<Form>(std::move(step)));
  return forms;
}

Metadata to_be_remembered(Learning& task) {
  Metadata metadata = remembered(task.keys(), task.settings());
  for (const auto& entry : task.also_remembered()) metadata.insert(entry);
  return metadata;
}

TrainingRun::TrainingRun(Learning& task, std::vector<TrainingModel> steps, int threads, Comm* comm)
    : task_(task),
      settings_(task.settings()),
      comm_(comm),
      replicas_(settings_.replicas() * (comm ? comm->size() : 1)),
      forms_(forms_with(std::move(steps))),
      number_names_(numbers_of(model())),
      losses_(comm) {
  check_names_to_store(model());
  session_ = std::make_unique<Session>(model(), all_devices(settings_.run), all_kernels(),
                                       session_options(settings_, threads, comm));
}

// Destroys programs before their session.
TrainingRun::~TrainingRun() {
  for (const auto& form : forms_) form->own.reset();
}

void TrainingRun::open_data(const std::string& rounds) {
  task_.open(*session_, rows_of_process(task_, model()));
  for (const auto& form : forms_)
    for (const auto& [key, value] : task_.metadata()) form->model.metadata[key] = value;
  rounds_ = task_.rounds();
  if (rounds_) {
    const std::vector<std::string> more = rounds_->number_names();
    number_names_.insert(number_names_.end(), more.begin(), more.end());
    rounds_->restore(rounds);
    return;
  }
  const MinibatchSource& source = task_.minibatches();
  loader_ = std::make_unique<Loader>(source, task_.reading_threads());
  check(source.forms().size() == forms_.size(), "internal: ", source.forms().size(),
        " forms of minibatches for ", forms_.size(), " steps");
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    Form& form = *forms_[i];
    form.tensors = source.forms()[i];
    form.feeds.emplace(form.model,
                       task_.divides_rows() ? WholeRun{task_.images_of_step()} : WholeRun{});
    if (i > 0) form.own = session_->step_of(form.model);
    form.step = form.own ? form.own.get() : &session_->step();
  }
}

TrainingRun::Form& TrainingRun::form_of(int64_t step) {
  return *forms_[task_.minibatches().form(step)];
}

int64_t TrainingRun::start() {
  set_first_values();
  open_data("");
  task_.check_pictures();
  return 0;
}

void TrainingRun::set_first_values() {
  task_.check_start();
  session_->initialise();
  if (const auto weights = task_.first_weights())
    weights_report_ = load_weights(*session_, *weights).lines;
}

int64_t TrainingRun::resume(const std::string& checkpoint) {
  std::vector<std::string> report;
  resumed_ = load_checkpoint(*session_, checkpoint, [&](Metadata saved) {
    task_.take_inferred(saved);
    const Metadata now = to_be_remembered(task_);
    report = renew(saved, now, task_.remembered_before(), checkpoint);
    std::string unknown = text_of_unknown(saved, task_.also_remembered(), checkpoint);
    if (!unknown.empty()) report.push_back(std::move(unknown));
    check_remembered(now, saved, checkpoint, replicas_);
    check_averages(saved, settings_.step.options.average.decay, checkpoint);
    whole_number(saved, "steps", 0, kMostSteps, checkpoint);
  });
  last_checkpoint_ = checkpoint;
  last_start_ = whole_number(resumed_, "steps", 0, kMostSteps, checkpoint);
  if (lacks_checksums(resumed_)) report.push_back(unchecked_line(checkpoint));
  weights_report_ = std::move(report);
  check(last_start_ <= settings_.schedule.max_iter, "SOLVER.MAX_ITER is ",
        settings_.schedule.max_iter, ", but ", checkpoint, " is from iteration ", last_start_,
        "; increase SOLVER.MAX_ITER to continue");
  open_data(rounds_in(resumed_));
  check(!rounds_ || !rounds_->has_text() || !rounds_in(resumed_).empty(), checkpoint,
        ": its metadata lacks '", kRounds, "'");
  return last_start_;
}

// Another order of sums or other updates can change bits. Older checkpoints have fewer entries.
std::string TrainingRun::change_of_bits() const {
  const std::string keys = changed_since(resumed_, deciding_bits(task_.keys()));
  std::string numbers;
  for (const auto& [name, now] : {std::pair<const char*, int64_t>{kProcesses, processes()},
                                  {kReplicas, replicas_},
                                  {kThreads, session_->threads()}}) {
    const auto then = resumed_.find(name);
    if (then == resumed_.end() || then->second == std::to_string(now)) continue;
    numbers += join(numbers.empty() ? "; " : ", ", "the number of ", name, " was ",
                    printable(then->second), " and is ", now, " now");
  }
  const std::string changes = (keys.empty() ? "" : " with " + keys) + numbers;
  return changes.empty() ? "" : changes + ": bits may differ from an uninterrupted run's";
}

void TrainingRun::save(const std::string& checkpoint, int64_t steps_done, const Metadata& more) {
  check_losses(steps_done - 1);
  // The loss of the last step was finite; effects of its update would show only in the next step.
  const std::string lost = lost_value(*session_);
  check(lost.empty(), "after iteration ", steps_done, " ", lost, ". The learning rate was ",
        learning_rate(settings_.schedule, steps_done - 1),
        "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. ", intact());
  Metadata metadata = to_be_remembered(task_);
  metadata.merge(deciding_bits(task_.keys()));
  metadata.insert(more.begin(), more.end());
  metadata.insert({{"steps", std::to_string(steps_done)},
                   {kProcesses, std::to_string(processes())},
                   {kReplicas, std::to_string(replicas_)},
                   {kThreads, std::to_string(session_->threads())}});
  if (rounds_ && rounds_->has_text()) metadata.emplace(kRounds, rounds_->text());
  // A file that this run neither wrote nor resumed is not kept as the previous checkpoint.
  save_checkpoint(*session_, checkpoint, metadata,
                  {.keep_previous = last_checkpoint_ == checkpoint});
  last_checkpoint_ = checkpoint;
  last_start_ = steps_done;
}

DataSupply TrainingRun::supply() const {
  DataSupply supply{data_seconds_ + (rounds_ ? rounds_->gathering_seconds() : 0), {}};
  if (loader_) supply.queue = loader_->queue() + (ahead_ >= 0 ? 1 : 0);
  return supply;
}

// Sets the rows of the minibatch, which each replica reads in place.
TrainingRun::Form& TrainingRun::set_rows(int64_t step) {
  const int64_t begins = nanoseconds_now();
  const std::span<const Tensor> batch = loader_->get(step);
  Form& form = form_of(step);
  for (std::size_t i = 0; i < batch.size(); ++i) form.feeds->set(form.tensors[i].name, batch[i]);
  const int64_t ends = nanoseconds_now();
  data_seconds_ += static_cast<double>(ends - begins) * 1e-9;
  if (recorder_) recorder_->add("wait for data", TraceKind::data, begins, ends);
  return form;
}

TrainingRun::Form& TrainingRun::feed(int64_t step) {
  const bool is_set = std::exchange(ahead_, -1) == step;
  Form& form = is_set ? form_of(step) : set_rows(step);
  set_rates(form, step);
  return form;
}

void TrainingRun::set_rates(Form& form, int64_t step) const {
  form.feeds->set(Role::rate, learning_rate(settings_.schedule, step));
  if (form.feeds->has(Role::correction))
    form.feeds->set(Role::correction, momentum_correction(settings_.schedule, step));
}

// Never waits for data: the step would count the wait, though devices need no data meanwhile. An
// error of reading is thrown by the step of the minibatch, which reads the data again.
void TrainingRun::feed_ahead(int64_t step) {
  if (step >= settings_.schedule.max_iter || !loader_->is_ready(step)) return;
  Form* form = nullptr;
  try {
    form = &set_rows(step);
  } catch (const std::exception&) {
    return;
  }
  set_rates(*form, step);  // a form that has taken no step yet has no rates
  form->step->feed_ahead(form->feeds->tensors());
  ahead_ = step;
}

StepResult TrainingRun::run_step(int64_t step, NotFinite* not_finite) {
  if (rounds_) return rounds_->run(step, not_finite);
  const bool is_ahead = ahead_ == step;
  Form& form = feed(step);
  RunOptions options = session_->run_options(static_cast<uint64_t>(step));
  options.fed_ahead = is_ahead;
  if (!not_finite) options.meanwhile = [this, step] { feed_ahead(step + 1); };
  options.not_finite = not_finite;
  options.blame_feeds = false;  // all processes first agree on the culprit
  const Results answers(form.model, form.step->run(form.feeds->tensors(), options),
                        form.feeds->shares());
  return result_of(form.model, answers);
}

StepResult TrainingRun::step(int64_t step) {
  constexpr int64_t kMostSkipped = 10;
  StepResult result = timed_step(step);
  skipped_in_a_row_ = result.skipped.empty() ? 0 : skipped_in_a_row_ + 1;
  check(skipped_in_a_row_ < kMostSkipped, kMostSkipped,
        " steps in a row were skipped because gradients were not finite; lower SOLVER.BASE_LR or "
        "lengthen SOLVER.WARM_UP_ITERS. Step ",
        step, ": ", result.skipped);
  // With deferred gradients the previous step overflowed; the next step checks this step.
  const bool judged_later = settings_.step.options.deferred && !model().checks.empty();
  result.counts = judged_later ? std::isfinite(result.loss) : result.skipped.empty();
  if (!result.counts) {
    result.loss = 0;
    std::fill(result.numbers.begin(), result.numbers.end(), 0.F);
  } else if (!judged_later) {
    losses_.note(step, result.loss);
  }
  if (losses_.is_time(step) || ends_window(step)) check_losses(step);
  return result;
}

// True if replicas are compared, saved or tested after the step.
bool TrainingRun::ends_window(int64_t step) const {
  const int64_t done = step + 1;
  return done == settings_.schedule.max_iter || done % settings_.drift_iters == 0 ||
         done % settings_.snapshot_iters == 0 || done % settings_.test_iters == 0;
}

void TrainingRun::check_losses(int64_t step) {
  if (const auto bad = losses_.agree(step)) explain(*bad);
}

void TrainingRun::explain(const BadLoss& bad) {
  const std::string what = join("the loss is ", bad.value, comm_ ? join(" on rank ", bad.rank) : "",
                                " at iteration ", bad.step + 1);
  const std::string from = last_checkpoint_.empty() ? "from the start"
                                                    : join("from the checkpoint after iteration ",
                                                           last_start_, ", ", last_checkpoint_);
  // If the step's batch is the cause, no step is repeated.
  if (!rounds_) feed(bad.step);
  Found found{bad.step, foremost(comm_, suspect_of(fed_in(bad.step), {}))};
  if (found.culprit.text.empty()) {
    say_(join(what, "; to find the cause, ", bad.step + 1 - last_start_,
              bad.step == last_start_ ? " iteration is" : " iterations are", " repeated ", from,
              ", with every value checked"));
    found = search(bad.step);
  }
  check(!found.culprit.text.empty(), what, ", but was finite when the run was repeated ", from);
  const bool fed = found.culprit.kind == Suspect::Kind::fed;
  fail(what, "; ", found.culprit.text, ", at iteration ", found.step + 1, ". ",
       fed ? ""
           : join("The learning rate was ", learning_rate(settings_.schedule, found.step),
                  "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. "),
       intact());
}

std::string TrainingRun::fed_in(int64_t step) {
  if (rounds_) return rounds_->not_finite_in(step);
  Form& form = form_of(step);
  return fed_not_finite(form.model, form.feeds->tensors());
}

std::string TrainingRun::intact() const {
  return last_checkpoint_.empty() ? "No checkpoint was written yet."
                                  : "The last checkpoint, " + last_checkpoint_ + ", is intact.";
}

// Steps are deterministic, so the failure can be reproduced with all values checked.
TrainingRun::Found TrainingRun::search(int64_t last) {
  if (last_checkpoint_.empty()) {
    set_first_values();
    if (rounds_) rounds_->restore("");
  } else {
    const Metadata saved = load_checkpoint(*session_, last_checkpoint_);
    if (rounds_) rounds_->restore(rounds_in(saved));
  }
  for (int64_t step = last_start_; step <= last; ++step) {
    NotFinite computed;
    const StepResult result = run_step(step, &computed);
    if (!result.skipped.empty()) continue;  // a skipped step did no harm
    const Suspect mine = suspect_of(fed_in(step), computed);
    if (Suspect culprit = foremost(comm_, mine); !culprit.text.empty()) return {step, culprit};
  }
  return {};
}

}  // namespace lockstep
