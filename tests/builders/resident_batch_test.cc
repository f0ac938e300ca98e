// SPDX-License-Identifier: Apache-2.0
// Steps over slices of a batch on the devices have the bits of steps that are fed the same rows.
#include "lockstep/resident.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/resident/load.h"
#include "graph/verify.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr float kRate = 0.05F;
const ModelFn kMlp = mlp({.image = {1, 6, 6}, .classes = 5, .hidden = {16, 12}});

// Pictures of 6 x 6 with labels, and three tokens each for networks that read tokens.
struct Batch {
  Batch(int64_t rows, uint64_t seed)
      : rows(rows), images(rows * 36), labels(rows), tokens(rows * 3) {
    PhiloxSequence random(seed, 9);
    for (float& pixel : images) pixel = static_cast<float>(random.uniform(-1, 1));
    for (int64_t& label : labels) label = random.below(5);
    for (int64_t& token : tokens) token = random.below(5);
  }
  std::map<std::string, Tensor> inputs(const std::vector<std::string>& names) {
    std::map<std::string, Tensor> all{{"data", {{DType::float32, {rows, 1, 6, 6}}, images.data()}},
                                      {"label", {{DType::int64, {rows}}, labels.data()}},
                                      {"token", {{DType::int64, {rows, 3}}, tokens.data()}}};
    std::erase_if(all, [&](const auto& input) {
      return std::find(names.begin(), names.end(), input.first) == names.end();
    });
    return all;
  }
  int64_t rows;
  std::vector<float> images;
  std::vector<int64_t> labels, tokens;
};

// The rows of a minibatch on all of a process's replicas, concatenated by replica.
std::vector<std::byte> gathered(const Tensor& batch, const ResidentLoad& load, int64_t index,
                                int64_t first, int64_t replicas) {
  std::vector<std::byte> rows;
  for (int64_t k = first; k < first + replicas; ++k) {
    const Tensor part = rows_from(batch, {load.rows_of(k).first + index, load.minibatch});
    rows.insert(rows.end(), part.as<std::byte>(), part.as<std::byte>() + part.desc.bytes());
  }
  return rows;
}

DataParallelOptions holding(DataParallelOptions options, const ResidentLimits& limits = {4, 50, 1},
                            std::vector<std::string> rows = {"data", "label"}) {
  options.scope = "cpu";
  options.resident = {std::move(rows), {}, limits};
  return options;
}

TrainingModel built(const ModelFn& network, const DataParallelOptions& options,
                    const Optimizer& optimizer = MomentumSgd{}) {
  return build_data_parallel_model(all_ops(), network, optimizer, options);
}

struct Where {
  std::vector<Device> devices;
  const std::vector<KernelTable>& kernels = all_kernels();
};

// Feeds every row of every minibatch in the order of the sweep, and checks each loss.
StateValues fed(const TrainingModel& model, Batch& batch, const std::vector<std::string>& names,
                const ResidentLoad& load, const Sweep& sweep, const std::vector<float>& losses) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {5, 1, {}});
  session.initialise();
  Feeds feeds(model);
  feeds.set(Role::rate, kRate);
  uint64_t step = sweep.first_step;
  for (int64_t index : sweep_order(load, sweep.epochs, sweep.seed, sweep.first_epoch)) {
    std::map<std::string, std::vector<std::byte>> rows;
    for (const auto& [name, tensor] : batch.inputs(names)) {
      TensorDesc desc = tensor.desc;
      desc.dims[0] = load.minibatch * load.replicas;
      rows[name] = gathered(tensor, load, index, 0, load.replicas);
      feeds.set(name, {desc, rows[name].data()});
    }
    const float loss = session.run_step(feeds, step).loss();
    EXPECT_EQ(loss, losses.at(step - sweep.first_step)) << "step " << step;
    ++step;
  }
  return session.save();
}

// Loads the batch and sweeps over the batch.
StateValues swept(const TrainingModel& model, Batch& batch, const std::vector<std::string>& names,
                  const Sweep& sweep, const Where& where, std::vector<float>& losses) {
  Session session(model, where.devices, where.kernels, {5, 1, {}});
  session.initialise();
  ResidentBatch resident(session);
  resident.feeds().set(Role::rate, kRate);
  const ResidentLoad& load = resident.load(batch.inputs(names));
  EXPECT_EQ(load.replicas, model.replicas);
  const uint64_t next = resident.sweep(
      sweep, [&](uint64_t, const Results& answers) { losses.push_back(answers.loss()); });
  EXPECT_EQ(next, sweep.first_step + losses.size());
  EXPECT_EQ(static_cast<int64_t>(losses.size()), load.minibatches() * sweep.epochs);
  return session.save();
}

