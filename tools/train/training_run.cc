#include "tools/train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

#include "builders/partition.h"
#include "graph/print.h"
#include "operators/all.h"
#include "runtime/agree.h"
#include "runtime/shared_statistics.h"
#include "tools/train/agreement.h"
#include "tools/train/remembered.h"
#include "tools/train/weights.h"

namespace lockstep {
namespace {

constexpr int64_t kTestBatch = 100;
constexpr std::size_t kPictures = 36;
constexpr int64_t kPictureSide = 64;  // larger images are shown smaller

int reading_threads(const TrainConfig& config) {
  return config.data_threads > 0 ? static_cast<int>(config.data_threads) : cpu_cores();
}

LoaderOptions training_batches(const TrainConfig& config, const Rows& rows) {
  return {.batch = config.batch_size,
          .first = rows.first,
          .count = rows.count,
          .seed = static_cast<uint64_t>(config.seed),
          .threads = reading_threads(config)};
}

LoaderOptions test_batches(const TrainConfig& config) {
  return {.batch = kTestBatch, .shuffle = false, .threads = reading_threads(config)};
}

SamplePicture picture_of(const float* image, const Dataset& data) {
  const int64_t step = (std::max(data.height(), data.width()) - 1) / kPictureSide + 1;
  SamplePicture picture;
  picture.height = static_cast<int>(data.height() / step);
  picture.width = static_cast<int>(data.width() / step);
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t plane = data.channels() == 3 ? c : 0;
        const float value = image[(plane * data.height() + y * step) * data.width() + x * step];
        // Grey data is ink on paper; both are shown at a contrast that suits normalised values.
        const float light = data.channels() == 3 ? 0.5F + 0.22F * value : 0.85F - 0.3F * value;
        picture.rgb.push_back(static_cast<uint8_t>(255 * std::clamp(light, 0.F, 1.F)));
      }
  return picture;
}

// Every process builds the step of all replicas and keeps its share; before that they make sure
// that they mean the same.
TrainingModel own_model(const TrainConfig& config, Comm* comm) {
  if (!comm) return build_configured_model(config);
  check_agreement(*comm, to_be_agreed_on(config));
  const TrainingModel whole = build_configured_model(config, comm->size());
  const std::string step = text_of(whole);
  check_agreement(*comm, {{"the plan of buckets", whole.bucket_plan},
                          {"the step graph", digest(step.data(), step.size())}});
  return partition(whole, {comm->rank(), comm->size()});
}

Rows rows_of_process(const TrainConfig& config, int64_t replicas, const TrainingModel& model) {
  const int64_t first = rows_of(config, replicas, model.first_replica, 0).first;
  const Rows last =
      rows_of(config, replicas, model.first_replica + model.replicas - 1, config.micro_batches - 1);
  return {first, last.first + last.count - first};
}

// Sums over the processes, on rank 0.
int64_t add_up(Comm& comm, int64_t hits, std::vector<std::vector<int64_t>>& confusion) {
  std::ostringstream mine;
  mine << hits;
  for (const auto& row : confusion)
    for (int64_t count : row) mine << " " << count;
  const auto texts = gather_texts(comm, mine.str(), "test results");
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    std::istringstream other(texts[rank]);
    int64_t number = 0;
    other >> number;
    hits += number;
    for (auto& row : confusion)
      for (int64_t& count : row) {
        other >> number;
        count += number;
      }
  }
  return hits;
}

}  // namespace

TrainingRun::TrainingRun(const TrainConfig& config, Comm* comm)
    : config_(config),
      comm_(comm),
      replicas_(static_cast<int64_t>(parse_devices(config.devices).size()) *
                (comm ? comm->size() : 1)),
      train_(dataset_named(dataset_of(config, false))),
      test_(dataset_named(dataset_of(config, true))),
      model_(own_model(config, comm)),
      rows_(rows_of_process(config, replicas_, model_)),
      loader_(*train_, training_batches(config, rows_)),
      test_loader_(*test_, test_batches(config)) {
  check(train_->classes() <= config.classes, "MODEL.NUM_CLASSES is ", config.classes,
        " but the data has ", train_->classes(), " classes");
  check(test_->classes() <= train_->classes(), "the held-out data has ", test_->classes(),
        " classes, the training data ", train_->classes());
  session_ = std::make_unique<Session>(
      model_, parse_devices(config.devices), all_kernels(),
      SessionOptions{static_cast<uint64_t>(config.seed), static_cast<int>(config.threads),
                     CompileOptions{.tf32 = config.tf32}, comm});
  images_.resize(static_cast<std::size_t>(rows_.count * train_->image_values()));
  labels_.resize(static_cast<std::size_t>(rows_.count));
  make_feeds();
}

