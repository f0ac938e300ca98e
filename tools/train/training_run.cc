#include "tools/train/training_run.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <set>
#include <sstream>

#include "operators/all.h"
#include "runtime/dist/agree.h"
#include "runtime/state/safetensors.h"
#include "tools/predict/trained_network.h"
#include "tools/train/agreement.h"
#include "tools/train/remembered.h"
#include "tools/train/weights.h"

namespace lockstep {
namespace {

LoaderOptions training_batches(const TrainConfig& config, const Rows& rows) {
  return {.batch = config.batch_size,
          .first = rows.first,
          .count = rows.count,
          .seed = static_cast<uint64_t>(config.seed),
          .threads = reading_threads(config)};
}

Rows rows_of_process(const TrainConfig& config, int64_t replicas, const TrainingModel& model) {
  const BatchShares shares = shares_of(config, replicas);
  const int64_t first = shares.rows(model.first_replica, 0).first;
  const Rows last = shares.rows(model.first_replica + model.replicas - 1, shares.parts - 1);
  return {first, last.first + last.count - first};
}

// Labels are numbers, which mean the same only if the class names agree.
void check_same_classes(const Dataset& train, const Dataset& held_out) {
  check(held_out.classes() <= train.classes(), "the held-out data has ", held_out.classes(),
        " classes, the training data ", train.classes());
  for (int64_t label = 0; label < held_out.classes(); ++label)
    check(held_out.class_name(label) == train.class_name(label), "class ", label, " is '",
          train.class_name(label), "' in the training data and '", held_out.class_name(label),
          "' in the held-out data");
}

}  // namespace

int64_t whole_number(const Metadata& metadata, const std::string& key, int64_t least, int64_t most,
                     const std::string& path) {
  const auto found = metadata.find(key);
  check(found != metadata.end(), path, ": its metadata lacks '", key, "'");
  const std::string& text = found->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        path, ": its metadata has ", key, " '", text, "', should be an integer from ", least,
        " to ", most);
  return value;
}

TrainingRun::TrainingRun(const TrainConfig& config, Comm* comm)
    : config_(config),
      comm_(comm),
      replicas_(config.replicas() * (comm ? comm->size() : 1)),
      model_(build_own_model(config, comm)),
      rows_(rows_of_process(config, replicas_, model_)),
      losses_(comm) {
  check_names_to_store(model_);
  session_ = std::make_unique<Session>(model_, config.run.devices.list, all_kernels(),
                                       session_options(config, comm));
}

void TrainingRun::open_data() {
  train_ = dataset_named(dataset_of(config_, false));
  check(train_->classes() <= config_.classes, "MODEL.NUM_CLASSES is ", config_.classes,
        " but the data has ", train_->classes(), " classes");
  model_.metadata = picture_metadata(*train_);
  held_out_ = std::make_unique<HeldOut>(config_, *session_);
  check_same_classes(*train_, held_out_->data());
  loader_ = std::make_unique<Loader>(*train_, training_batches(config_, rows_));
  images_.resize(static_cast<std::size_t>(rows_.count * train_->image_values()));
  labels_.resize(static_cast<std::size_t>(rows_.count));
  make_feeds();
}

// Each replica reads its rows of the batch in place.
void TrainingRun::make_feeds() {
  feeds_ = std::make_unique<Feeds>(model_, WholeRun{config_.batch_size});
  std::set<std::string> names;
  for (const StepInput& input : model_.inputs)
    if (input.role == Role::data) names.insert(input.feed());
  for (const std::string& name : names)
    if (name == "label")
      feeds_->set(name, {{DType::int64, {rows_.count}}, labels_.data()});
    else  // the images, whatever a user's network calls them
      feeds_->set(name, {{DType::float32,
                          {rows_.count, train_->channels(), train_->height(), train_->width()}},
                         images_.data()});
}

int64_t TrainingRun::start() {
  set_first_values();
  open_data();
  return 0;
}

void TrainingRun::set_first_values() {
  session_->initialise();
  if (!config_.weights.empty())
    weights_report_ =
        load_weights(*session_, {config_.weights, config_.new_classifier, config_.classes});
}

int64_t TrainingRun::resume(const std::string& checkpoint) {
  resumed_ = load_checkpoint(*session_, checkpoint, [&](const Metadata& saved) {
    check_remembered(config_, saved, checkpoint, replicas_);
    whole_number(saved, "steps", 0, kMostSteps, checkpoint);
  });
  last_checkpoint_ = checkpoint;
  last_start_ = whole_number(resumed_, "steps", 0, kMostSteps, checkpoint);
  if (lacks_checksums(resumed_)) weights_report_ = {unchecked_line(checkpoint)};
  check(last_start_ <= config_.schedule.max_iter, "SOLVER.MAX_ITER is ", config_.schedule.max_iter,
        ", but ", checkpoint, " is from iteration ", last_start_,
        "; increase SOLVER.MAX_ITER to continue");
  open_data();
  return last_start_;
}