void expect_same_as_fed(const ModelFn& network, DataParallelOptions options,
                        const std::vector<std::string>& names, bool on_queues = true) {
  options.scope = "cpu";
  const int replicas = options.replicas;
  const TrainingModel plain = built(network, options);
  const TrainingModel model = built(network, holding(options, {4, 50, 1}, names));
  Batch batch(4 * replicas * 3 + 3, 3);  // three minibatches, and leftover rows
  const Sweep sweep{.epochs = 2, .seed = 7, .first_epoch = 1, .first_step = 11};
  std::vector<float> losses, on_gpu;
  const StateValues here = swept(model, batch, names, sweep, {cpu_devices(replicas)}, losses);
  const ResidentLoad load = resident_load({4, 50, 1}, replicas, batch.rows);
  EXPECT_EQ(load.lost, 3);
  EXPECT_TRUE(here == fed(plain, batch, names, load, sweep, losses));
  if (!on_queues) return;
  EXPECT_TRUE(here ==
              swept(model, batch, names, sweep, {gpu_devices(replicas), queued_kernels()}, on_gpu));
  EXPECT_EQ(on_gpu, losses);
}

TEST(ResidentBatch, StepsHaveTheBitsOfFedSteps) {
  for (int replicas : {1, 2, 3}) {
    SCOPED_TRACE(replicas);
    expect_same_as_fed(kMlp, {.replicas = replicas}, {"data", "label"});
  }
}

TEST(ResidentBatch, WorksWithEveryNetwork) {
  for (const SmallNetwork& network : small_networks()) {
    if (network.options.weighted) continue;  // refused; see below
    SCOPED_TRACE(network.name);
    DataParallelOptions options = network.options;
    options.replicas = 2;
    std::vector<std::string> names{"data", "label"};
    for (const char* name : {"integer_input", "recurrent", "padded"})
      if (network.name == name) names.push_back("token");
    expect_same_as_fed(network.model, options, names, false);
  }
}

TEST(ResidentBatch, WorksWithEveryKindOfStep) {
  const std::vector<std::pair<const char*, DataParallelOptions>> kinds{
      {"bfloat16", {.precision = DType::bfloat16}},
      {"float16", {.precision = DType::float16}},
      {"deferred", {.deferred = true}},
      {"skips", {.skip_non_finite = true}},
      {"clips", {.clip = {.norm = 0.5F}}},
      {"mean", {.all_reduce = {.spec = parse_all_reduce("mean:xring")}}}};
  for (auto [name, options] : kinds) {
    SCOPED_TRACE(name);
    options.replicas = 2;
    expect_same_as_fed(small_network("batch_norm").model, options, {"data", "label"}, false);
  }
}

// An input that is not resident is fed at each step with a minibatch's rows.
TEST(ResidentBatch, OtherInputsAreFed) {
  const ModelFn& network = small_network("integer_input").model;
  const std::vector<std::string> held{"data", "label"};
  const TrainingModel model = built(network, holding({.replicas = 2}));
  Batch batch(16, 3);
  std::vector<float> losses;
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  ResidentBatch resident(session);
  resident.feeds().set(Role::rate, kRate);
  const ResidentLoad load = resident.load(batch.inputs(held));
  expect_error([&] { resident.optimize(0, 0); }, "not set: 'token' (data)");
  const Tensor tokens = batch.inputs({"token"}).at("token");
  uint64_t step = 0;
  for (int64_t index : sweep_order(load, 1, 2)) {
    std::vector<std::byte> rows = gathered(tokens, load, index, 0, 2);
    resident.feeds().set("token", {{DType::int64, {8, 3}}, rows.data()});
    losses.push_back(resident.optimize(index, step++).loss());
  }
  const TrainingModel plain = built(network, {.replicas = 2, .scope = "cpu"});
  EXPECT_TRUE(session.save() ==
              fed(plain, batch, {"data", "label", "token"}, load, {.seed = 2}, losses));
}

