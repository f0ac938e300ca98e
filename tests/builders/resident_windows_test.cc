// SPDX-License-Identifier: Apache-2.0
// On CPUs a step does not copy the rows of its minibatch if their address has the alignment that
// kernels expect. The operand is a view that moves over the batch.
#include <gtest/gtest.h>

#include "builders/resident/load.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "lockstep/resident.h"
#include "runtime/plan/compile.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kWidth = 16;  // floats: rows of 64 bytes
constexpr int64_t kSequence = 2;

// Reads rows, a view of the rows, and a state for each sequence.
void network(Net& net) {
  const Value x = net.input("data", {DType::float32, {"N", 4, 4}});
  const Value h = net.input("first", {DType::float32, {"M", kWidth}});
  const Value states = reduce_mean(net.graph, h, {0}, true, "mean_state");
  const Value rows = add(net.graph, flatten(net.graph, x, 1, "flat"), states, "rows");
  const Value hidden = relu(net.graph, fc_layer(net, rows, 8, {}, "fc1"), "relu1");
  classify(net, fc_layer(net, hidden, 5, {}, "pred"));
}

struct Batch {
  explicit Batch(int64_t rows, uint64_t seed)
      : rows(rows), data(rows * kWidth), first(rows / kSequence * kWidth), label(rows) {
    PhiloxSequence random(seed, 4);
    for (auto* values : {&data, &first})
      for (float& value : *values) value = static_cast<float>(random.uniform(-1, 1));
    for (int64_t& value : label) value = random.below(5);
  }
  std::map<std::string, Tensor> inputs() {
    return {{"data", {{DType::float32, {rows, 4, 4}}, data.data()}},
            {"first", {{DType::float32, {rows / kSequence, kWidth}}, first.data()}},
            {"label", {{DType::int64, {rows}}, label.data()}}};
  }
  int64_t rows;
  std::vector<float> data, first;
  std::vector<int64_t> label;
};

TrainingModel model_of(int replicas, bool holds) {
  DataParallelOptions options{.replicas = replicas, .scope = "cpu"};
  options.all_reduce.spec = parse_all_reduce("xring");  // equal bits over processes
  if (holds) options.resident = {{"data", "label"}, {"first"}, {4, 64, kSequence}};
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

std::string plan_of(const TrainingModel& model, const std::vector<Device>& devices,
                    const std::vector<KernelTable>& kernels, bool alias = true,
                    const std::vector<std::string>& fetches = {}) {
  const auto dims = [](const std::string& feed) {
    if (feed.ends_with("/minibatch")) return Dims{4, 0};
    if (feed.ends_with("/sequences")) return Dims{2, 0};
    return feed.ends_with("_index") ? Dims{} : Dims{1};
  };
  CompileRequest request = step_request(model, dims, devices, kernels, {.alias = alias});
  request.fetches.insert(request.fetches.end(), fetches.begin(), fetches.end());
  return text_of(compile(request));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ResidentWindows, AreOfRowsThatAreAligned) {
  const TrainingModel model = model_of(2, true);
  const std::string plan = plan_of(model, cpu_devices(2), all_kernels());
  for (const char* name : {"data", "first"})
    EXPECT_TRUE(has(plan, join("cpu_1/", name, "@part of state cpu_1/", name, "_resident")))
        << plan;
  EXPECT_TRUE(has(plan, "ResidentSlice [copies rows of 8 bytes] cpu_1/label_resident")) << plan;
  EXPECT_FALSE(has(plan, "copies rows of 64 bytes"));
}

// Values that are read after the run, recorded values, and operands that must not alias are copied.
TEST(ResidentWindows, AreNotOfEverything) {
  const TrainingModel model = model_of(2, true);
  const std::string fetched =
      plan_of(model, cpu_devices(2), all_kernels(), true, {"cpu_1/data", "cpu_0/flat"});
  EXPECT_TRUE(has(fetched, "ResidentSlice [copies rows of 64 bytes] cpu_1/data_resident"));
  EXPECT_TRUE(has(fetched, "cpu_0/data@part of state"));
  EXPECT_TRUE(has(fetched, "cpu_1/first@part of state"));
  for (const std::string& copied : {plan_of(model, cpu_devices(2), all_kernels(), false),
                                    plan_of(model, gpu_devices(2), queued_kernels())})
    EXPECT_FALSE(has(copied, "part of state"));
}

struct Where {
  std::vector<Device> devices;
  const std::vector<KernelTable>& kernels = all_kernels();
  Comm* comm = nullptr;
  bool alias = true;
};

// Two alternating batches with minibatches of different sizes.
StateValues swept(const TrainingModel& model, const Where& where) {
  Session session(model, where.devices, where.kernels, {5, 1, {.alias = where.alias}, where.comm});
  session.initialise();
  ResidentBatch resident(session);
  resident.feeds().set(Role::rate, 0.1F);
  const int64_t replicas = std::max(model.whole_replicas, model.replicas);
  Batch large(replicas * 12, 1), small(replicas * 2, 2);
  uint64_t step = 0;
  for (int turn = 0; turn < 2; ++turn)
    for (Batch* batch : {&large, &small}) {
      EXPECT_EQ(resident.load(batch->inputs()).minibatch, batch == &large ? 4 : 2);
      step = resident.sweep({.epochs = 2, .seed = 3, .first_step = step});
    }
  resident.optimize(0, step);  // any sequence may begin a minibatch
  return session.save();
}

// Feeds the same rows.
StateValues fed(const TrainingModel& model) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {5, 1, {}});
  session.initialise();
  Batch large(model.replicas * 12, 1), small(model.replicas * 2, 2);
  Feeds feeds(model);
  feeds.set(Role::rate, 0.1F);
  uint64_t step = 0;
  const auto take = [&](Batch& batch, int64_t index) {
    const ResidentLoad load =
        resident_load({4, 64, kSequence}, model.replicas, batch.rows, batch.rows / kSequence);
    const ResidentSlice slice = resident_slice(load, index);
    std::map<std::string, std::vector<std::byte>> rows;
    for (const auto& [name, tensor] : batch.inputs()) {
      const bool of_sequences = name == "first";
      const Rows mine = of_sequences ? slice.states : slice.rows;
      for (int64_t k = 0; k < model.replicas; ++k) {
        const Rows held = of_sequences ? load.states_of(k) : load.rows_of(k);
        const Tensor part = rows_from(tensor, {held.first + mine.first, mine.count});
        rows[name].insert(rows[name].end(), part.as<std::byte>(),
                          part.as<std::byte>() + part.desc.bytes());
      }
      TensorDesc desc = tensor.desc;
      desc.dims[0] = mine.count * model.replicas;
      feeds.set(name, {desc, rows[name].data()});
    }
    session.run_step(feeds, step++);
  };
  for (int turn = 0; turn < 2; ++turn)
    for (Batch* batch : {&large, &small}) {
      const ResidentLoad load =
          resident_load({4, 64, kSequence}, model.replicas, batch->rows, batch->rows / kSequence);
      for (int64_t index : sweep_order(load, 2, 3)) take(*batch, index);
    }
  take(small, 0);
  return session.save();
}

