#include "tools/train/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "builders/data_parallel.h"
#include "models/models.h"
#include "operators/all.h"

namespace lockstep {
namespace {

DatasetOptions dataset_of(const TrainConfig& config, bool held_out) {
  return {config.dataset, held_out ? config.test_size : config.train_size,
          static_cast<uint64_t>(config.seed), held_out};
}

// Keys that decide what a checkpoint's numbers mean; the others may change between sessions.
const char* const kFixedKeys[] = {"MODEL.TYPE",      "MODEL.NUM_CLASSES", "MODEL.HIDDEN",
                                  "DATA.NAME",       "DATA.TRAIN_SIZE",   "RNG_SEED",
                                  "TRAIN.BATCH_SIZE"};

std::string entry(const TrainConfig& config, const std::string& key) {
  for (const auto& [name, value] : config.entries())
    if (name == key) return value;
  return "";
}

}  // namespace

TrainingModel build_configured_model(const TrainConfig& config) {
  ClassifierOptions options;
  options.classes = config.classes;
  options.hidden = config.hidden;
  auto devices = parse_devices(config.devices);
  return build_data_parallel_model(all_ops(), model_named(config.model, options), config.optimizer,
                                   {.replicas = static_cast<int>(devices.size()),
                                    .scope = devices[0].kind == DeviceKind::cpu ? "cpu" : "gpu"});
}

TrainingRun::TrainingRun(const TrainConfig& config)
    : config_(config),
      train_(dataset_named(dataset_of(config, false))),
      test_(dataset_named(dataset_of(config, true))),
      source_(*train_, config.batch_size, static_cast<uint64_t>(config.seed)),
      model_(build_configured_model(config)) {
  check(train_->classes() <= config.classes, "MODEL.NUM_CLASSES is ", config.classes,
        " but the data has ", train_->classes(), " classes");
  session_ = std::make_unique<Session>(
      model_, parse_devices(config.devices), all_kernels(),
      SessionOptions{static_cast<uint64_t>(config.seed), static_cast<int>(config.threads), {}});
  images_.resize(static_cast<std::size_t>(config.batch_size * train_->image_values()));
  labels_.resize(static_cast<std::size_t>(config.batch_size));

  // Each replica reads its rows of the batch in place.
  const int64_t rows = config.batch_size / model_.replicas;
  for (const Replicated& input : model_.inputs)
    for (int64_t k = 0; k < model_.replicas; ++k) {
      if (input.name == "data")
        feeds_.push_back(
            {{DType::float32, {rows, train_->channels(), train_->height(), train_->width()}},
             images_.data() + k * rows * train_->image_values()});
      else if (input.name == "label")
        feeds_.push_back({{DType::int64, {rows}}, labels_.data() + k * rows});
      else if (input.name == "lr")
        feeds_.push_back({{DType::float32, {1}}, &rate_});
      else
        fail("the model has an input '", input.name, "' that a data set of labelled images lacks");
    }
}

int64_t TrainingRun::start() {
  session_->initialise();
  return 0;
}

int64_t TrainingRun::resume(const std::string& checkpoint) {
  Metadata metadata = load_checkpoint(*session_, checkpoint);
  for (const char* key : kFixedKeys) {
    auto saved = metadata.find(key);
    check(saved == metadata.end() || saved->second == entry(config_, key), checkpoint,
          ": saved with ", key, " ", saved == metadata.end() ? "" : saved->second, ", now it is ",
          entry(config_, key), "; start a new OUTPUT_DIR, or set it back");
  }
  last_checkpoint_ = checkpoint;
  last_start_ = std::atoll(metadata["steps"].c_str());
  return last_start_;
}

void TrainingRun::save(const std::string& checkpoint, int64_t steps_done) {
  Metadata metadata{{"steps", std::to_string(steps_done)},
                    {"replicas", std::to_string(model_.replicas)},
                    {"threads", std::to_string(session_->threads())},
                    {"format", "lockstep checkpoint 1"}};
  for (const char* key : kFixedKeys) metadata[key] = entry(config_, key);
  save_checkpoint(*session_, checkpoint, metadata);
  last_checkpoint_ = checkpoint;
  last_start_ = steps_done;
}

void TrainingRun::feed(int64_t step) {
  auto start = std::chrono::steady_clock::now();
  source_.fill(step, images_.data(), labels_.data());
  rate_ = learning_rate(config_.schedule, step);
  data_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

StepResult TrainingRun::run_step(int64_t step, bool check_finite) {
  feed(step);
  RunOptions options = session_->run_options(static_cast<uint64_t>(step));
  options.check_finite = check_finite;
  auto fetched = session_->step().run(feeds_, options);
  StepResult result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < model_.losses.size() * model_.replicas; ++i)
    result.loss += *fetched[next++].as<float>();
  for (int k = 0; k < model_.replicas; ++k) result.accuracy += *fetched[next++].as<float>();
  result.accuracy /= static_cast<float>(model_.replicas);
  return result;
}

StepResult TrainingRun::step(int64_t step) {
  StepResult result = run_step(step, false);
  if (!std::isfinite(result.loss)) explain(step, result.loss);
  return result;
}

// Every run of a step gives the same bits, so the failure can be watched in slow motion.
void TrainingRun::explain(int64_t step, float loss) {
  const std::string what = join("the loss is ", loss, " at iteration ", step);
  if (last_checkpoint_.empty())
    session_->initialise();
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
  constexpr int64_t kBatch = 200;
  constexpr std::size_t kPictures = 36;
  TestResult result;
  result.confusion.assign(config_.classes, std::vector<int64_t>(config_.classes, 0));
  std::vector<float> images(kBatch * test_->image_values());
  std::vector<int64_t> labels(kBatch);
  std::vector<SamplePicture> right;
  int64_t hits = 0;
  for (int64_t first = 0; first < test_->size(); first += kBatch) {
    const int64_t count = std::min(kBatch, test_->size() - first);
    for (int64_t i = 0; i < count; ++i)
      test_->read(first + i, images.data() + i * test_->image_values(), &labels[i]);
    Tensor feed{{DType::float32, {count, test_->channels(), test_->height(), test_->width()}},
                images.data()};
    const float* prob =
        session_->inference().run({&feed, 1}, session_->run_options(0))[0].as<float>();
    for (int64_t i = 0; i < count; ++i) {
      const float* row = prob + i * config_.classes;
      const int64_t guess = std::max_element(row, row + config_.classes) - row;
      ++result.confusion[labels[i]][guess];
      hits += guess == labels[i];
      auto& list = guess == labels[i] ? right : result.samples;
      if (list.size() >= kPictures || test_->channels() != 1) continue;
      SamplePicture picture{static_cast<int>(test_->height()),
                            static_cast<int>(test_->width()),
                            {},
                            labels[i],
                            guess};
      for (int64_t p = 0; p < test_->image_values(); ++p)
        picture.grey.push_back(images[i * test_->image_values() + p] * 0.3F + 0.15F);
      list.push_back(std::move(picture));
    }
  }
  result.accuracy = static_cast<double>(hits) / static_cast<double>(test_->size());
  for (SamplePicture& picture : right)
    if (result.samples.size() < kPictures) result.samples.push_back(std::move(picture));
  return result;
}

}  // namespace lockstep