// Each process reads only the rows of its own replicas. Other rows may have any values.
TEST(ResidentBatch, ProcessesLoadTheirOwnShares) {
  const Sweep sweep{.epochs = 2, .seed = 3};
  for (int replicas : {2, 3, 4}) {
    SCOPED_TRACE(replicas);
    const TrainingModel whole = built(
        kMlp, holding({.replicas = replicas, .all_reduce = {.spec = parse_all_reduce("xring")}}));
    Batch batch(4 * replicas * 3 + 1, 5);
    std::vector<float> losses;
    const StateValues expected =
        swept(whole, batch, {"data", "label"}, sweep, {cpu_devices(replicas)}, losses);
    run_ranks(2, [&](Comm& comm) {
      const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
      Session session(part, cpu_devices(part.replicas), all_kernels(), {5, 1, {}, &comm});
      session.initialise();
      ResidentBatch resident(session);
      resident.feeds().set(Role::rate, kRate);
      Batch mine = batch;
      const int64_t held = 12;
      for (int64_t row = 0; row < mine.rows; ++row)
        if (row / held < part.first_replica || row / held >= part.first_replica + part.replicas)
          std::fill_n(mine.images.begin() + row * 36, 36, std::numeric_limits<float>::quiet_NaN());
      EXPECT_EQ(resident.load(mine.inputs({"data", "label"})).held(), held);
      EXPECT_EQ(resident.bytes(), static_cast<std::size_t>(part.replicas * held * (36 * 4 + 8)));
      resident.sweep(sweep);
      for (const auto& [name, value] : session.save())
        EXPECT_TRUE(value == expected.at(name)) << name << " on rank " << comm.rank();
    });
  }
}

TEST(ResidentBatch, ProcessesMustLoadTheSameBatch) {
  const TrainingModel whole = built(kMlp, holding({.replicas = 2}));
  expect_error(
      [&] {
        run_ranks(2, [&](Comm& comm) {
          const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
          Session session(part, cpu_devices(1), all_kernels(), {5, 1, {}, &comm});
          ResidentBatch resident(session);
          Batch batch(16 + comm.rank(), 5);
          static_cast<void>(resident.load(batch.inputs({"data", "label"})));
        });
      },
      "rows of the batch", "16", "17");
}

// A run that is resumed between two loads continues with the same bits.
TEST(ResidentBatch, ResumesBetweenLoads) {
  TemporaryFolder folder;
  const TrainingModel model =
      built(small_network("batch_norm").model, holding({.replicas = 2}), Adam{});
  Batch first(24, 1), second(18, 2);
  const auto sweep_over = [](Session& session, Batch& batch, const Sweep& sweep) {
    ResidentBatch resident(session);
    resident.feeds().set(Role::rate, kRate);
    static_cast<void>(resident.load(batch.inputs({"data", "label"})));
    return resident.sweep(sweep);
  };
  Session whole(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  whole.initialise();
  const uint64_t next = sweep_over(whole, first, {.epochs = 2, .seed = 4});
  EXPECT_EQ(next, 6U);
  save_checkpoint(whole, folder / "c", {});
  const Sweep rest{.epochs = 3, .seed = 4, .first_epoch = 2, .first_step = next};
  sweep_over(whole, second, rest);

  Session resumed(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  load_checkpoint(resumed, folder / "c");
  sweep_over(resumed, second, rest);
  EXPECT_TRUE(resumed.save() == whole.save());
}

// A file describes its batch well enough to load one.
TEST(ResidentBatch, OfAModelFromAFile) {
  TemporaryFolder folder;
  const TrainingModel model = built(kMlp, holding({.replicas = 2}));
  verify(model);
  save_model(model, folder / "step.onnx");
  const LoadedModel loaded = load_model(all_ops(), folder / "step.onnx");
  Batch batch(20, 1);
  std::vector<float> losses, again;
  const StateValues expected = swept(model, batch, {"data", "label"}, {}, {cpu_devices(2)}, losses);
  EXPECT_TRUE(expected ==
              swept(loaded.model, batch, {"data", "label"}, {}, {cpu_devices(2)}, again));
  EXPECT_EQ(losses, again);
}

}  // namespace
}  // namespace lockstep::testing