TEST(ResidentWindows, GiveTheBitsOfFedRows) {
  for (int replicas : {1, 2, 3}) {
    SCOPED_TRACE(replicas);
    const TrainingModel model = model_of(replicas, true);
    const StateValues expected = fed(model_of(replicas, false));
    EXPECT_TRUE(swept(model, {cpu_devices(replicas)}) == expected);
    EXPECT_TRUE(swept(model, {cpu_devices(replicas), all_kernels(), nullptr, false}) == expected);
    EXPECT_TRUE(swept(model, {gpu_devices(replicas), queued_kernels()}) == expected);
  }
}

TEST(ResidentWindows, GiveThemInTwoProcesses) {
  for (int replicas : {2, 3}) {
    const TrainingModel whole = model_of(replicas, true);
    const StateValues expected = fed(model_of(replicas, false));
    run_ranks(2, [&](Comm& comm) {
      const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
      const StateValues found = swept(part, {cpu_devices(part.replicas), all_kernels(), &comm});
      for (const auto& [name, value] : found) EXPECT_TRUE(value == expected.at(name)) << name;
    });
  }
}

// For any feeds, the view is inside the batch, or nothing runs.
TEST(ResidentWindows, OutsideOfTheBatchAreNamed) {
  const TrainingModel model = model_of(2, true);
  for (bool alias : {true, false}) {
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {.alias = alias}});
    session.initialise();
    Feeds feeds(model);
    feeds.set(Role::rate, 0.1F);
    int64_t row = 0, sequence = 0;
    feeds.set("minibatch_index", {{DType::int64, {}}, &row});
    feeds.set("sequence_index", {{DType::int64, {}}, &sequence});
    feeds.set("minibatch", {{DType::float32, {8, 0}}, &row});
    feeds.set("sequences", {{DType::float32, {4, 0}}, &row});
    session.run_step(feeds, 0);
    for (int64_t index : {int64_t{-1}, int64_t{61}, int64_t{1} << 60}) {
      row = index;
      expect_error(
          [&] { session.run_step(feeds, 1); }, "(ResidentSlice, replica 0",
          join("a minibatch of 4 rows at row ", index, " is not within the 64 rows of the batch"));
    }
    row = 60;
    session.run_step(feeds, 1);
  }
}

}  // namespace
}  // namespace lockstep::testing