// Each replica reads its rows of the batch in place.
void TrainingRun::make_feeds() {
  weights_.resize(static_cast<std::size_t>(model_.replicas * config_.micro_batches));
  for (const Replicated& input : model_.inputs) {
    // micro_2/data is what goes through the network as part 2.
    const bool later = input.name.rfind("micro_", 0) == 0;
    const int64_t part = later ? std::atoll(input.name.c_str() + 6) : 0;
    const std::string name = later ? input.name.substr(input.name.find('/') + 1) : input.name;
    for (int64_t k = 0; k < model_.replicas; ++k) {
      const Rows rows = rows_of(config_, replicas_, model_.first_replica + k, part);
      const int64_t first = rows.first - rows_.first;
      float& weight = weights_[static_cast<std::size_t>(k * config_.micro_batches + part)];
      weight = static_cast<float>(rows.count) / static_cast<float>(config_.batch_size);
      if (name == "label")
        feeds_.push_back({{DType::int64, {rows.count}}, labels_.data() + first});
      else if (name == "lr")
        feeds_.push_back({{DType::float32, {1}}, &rate_});
      else if (name == "momentum_correction")
        feeds_.push_back({{DType::float32, {1}}, &correction_});
      else if (name == "loss_weight")
        feeds_.push_back({{DType::float32, {}}, &weight});
      else  // the images, whatever a brought network calls them
        feeds_.push_back(
            {{DType::float32, {rows.count, train_->channels(), train_->height(), train_->width()}},
             images_.data() + first * train_->image_values()});
    }
  }
}

int64_t TrainingRun::start() {
  session_->initialise();
  if (!config_.weights.empty())
    weights_report_ =
        load_weights(*session_, {config_.weights, config_.new_classifier, config_.classes});
  return 0;
}

int64_t TrainingRun::resume(const std::string& checkpoint) {
  Metadata metadata = load_checkpoint(*session_, checkpoint, [&](const Metadata& saved) {
    check_remembered(config_, saved, checkpoint, replicas_);
  });
  last_checkpoint_ = checkpoint;
  last_start_ = std::atoll(metadata["steps"].c_str());
  return last_start_;
}

void TrainingRun::save(const std::string& checkpoint, int64_t steps_done) {
  Metadata metadata = remembered(config_);
  metadata.insert({{"steps", std::to_string(steps_done)},
                   {"replicas", std::to_string(replicas_)},
                   {"threads", std::to_string(session_->threads())},
                   {"format", "lockstep checkpoint 1"}});
  save_checkpoint(*session_, checkpoint, metadata);
  last_checkpoint_ = checkpoint;
  last_start_ = steps_done;
}

