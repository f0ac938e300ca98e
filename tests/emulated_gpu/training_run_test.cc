// SPDX-License-Identifier: Apache-2.0
// Training runs on emulated GPUs that copy feeds during the step have the bits and errors of runs
// that do not.
#include "app/train/training_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "app/classification/network.h"
#include "app/classification/task.h"
#include "data/labelled_images.h"
#include "graph/file.h"
#include "lockstep/loader.h"
#include "lockstep/operators.h"
#include "tests/support/pictures.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// Batches that are large for a device, so they are copied during the step.
constexpr const char* kDigitsRun = R"(DEVICES: gpu*2
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [8]}
DATA: {NAME: digits, TRAIN_SIZE: 300, TEST_SIZE: 20}
TRAIN: {BATCH_SIZE: 176}
TEST: {ITERS: 1000}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 7}
)";

class EmulatedTraining : public ::testing::Test {
 protected:
  ClassificationConfig config(const std::string& text, const std::vector<std::string>& keys = {}) {
    write_file(folder_ / "config.yaml", text);
    return read_config(folder_ / "config.yaml", keys);
  }
  TemporaryFolder folder_;
};

// The same steps of a session that copies its feeds at the start of each step.
StateValues fed_in_turn(const ClassificationConfig& config) {
  ClassificationTask task(config);
  const std::vector<TrainingModel> models = task.steps(1);
  const TrainingModel& model = models[0];
  Session session(model, config.run.devices.list, all_kernels(),
                  {.seed = static_cast<uint64_t>(config.seed), .threads = 1});
  session.initialise();
  const auto data = dataset_named(dataset_of(config, false));
  const LabelledImages images(*data, {.batch = config.batch_size,
                                      .seed = static_cast<uint64_t>(config.seed),
                                      .bytes = config.bytes});
  Loader loader(images, 1);
  Feeds feeds(model);
  for (int64_t step = 0; step < config.schedule.max_iter; ++step) {
    const std::span<const Tensor> batch = loader.get(step);
    feeds.set("data", batch[0]);
    feeds.set("label", batch[1]);
    feeds.set(Role::rate, learning_rate(config.schedule, step));
    if (feeds.has(Role::correction))
      feeds.set(Role::correction, momentum_correction(config.schedule, step));
    session.run_step(feeds, static_cast<uint64_t>(step));
  }
  return session.save();
}

TEST_F(EmulatedTraining, FedAheadHasTheBitsOfFedInTurnAndResumesToThem) {
  for (const char* bytes : {"false", "true"}) {
    SCOPED_TRACE(join("bytes: ", bytes));
    const ClassificationConfig of_run = config(kDigitsRun, {"DATA.BYTES", bytes});
    const std::string checkpoint = folder_ / (std::string(bytes) + ".safetensors");
    ClassificationTask task(of_run), again(of_run);
    TrainingRun whole(task, 1, nullptr), resumed(again, 1, nullptr);
    whole.start();
    for (int64_t step = 0; step < 7; ++step) {
      whole.step(step);
      if (step == 3) whole.save(checkpoint, step + 1, {});
    }
    const StateValues state = whole.session().save();
    EXPECT_TRUE(state == fed_in_turn(of_run));
    for (int64_t step = resumed.resume(checkpoint); step < 7; ++step) resumed.step(step);
    EXPECT_TRUE(state == resumed.session().save());
  }
}

// A GPU copies the slices of a resident set from its memory.
TEST_F(EmulatedTraining, AResidentSetHasTheBitsOfAFedOneInTheFirstEpoch) {
  for (const char* bytes : {"false", "true"}) {
    SCOPED_TRACE(join("bytes: ", bytes));
    const std::vector<std::string> keys{"DATA.BYTES", bytes, "DATA.TRAIN_SIZE", "1240"};
    std::vector<std::string> resident = keys;
    resident.insert(resident.end(), {"TRAIN.RESIDENT", "true"});
    ClassificationTask task(config(kDigitsRun, resident));
    TrainingRun run(task, 1, nullptr);
    for (int64_t step = run.start(); step < 7; ++step) run.step(step);
    EXPECT_TRUE(run.session().save() == fed_in_turn(config(kDigitsRun, keys)));
  }
}

// Rank 0 compares the times of all ranks, and says that they are host times.
TEST_F(EmulatedTraining, StepsAreTimedAsAWhole) {
  ClassificationTask task(config(kDigitsRun));
  TrainingRun run(task, 1, nullptr);
  for (int64_t step = run.start(); step < 3; ++step) run.step(step);
  EXPECT_TRUE(run.spent().on_queues);
  EXPECT_EQ(run.spent().steps, 3);
  EXPECT_EQ(run.spent().waiting, 0) << "a part of the computation";
  EXPECT_GT(run.spent().computing, 0);
}