void TrainingRun::save(const std::string& checkpoint, int64_t steps_done, const Metadata& more) {
  check_losses(steps_done - 1);
  // The loss of the last step was finite; effects of its update would show in the next step only.
  const std::string lost = lost_value(*session_);
  check(lost.empty(), "after iteration ", steps_done, " ", lost, ". The learning rate was ",
        learning_rate(config_.schedule, steps_done - 1),
        "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. ", intact());
  Metadata metadata = remembered(config_);
  metadata.insert(more.begin(), more.end());
  metadata.insert({{"steps", std::to_string(steps_done)},
                   {"replicas", std::to_string(replicas_)},
                   {"threads", std::to_string(session_->threads())}});
  // A file that this run neither wrote nor resumed is not kept as the previous checkpoint.
  save_checkpoint(*session_, checkpoint, metadata,
                  {.keep_previous = last_checkpoint_ == checkpoint});
  last_checkpoint_ = checkpoint;
  last_start_ = steps_done;
}

void TrainingRun::feed(int64_t step) {
  auto start = std::chrono::steady_clock::now();
  const Batch& batch = loader_->get(step);
  std::copy(batch.images.begin(), batch.images.end(), images_.begin());
  std::copy(batch.labels.begin(), batch.labels.end(), labels_.begin());
  feeds_->set(Role::rate, learning_rate(config_.schedule, step));
  if (feeds_->has(Role::correction))
    feeds_->set(Role::correction, momentum_correction(config_.schedule, step));
  data_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

StepResult TrainingRun::run_step(int64_t step, NotFinite* not_finite) {
  feed(step);
  RunOptions options = session_->run_options(static_cast<uint64_t>(step));
  options.not_finite = not_finite;
  options.blame_feeds = false;  // all processes first agree on the culprit
  const Answers answers = session_->run_step(*feeds_, options);
  StepResult result;
  result.loss = answers.loss();
  result.accuracy = answers.share_of_metric("accuracy");
  if (const auto skipped = answers.skipped()) {
    result.skipped_here = skipped->replica >= 0;
    result.skipped = result.skipped_here ? join("the gradient '", skipped->gradient,
                                                "' of replica ", skipped->replica, " is not finite")
                                         : "a gradient of another process is not finite";
  }
  return result;
}

StepResult TrainingRun::step(int64_t step) {
  constexpr int64_t kMostSkipped = 10;
  StepResult result = run_step(step);
  skipped_in_a_row_ = result.skipped.empty() ? 0 : skipped_in_a_row_ + 1;
  check(skipped_in_a_row_ < kMostSkipped, kMostSkipped, " steps in a row were skipped, up to ",
        step, ": ", result.skipped);
  // With deferred gradients it was the previous step that overflowed; this step's check comes in
  // the next.
  const bool judged_later = config_.step.options.deferred && !model_.checks.empty();
  result.counts = judged_later ? std::isfinite(result.loss) : result.skipped.empty();
  if (!result.counts)
    result.loss = result.accuracy = 0;
  else if (!judged_later)
    losses_.note(step, result.loss);
  if (losses_.is_time(step) || ends_window(step)) check_losses(step);
  return result;
}

// After such a step replicas are compared, saved or tested.
bool TrainingRun::ends_window(int64_t step) const {
  const int64_t done = step + 1;
  return done == config_.schedule.max_iter || done % config_.drift_iters == 0 ||
         done % config_.snapshot_iters == 0 || done % config_.test_iters == 0;
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
  // If the step's batch is to blame, nothing needs to be repeated.
  feed(bad.step);
  Found found{bad.step, foremost(comm_, suspect_of(fed_not_finite(model_, feeds_->tensors()), {}))};
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
           : join("The learning rate was ", learning_rate(config_.schedule, found.step),
                  "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. "),
       intact());
}

std::string TrainingRun::intact() const {
  return last_checkpoint_.empty() ? "No checkpoint was written yet."
                                  : "The last checkpoint, " + last_checkpoint_ + ", is intact.";
}

// Steps are deterministic, so the failure can be reproduced with all values checked.
TrainingRun::Found TrainingRun::search(int64_t last) {
  if (last_checkpoint_.empty())
    set_first_values();
  else
    load_checkpoint(*session_, last_checkpoint_);
  for (int64_t step = last_start_; step <= last; ++step) {
    NotFinite computed;
    const StepResult result = run_step(step, &computed);
    if (!result.skipped.empty()) continue;  // it was harmless
    const Suspect mine = suspect_of(fed_not_finite(model_, feeds_->tensors()), computed);
    if (Suspect culprit = foremost(comm_, mine); !culprit.text.empty()) return {step, culprit};
  }
  return {};
}

}  // namespace lockstep