void TrainingRun::feed(int64_t step) {
  auto start = std::chrono::steady_clock::now();
  const Batch& batch = loader_.get(step);
  std::copy(batch.images.begin(), batch.images.end(), images_.begin());
  std::copy(batch.labels.begin(), batch.labels.end(), labels_.begin());
  rate_ = learning_rate(config_.schedule, step);
  correction_ = momentum_correction(config_.schedule, step);
  data_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

StepResult TrainingRun::run_step(int64_t step, bool check_finite) {
  feed(step);
  RunOptions options = session_->run_options(static_cast<uint64_t>(step));
  options.check_finite = check_finite;
  auto fetched = session_->step().run(feeds_, options);
  StepResult result;
  std::size_t next = 0;
  const auto replicas = static_cast<std::size_t>(model_.replicas);
  for (std::size_t i = 0; i < model_.losses.size() * replicas; ++i)
    result.loss += *fetched[next++].as<float>();
  // What this process adds to the mean over all.
  for (std::size_t k = 0; k < replicas; ++k)
    result.accuracy += *fetched[next++].as<float>() / static_cast<float>(replicas_);
  result.skipped = why_skipped(fetched.subspan(next));
  return result;
}

// Every replica knows that the step was skipped; the one where it began knows why.
std::string TrainingRun::why_skipped(std::span<const Tensor> checks) const {
  if (checks.empty() || *checks[0].as<int64_t>() < 0) return "";
  const auto replicas = static_cast<std::size_t>(model_.replicas);
  for (std::size_t k = 0; k < replicas; ++k) {
    const int64_t origin = *checks[replicas + k].as<int64_t>();
    if (origin >= 0)
      return join("the gradient '", model_.gradients[static_cast<std::size_t>(origin)].name,
                  "' of replica ", model_.first_replica + static_cast<int64_t>(k),
                  " is not finite");
  }
  return "a gradient of another process is not finite";
}

StepResult TrainingRun::step(int64_t step) {
  constexpr int64_t kMostSkipped = 10;
  StepResult result = run_step(step, false);
  skipped_in_a_row_ = result.skipped.empty() ? 0 : skipped_in_a_row_ + 1;
  check(skipped_in_a_row_ < kMostSkipped, kMostSkipped, " steps in a row were skipped, up to ",
        step, ": ", result.skipped);
  // Deferred, it was the step before that overflowed; this one's turn comes in the next.
  const bool judged_later = config_.deferred && !model_.checks.empty();
  result.counts = judged_later ? std::isfinite(result.loss) : result.skipped.empty();
  if (!result.counts)
    result.loss = result.accuracy = 0;
  else if (!std::isfinite(result.loss))
    explain(step, result.loss);
  return result;
}

// Every run of a step gives the same bits, so the failure can be watched in slow motion.
void TrainingRun::explain(int64_t step, float loss) {
  const std::string what = join("the loss is ", loss, " at iteration ", step);
  check(!comm_, what, " on rank ", comm_ ? comm_->rank() : 0,
        "; SOLVER.SKIP_NON_FINITE true names the replica and the gradient where it begins");
  if (last_checkpoint_.empty())
    start();
  else
    load_checkpoint(*session_, last_checkpoint_);
  try {
    for (int64_t again = last_start_; again <= step; ++again) run_step(again, true);
  } catch (const Error& error) {
    fail(what, "; ", error.what(), ". The learning rate was ", rate_,
         "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. ",
         last_checkpoint_.empty() ? "No checkpoint was written yet."
                                  : "The last checkpoint, " + last_checkpoint_ + ", is intact.");
  }
  fail(what, ", and was finite when the run was repeated from iteration ", last_start_);
}

TestResult TrainingRun::test() {
  TestResult result;
  with_statistics_of_rank_0(*session_, [&] { result = test_own_part(); });
  if (comm_) result.hits = add_up(*comm_, result.hits, result.confusion);
  result.accuracy = static_cast<double>(result.hits) / static_cast<double>(test_->size());
  return result;
}

TestResult TrainingRun::test_own_part() {
  TestResult result;
  result.confusion.assign(config_.classes, std::vector<int64_t>(config_.classes, 0));
  std::vector<SamplePicture> right;
  const int64_t stride = comm_ ? comm_->size() : 1, start = comm_ ? comm_->rank() : 0;
  for (int64_t first = start * kTestBatch; first < test_->size(); first += stride * kTestBatch) {
    const int64_t count = std::min(kTestBatch, test_->size() - first);
    const Batch& batch = test_loader_.get(first / kTestBatch);
    Tensor feed{{DType::float32, {count, test_->channels(), test_->height(), test_->width()}},
                const_cast<float*>(batch.images.data())};
    const float* prob =
        session_->inference().run({&feed, 1}, session_->run_options(0))[0].as<float>();
    for (int64_t i = 0; i < count; ++i) {
      const float* row = prob + i * config_.classes;
      const int64_t label = batch.labels[static_cast<std::size_t>(i)];
      const int64_t guess = std::max_element(row, row + config_.classes) - row;
      ++result.confusion[label][guess];
      result.hits += guess == label;
      auto& list = guess == label ? right : result.samples;
      if (list.size() >= kPictures) continue;
      SamplePicture picture = picture_of(batch.images.data() + i * test_->image_values(), *test_);
      picture.label = test_->class_name(label);
      picture.guess = guess < test_->classes() ? test_->class_name(guess) : std::to_string(guess);
      list.push_back(std::move(picture));
    }
  }
  for (SamplePicture& picture : right)
    if (result.samples.size() < kPictures) result.samples.push_back(std::move(picture));
  return result;
}

}  // namespace lockstep