// Minibatches with a shape that changes at a step, as the padded shape of detectors does.
class SecondFormFrom final : public MinibatchSource {
 public:
  SecondFormFrom(const MinibatchSource& one, int64_t step)
      : one_(one), step_(step), forms_(2, one.forms()[0]) {}
  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override { return step >= step_ ? 1 : 0; }
  int64_t items() const override { return one_.items(); }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    one_.read(step, item, tensors);
  }

 private:
  const MinibatchSource& one_;
  int64_t step_;
  std::vector<MinibatchForm> forms_;
};

class TaskOfTwoForms final : public ClassificationTask {
 public:
  using ClassificationTask::ClassificationTask;
  std::vector<TrainingModel> steps(int processes) const override {
    std::vector<TrainingModel> models = ClassificationTask::steps(processes);
    models.push_back(std::move(ClassificationTask::steps(processes)[0]));
    return models;
  }
  void open(Session& session, const Rows& rows) override {
    ClassificationTask::open(session, rows);
    two_.emplace(ClassificationTask::minibatches(), 4);
  }
  const MinibatchSource& minibatches() const override { return *two_; }

 private:
  std::optional<SecondFormFrom> two_;
};

TEST_F(EmulatedTraining, AFormThatHasTakenNoStepIsFedAhead) {
  const ClassificationConfig of_run = config(kDigitsRun);
  TaskOfTwoForms task(of_run);
  TrainingRun run(task, 1, nullptr);
  run.start();
  for (int64_t step = 0; step < 7; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // readers run ahead
    run.step(step);
  }
  EXPECT_TRUE(run.session().save() == fed_in_turn(of_run));
}

struct Ending {
  int64_t step = 0;
  std::string text;
};
Ending ending_of(const ClassificationConfig& config) {
  ClassificationTask task(config);
  TrainingRun run(task, 1, nullptr);
  Ending ending;
  try {
    for (run.start(); ending.step < config.schedule.max_iter; ++ending.step) run.step(ending.step);
  } catch (const std::exception& error) {
    ending.text = error.what();
  }
  return ending;
}

TEST_F(EmulatedTraining, APictureThatCannotBeReadEndsTheStepThatItIsFor) {
  namespace fs = std::filesystem;
  for (const char* part : {"train", "val"})
    for (const char* kind : {"a", "b"}) {
      const std::string place = folder_ / (std::string(part) + "/" + kind);
      fs::create_directories(place);
      for (int i = 0; i < 30; ++i)
        write_png(join(place, "/", i, ".png"), gradient_image(34, 36, i % 3));
    }
  // The header is intact, because headers of all pictures are read before step 1.
  const std::string cut = folder_ / "train/b/7.png";
  fs::resize_file(cut, fs::file_size(cut) / 2);
  int64_t last = 0;
  for (const char* seed : {"1", "2", "3", "4"}) {
    const std::string text = R"(THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [4], NUM_CLASSES: 2}
DATA: {NAME: image_folder, IMAGE_SIZE: 32, RESIZE: 34, BYTES: true}
TRAIN: {BATCH_SIZE: 24}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 6}
)";
    const auto on = [&](const char* device) {
      return ending_of(
          config(text, {"DEVICES", device, "DATA.ROOT", folder_.path(), "RNG_SEED", seed}));
    };
    const Ending fed_ahead = on("gpu"), on_cpu = on("cpu");
    EXPECT_EQ(fed_ahead.step, on_cpu.step);
    EXPECT_EQ(fed_ahead.text, on_cpu.text);
    EXPECT_NE(fed_ahead.text.find("train/b/7.png"), std::string::npos) << fed_ahead.text;
    last = std::max(last, fed_ahead.step);
  }
  EXPECT_GE(last, 1) << "no failing batch was read ahead";
}

TEST_F(EmulatedTraining, ALossThatIsNotFiniteIsSearchedForInTheBatchesOfItsSteps) {
  const Ending ending = ending_of(config(kDigitsRun, {"SOLVER.BASE_LR", "1e30"}));
  EXPECT_NE(ending.text.find("; the first value that is not finite is 'gpu_"), std::string::npos)
      << ending.text;
  EXPECT_LT(ending.step, 7);
}

}  // namespace
}  // namespace lockstep::testing
