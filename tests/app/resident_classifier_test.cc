// SPDX-License-Identifier: Apache-2.0
// TRAIN.RESIDENT of classifiers: the first epoch has the bits of a run that a loader feeds, further
// epochs visit the same minibatches, and resumed runs, replicas and processes agree.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "app/classification/task.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/state/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"
#include "tests/support/ranks.h"
#include "tests/support/resident_run.h"

namespace lockstep::testing {
namespace {

// Four minibatches; four pictures are left out.
constexpr const char* kResidentDigits = R"(THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [16]}
DATA: {NAME: digits, TRAIN_SIZE: 100, TEST_SIZE: 20}
TRAIN: {BATCH_SIZE: 24}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 12}
)";
constexpr int64_t kEpoch = 4;
const Words kResident{"TRAIN.RESIDENT", "true"};

ClassificationConfig read_classifier(const ConfigFiles& files, const Words& words, int processes,
                                     Origins& origins) {
  return read_config(files, words, processes, origins);
}

// A convolution, batch normalisation, ReLU, mean and Gemm on an input named `pixels`.
void write_brought_network(const std::string& path) {
  const auto noise = [](const Dims& dims, uint64_t stream) {
    PhiloxSequence random(1, stream);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = static_cast<float>(0.2 * random.normal());
    return Literal::of<float>(values, dims);
  };
  Graph graph(all_ops(), "brought");
  const auto vector = [&](const char* name, float value) {
    return graph.constant(name, Literal::of<float>(std::vector<float>(8, value), {8}));
  };
  const Value x = graph.input("pixels", {DType::float32, {"batch", 1, 28, 28}});
  Value y = graph.add_value(
      {.type = "Conv", .inputs = {x, graph.constant("conv.weight", noise({8, 1, 3, 3}, 1))}},
      "conv");
  y = graph
          .add({.type = "BatchNormalization",
                .inputs = {y, vector("bn.weight", 1), vector("bn.bias", 0), vector("bn.mean", 0),
                           vector("bn.var", 1)},
                .attributes = {{"training_mode", int64_t{1}}},
                .outputs = 3},
               "bn")
          .outputs()[0];
  y = graph.add_value({.type = "Relu", .inputs = {y}}, "relu");
  y = flatten(graph, global_average_pool(graph, y, "mean"), 1, "features");
  graph.output(gemm(graph, y, graph.constant("fc.weight", noise({10, 8}, 2)), none,
                    {.trans_b = true}, "scores"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

class ResidentClassifier : public ::testing::Test {
 protected:
  ResidentClassifier() { write_file(run_.path, kResidentDigits); }
  Trained train(int64_t steps, const Words& words) const { return run_.train(steps, words); }
  void expect_wrong(const Words& words, const Words& parts) const {
    try {
      (void)run_.task(with(kResident, words));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      for (const std::string& part : with({"TRAIN.RESIDENT"}, parts))
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << "missing '" << part << "' in: " << error.what();
    }
  }

  TemporaryFolder folder_;
  RunOf<ClassificationTask, read_classifier> run_{folder_ / "config.yaml"};
};

TEST_F(ResidentClassifier, HasTheBitsOfAFedRunInTheFirstEpoch) {
  for (const char* network : {"mlp", "lenet"})
    for (const char* devices : {"cpu", "cpu*2", "cpu*3"})
      for (const char* precision : {"float32", "bfloat16"})
        for (const char* bytes : {"false", "true"}) {
          SCOPED_TRACE(join(network, " ", devices, " ", precision, " bytes ", bytes));
          const Words words{"MODEL.TYPE", network,   "DEVICES",    devices,
                            "PRECISION",  precision, "DATA.BYTES", bytes};
          const Trained fed = train(kEpoch, words), held = train(kEpoch, with(words, kResident));
          EXPECT_EQ(fed.losses, held.losses);
          EXPECT_TRUE(fed.state == held.state);
        }
}

// Keys that change the step, or the initial states, beside the slices of resident pictures.
TEST_F(ResidentClassifier, HasTheBitsOfAFedRunWithOtherKeysToo) {
  const std::string brought = folder_ / "brought.onnx";
  write_brought_network(brought);
  for (const Words& words :
       {Words{"PRECISION", "float16"}, Words{"SOLVER.DEFERRED", "true"},
        Words{"TRAIN.WHOLE_LOSS", "true"}, Words{"TRAIN.LABEL_SMOOTHING", "0.1"},
        Words{"ALL_REDUCE", "mean:xring"}, Words{"SOLVER.CLIP_NORM", "0.5"},
        Words{"SOLVER.TYPE", "LAMB", "TRAIN.EMA", "0.99"},
        Words{"MODEL.ONNX", brought, "TRAIN.SYNC_BATCH_NORM", "true"},
        Words{"MODEL.ONNX", brought, "TRAIN.STATISTICS", "in_turn", "PRECISION", "bfloat16"},
        Words{"MODEL.ONNX", brought, "DATA.BYTES", "true"}}) {
    SCOPED_TRACE(join(words[0], " ", words[1], words.size() > 2 ? " " + words[2] : ""));
    const Words all = with(words, {"DEVICES", "cpu*2"});
    const Trained fed = train(kEpoch, all), held = train(kEpoch, with(all, kResident));
    EXPECT_EQ(fed.losses, held.losses);
    EXPECT_TRUE(fed.state == held.state);
  }
}

// With a rate of 0, a minibatch has the same loss in every epoch.
TEST_F(ResidentClassifier, VisitsTheSameMinibatchesInEveryEpochInAnotherOrder) {
  const Words still = with(kResident, {"SOLVER.BASE_LR", "0", "DEVICES", "cpu*2"});
  const std::vector<float> losses = train(3 * kEpoch, still).losses;
  const auto epoch = [&](int64_t number) {
    const auto first = losses.begin() + number * kEpoch;
    return std::vector<float>(first, first + kEpoch);
  };
  const std::vector<float> first = sorted(epoch(0));
  EXPECT_LT(first.front(), first.back()) << "the minibatches do not differ";
  bool differs = false;
  for (int64_t number : {1, 2}) {
    EXPECT_EQ(sorted(epoch(number)), first);
    differs = differs || epoch(number) != epoch(0);
  }
  EXPECT_TRUE(differs) << "every epoch has the order of the first";
  const Words other = with(still, {"RNG_SEED", "4"});
  EXPECT_NE(train(kEpoch, other).losses, epoch(0));
}

// The checkpoint is written in the middle of the second epoch.
TEST_F(ResidentClassifier, ResumesToTheSameBits) {
  const std::string checkpoint = folder_ / "c.safetensors";
  for (const char* solver : {"SGD", "AdamW"})
    for (const char* devices : {"cpu", "cpu*2"})
      for (const char* precision : {"float32", "bfloat16"}) {
        SCOPED_TRACE(join(solver, " ", devices, " ", precision));
        const Words words = with(kResident, {"SOLVER.TYPE", solver, "DEVICES", devices, "PRECISION",
                                             precision, "TRAIN.EMA", "0.9"});
        const Trained whole = run_.train(12, words, "", 5, checkpoint);
        const Trained resumed = run_.train(12, words, checkpoint);
        EXPECT_TRUE(whole.state == resumed.state);
        EXPECT_EQ(resumed.losses.size(), 6u);
      }
}

TEST_F(ResidentClassifier, ResumesWithOtherDevicesAndWithALoader) {
  const std::string checkpoint = folder_ / "c.safetensors";
  (void)run_.train(6, kResident, "", 5, checkpoint);
  for (const Words& words : {with(kResident, {"DEVICES", "cpu*2"}), Words{}}) {
    ClassificationTask task = run_.task(words);
    TrainingRun run(task, 1, nullptr);
    EXPECT_EQ(run.resume(checkpoint), 6);
    EXPECT_EQ(run.change_of_bits().find("TRAIN.RESIDENT") == std::string::npos, !words.empty())
        << run.change_of_bits();
    for (int64_t step = 6; step < 12; ++step) run.step(step);
  }
  (void)run_.train(6, {}, "", 5, checkpoint);
  EXPECT_EQ(run_.train(12, kResident, checkpoint).losses.size(), 6u);
}

TEST_F(ResidentClassifier, TwoProcessesAreTwoReplicas) {
  const std::string apart = folder_ / "processes.safetensors",
                    together = folder_ / "replicas.safetensors";
  const Words replicas = with(kResident, {"DEVICES", "cpu*2"});
  (void)run_.train(10, replicas, "", 9, together);
  run_ranks(2, [&](Comm& comm) {
    ClassificationTask task = run_.task(kResident, 2);
    TrainingRun run(task, 1, &comm);
    for (int64_t step = run.start(); step < 10; ++step) run.step(step);
    run.save(apart, 10, {});
  });
  EXPECT_TRUE(read_safetensors(together).tensors == read_safetensors(apart).tensors);
}

TEST_F(ResidentClassifier, HasNoQueueOfALoaderAndSaysItsRows) {
  ClassificationTask task = run_.task(with(kResident, {"DEVICES", "cpu*2"}));
  TrainingRun run(task, 1, nullptr);
  run.start();
  run.step(0);
  EXPECT_FALSE(run.supply().queue);
  EXPECT_EQ(run.supply().waited, 0);
  std::string notes;
  for (const std::string& note : task.notes()) notes += note + "\n";
  EXPECT_NE(notes.find("96 of 100 rows"), std::string::npos) << notes;
  EXPECT_NE(notes.find("4 minibatches of 12 rows on each of 2 replicas; 4 rows are left out"),
            std::string::npos)
      << notes;
}

// The number of threads of this process.
int64_t threads_here() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// Held-out images keep readers of both runs. The kernel may list a thread that has ended for a
// moment longer.
TEST_F(ResidentClassifier, EndsTheThreadsThatRead) {
  const auto threads_of = [&](const Words& words) {
    ClassificationTask task = run_.task(with(words, {"DATA.THREADS", "40"}));
    TrainingRun run(task, 1, nullptr);
    run.start();
    run.step(0);
    return threads_here();
  };
  const int64_t fed = threads_of({});
  int64_t resident = threads_of(kResident);
  for (int i = 0; i < 50 && resident > fed - 40; ++i) resident = threads_of(kResident);
  EXPECT_LE(resident, fed - 40);
}

TEST_F(ResidentClassifier, FindsTheFirstValueThatIsNotFinite) {
  expect_error(
      [&] {
        train(12, with(kResident, {"SOLVER.BASE_LR", "1e30"}));
      },
      "the first value that is not finite is 'cpu_");
}

TEST_F(ResidentClassifier, ReadsAFolderOfPicturesOnce) {
  namespace fs = std::filesystem;
  for (const char* part : {"train", "val"})
    for (const char* kind : {"a", "b"}) {
      const std::string place = folder_ / (std::string(part) + "/" + kind);
      fs::create_directories(place);
      for (int i = 0; i < 9; ++i)
        write_png(join(place, "/", i, ".png"), gradient_image(34, 36, i % 3));
    }
  const Words pictures{"DATA.NAME",         "image_folder",
                       "DATA.ROOT",         folder_.path(),
                       "DATA.IMAGE_SIZE",   "32",
                       "DATA.RESIZE",       "34",
                       "DATA.FLIP",         "false",
                       "DATA.CROP_SCALE",   "[1, 1]",
                       "TRAIN.BATCH_SIZE",  "6",
                       "MODEL.NUM_CLASSES", "2"};
  const std::string cut = folder_ / "train/b/7.png", whole = read_file(cut);
  fs::resize_file(cut, fs::file_size(cut) / 2);  // the header is intact
  expect_error([&] { train(0, with(pictures, kResident)); }, "train/b/7.png");
  write_file(cut, whole);
  const Trained fed = train(3, pictures);
  EXPECT_TRUE(fed.state == train(3, with(pictures, kResident)).state);
  ClassificationTask task = run_.task(with(pictures, kResident));
  TrainingRun run(task, 1, nullptr);
  run.start();
  for (const char* part : {"train/a", "train/b"}) fs::remove_all(folder_ / part);
  for (int64_t step = 0; step < 7; ++step) run.step(step);
}

TEST_F(ResidentClassifier, RefusesWhatItCannotKeep) {
  expect_wrong({"TRAIN.MICRO_BATCHES", "2"}, {"TRAIN.MICRO_BATCHES is 2", "whole minibatch"});
  expect_wrong({"DEVICES", "cpu*5"}, {"needs equal shares", "TRAIN.BATCH_SIZE 24"});
  expect_wrong({"DATA.RAND_AUGMENT", "[2, 9]"}, {"DATA.RAND_AUGMENT changes pictures anew"});
  expect_wrong({"DATA.COLOUR_JITTER", "[0.4, 0, 0, 0]"}, {"DATA.COLOUR_JITTER changes pictures"});
  expect_wrong({"TRAIN.MIXUP", "0.2"}, {"TRAIN.MIXUP mixes pictures", "set TRAIN.MIXUP 0"});
  expect_wrong({"DATA.NAME", "cifar10"}, {"cifar10 shifts and mirrors"});
  const Words folder{"DATA.NAME", "image_folder", "DATA.ROOT", folder_.path()};
  expect_wrong(folder, {"DATA.FLIP mirrors pictures", "set DATA.FLIP false"});
  expect_wrong(with(folder, {"DATA.FLIP", "false"}),
               {"DATA.CROP_SCALE 0.08 crops", "set DATA.CROP_SCALE [1, 1]"});
  ClassificationTask few = run_.task(with(kResident, {"TRAIN.BATCH_SIZE", "128"}));
  few.prepare();
  expect_error([&] { (void)few.steps(1); }, "TRAIN.RESIDENT needs pictures", "there are 100",
               "TRAIN.BATCH_SIZE 128");
}

// The set itself fits, and minibatches do; two more copies of the set do not.
TEST_F(ResidentClassifier, ChecksTheMemoryForItsRows) {
  const Words many{"DATA.TRAIN_SIZE", "20000", "DATA.TEST_SIZE", "10"};
  setenv("LOCKSTEP_MEMORY", "60M", 1);
  ClassificationTask fed = run_.task(many), held = run_.task(with(many, kResident));
  fed.prepare();
  EXPECT_EQ(fed.steps(1).size(), 1u);
  held.prepare();
  expect_error([&] { (void)held.steps(1); }, "TRAIN.RESIDENT true, for 19992 pictures",
               "allowed by LOCKSTEP_MEMORY");
  EXPECT_EQ(held.steps(4).size(), 1u) << "a process reads its own rows alone";
  unsetenv("LOCKSTEP_MEMORY");
}

}  // namespace
}  // namespace lockstep::testing
