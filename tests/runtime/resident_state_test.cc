// SPDX-License-Identifier: Apache-2.0
// A state that holds a batch: each replica has its own rows, and files contain none.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "graph/verify.h"
#include "lockstep/checkpoint.h"
#include "lockstep/operators.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kHeld = 500'000;  // rows; 2 MB

// Two replicas with a resident batch that the step does not read.
TrainingModel holding_model() {
  TrainingModel model = small_mlp(2);
  State held{{"batch", {}}, StateKind::resident};
  for (const char* name : {"cpu_0/batch", "cpu_1/batch"}) {
    model.step.input(name, {DType::float32, {kHeld, 1}});
    held.values.push_back(name);
  }
  model.states.push_back(held);
  return model;
}

struct Holding {
  explicit Holding(const TrainingModel& model)
      : session(model, cpu_devices(2), all_kernels(), {1, 1, {}}) {}
  void load(float first) {
    for (const char* name : {"cpu_0/batch", "cpu_1/batch"}) {
      std::vector<float> rows{first, first + 1, std::numeric_limits<float>::quiet_NaN()};
      states_of(session).write_first(name, {{DType::float32, {3, 1}}, rows.data()});
      first += 10;
    }
  }
  float at(const std::string& name, int row) {
    return states_of(session).at(name).as<float>()[row];
  }
  Session session;
};

TEST(ResidentState, FirstRowsAreWrittenAndOthersKept) {
  const TrainingModel model = holding_model();
  Holding holding(model);
  holding.load(1);
  std::vector<float> row{7};
  states_of(holding.session).write_first("cpu_1/batch", {{DType::float32, {1, 1}}, row.data()});
  EXPECT_EQ(holding.at("cpu_0/batch", 0), 1);
  EXPECT_EQ(holding.at("cpu_1/batch", 0), 7);
  EXPECT_EQ(holding.at("cpu_1/batch", 1), 12);
  const auto write = [&](DType dtype, const Dims& dims) {
    const Literal rows(dtype, dims);
    states_of(holding.session).write_first("cpu_0/batch", view_of(rows));
  };
  for (const Dims& dims : {Dims{kHeld + 1, 1}, Dims{3, 2}, Dims{3}, Dims{}})
    expect_error([&] { write(DType::float32, dims); },
                 "state 'cpu_0/batch' is float32[500000,1], but its first rows are float32");
  expect_error([&] { write(DType::int64, {3, 1}); }, "but its first rows are int64[3,1]");
}

TEST(ResidentState, IsNoValueToTrainFrom) {
  const TrainingModel model = holding_model();
  Holding holding(model);
  holding.load(1);
  StepFeeds feeds(model, 8, 5, kSmall);
  expect_error(
      [&] { holding.session.step().run(feeds.at(0, 0.1F), holding.session.run_options(0)); },
      "the state has no values yet");
}

// Rows differ between replicas and may have any value. A resumed run uses the batch that is loaded
// then.
TEST(ResidentState, IsInNoCheckpoint) {
  TemporaryFolder folder;
  const TrainingModel model = holding_model();
  Holding from(model), to(model);
  from.session.initialise();
  from.load(1);
  EXPECT_EQ(find_divergence(from.session), "");
  EXPECT_EQ(lost_value(from.session), "");
  save_checkpoint(from.session, folder / "c", {});
  for (const auto& [name, tensor] : read_safetensors(folder / "c").tensors)
    EXPECT_FALSE(name.starts_with("batch")) << name;
  EXPECT_FALSE(from.session.save().contains("cpu_0/batch"));

  to.load(50);
  load_checkpoint(to.session, folder / "c");
  EXPECT_TRUE(to.session.save() == from.session.save());
  EXPECT_EQ(to.at("cpu_1/batch", 0), 60);
}

// A file has the state's kind, type and shape, but not its rows.
TEST(ResidentState, IsAnInputOfItsFile) {
  TemporaryFolder folder;
  const TrainingModel model = holding_model();
  verify(model);
  Holding holding(model);
  holding.session.initialise();
  holding.load(1);
  const StateValues values = holding.session.save();
  save_model(model, folder / "step.onnx", {.values = &values});
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    bytes += std::filesystem::file_size(file);
  EXPECT_LT(bytes, 1'000'000U);

  const LoadedModel loaded = load_model(all_ops(), folder / "step.onnx");
  verify(loaded.model);
  const State* state = loaded.model.find_state("batch");
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->kind, StateKind::resident);
  EXPECT_EQ(loaded.model.step.type(loaded.model.step.at("cpu_1/batch")),
            (TensorType{DType::float32, {kHeld, 1}}));
  EXPECT_TRUE(loaded.values == values);
  Holding again(loaded.model);
  again.session.load(loaded.values);
  StepFeeds feeds(loaded.model, 8, 5, kSmall), same(model, 8, 5, kSmall);
  again.session.step().run(feeds.at(0, 0.1F), again.session.run_options(0));
  holding.session.step().run(same.at(0, 0.1F), holding.session.run_options(0));
  EXPECT_TRUE(again.session.save() == holding.session.save());
}

TEST(ResidentState, IsSetByNoGraph) {
  TemporaryFolder folder;
  for (const bool initial : {false, true}) {
    TrainingModel model = holding_model();
    const std::string value = initial ? model.initial[0].value : model.updates[0].value;
    (initial ? model.initial : model.updates).push_back({"cpu_0/batch", value});
    save_model(model, folder / "step.onnx");
    expect_error([&] { load_model(all_ops(), folder / "step.onnx"); },
                 initial ? "initialization binding" : "update binding",
                 "'cpu_0/batch' is resident, which only the loading of a batch sets");
  }
}

}  // namespace
}  // namespace lockstep::testing
