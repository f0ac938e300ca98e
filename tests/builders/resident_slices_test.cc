// SPDX-License-Identifier: Apache-2.0
// The slices that a step reads of a batch of sequences and their states, compared with rows counted
// by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "builders/resident/sequence_split.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/resident.h"
#include "tests/builders/resident_rows.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// Rows [N, 2], states [M, 3].
void rows_and_states(Net& net) {
  const auto mean_of = [&](const char* name, Value x) {
    return reduce_mean(net.graph, fc_layer(net, x, 4, {}, name), {}, false, join(name, "_mean"));
  };
  Value x = net.input("x", {DType::float32, {"N", 2}});
  Value h = net.input("h", {DType::float32, {"M", 3}});
  Value both = add(net.graph, mean_of("of_rows", x), mean_of("of_states", h), "both");
  if (net.training()) net.loss("loss", both);
}

// Every value is its offset in the batch: row 7 is (14, 15), state 7 is (21, 22, 23).
struct Counted {
  Counted(int64_t rows, int64_t states) : x(rows * 2), h(states * 3) {
    std::iota(x.begin(), x.end(), 0.F);
    std::iota(h.begin(), h.end(), 0.F);
  }
  std::map<std::string, Tensor> inputs() {
    const auto x_rows = static_cast<int64_t>(x.size() / 2),
               h_rows = static_cast<int64_t>(h.size() / 3);
    return {{"x", {{DType::float32, {x_rows, 2}}, x.data()}},
            {"h", {{DType::float32, {h_rows, 3}}, h.data()}}};
  }
  std::vector<float> x, h;
};

class Sliced {
 public:
  // With `comm`, only this process's replicas.
  Sliced(int replicas, const ResidentLimits& limits, Comm* comm = nullptr)
      : model_(model_of(replicas, limits, comm)),
        session_(model_, cpu_devices(model_.replicas), all_kernels(), {1, 1, {}, comm}),
        resident(session_) {
    session_.initialise();
    resident.feeds().set(Role::rate, 0);
    std::vector<std::string> slices;
    for (int k = 0; k < model_.replicas; ++k)
      for (const char* name : {"x", "h"})
        slices.push_back(join("cpu_", model_.first_replica + k, "/", name));
    slices_ = session_.program(model_.step, model_.feed_values(), slices, {});
  }

  // Expects that replica k's minibatch at `index` begins at row `row` and state `state` of the run.
  void expect(int k, int64_t index, int64_t row, int64_t state) {
    SCOPED_TRACE(join("replica ", k, " at ", index));
    const ResidentLoad& load = resident.loaded();
    expect_slices(k, index, [&](const Tensor& rows, const Tensor& states) {
      expect_counted(rows, load.minibatch, row);
      expect_counted(states, load.minibatch / load.length, state);
    });
  }

  // Expects the minibatch of these rows and states, by their first elements.
  void expect_firsts(int k, int64_t index, const std::vector<float>& rows,
                     const std::vector<float>& states) {
    SCOPED_TRACE(join("replica ", k, " at ", index));
    expect_slices(k, index, [&](const Tensor& x, const Tensor& h) {
      EXPECT_EQ(firsts_of(x), rows);
      EXPECT_EQ(firsts_of(h), states);
    });
  }

 private:
  static TrainingModel model_of(int replicas, const ResidentLimits& limits, Comm* comm) {
    TrainingModel whole = build_data_parallel_model(
        all_ops(), rows_and_states, MomentumSgd{},
        {.replicas = replicas, .scope = "cpu", .resident = {{"x"}, {"h"}, limits}});
    return comm ? partition(whole, {comm->rank(), comm->size()}) : std::move(whole);
  }

  // Every process runs, since messages are a part of the run. The process with the replica checks.
  template <class Check>
  void expect_slices(int k, int64_t index, const Check& check_them) {
    resident.optimize(index, 0);
    const auto found = slices_->run(resident.feeds().tensors(), session_.run_options(0));
    const int here = k - model_.first_replica;
    if (here < 0 || here >= model_.replicas) return;
    check_them(found[static_cast<std::size_t>(2 * here)],
               found[static_cast<std::size_t>(2 * here + 1)]);
  }

  static std::vector<float> firsts_of(const Tensor& tensor) {
    std::vector<float> firsts;
    for (int64_t i = 0; i < tensor.count(); i += tensor.desc.dims[1])
      firsts.push_back(tensor.as<float>()[i]);
    return firsts;
  }

  static void expect_counted(const Tensor& slice, int64_t rows, int64_t first) {
    ASSERT_EQ(slice.desc.dims[0], rows);
    for (int64_t i = 0; i < slice.count(); ++i)
      EXPECT_EQ(slice.as<float>()[i], static_cast<float>(first * slice.desc.dims[1] + i));
  }

  TrainingModel model_;
  Session session_;
  std::unique_ptr<Program> slices_;

 public:
  ResidentBatch resident;
};

// Rows of Ray's table with states: max_per_device_batch_size, devices, rows (sequences).
TEST(ResidentSlices, OfNineRowsOnTwoReplicas) {
  Sliced sliced(2, {9, 20, 10});
  Counted batch(21, 7);
  EXPECT_EQ(text_of(sliced.resident.load(batch.inputs())),
            "18 of 21 rows: 1 minibatches of 9 rows on each of 2 replicas; 3 rows are left out");
  sliced.expect(0, 0, 0, 0);
  sliced.expect(1, 0, 9, 3);
}

TEST(ResidentSlices, OfEightRowsOnOneReplica) {
  Sliced sliced(1, {10, 24, 4});
  Counted batch(24, 6);
  EXPECT_EQ(sliced.resident.load(batch.inputs()).lost, 0);
  sliced.expect(0, 0, 0, 0);
  sliced.expect(0, 8, 8, 2);
  sliced.expect(0, 16, 16, 4);
  sliced.expect(0, 4, 4, 1);  // any sequence may begin a minibatch
}

TEST(ResidentSlices, OfSixRowsOnTwoReplicas) {
  Sliced sliced(2, {6, 6, 3});
  Counted batch(21, 7);
  EXPECT_EQ(sliced.resident.load(batch.inputs()).lost, 9);
  sliced.expect(0, 0, 0, 0);
  sliced.expect(1, 0, 6, 2);
}

TEST(ResidentSlices, OfTenRowsOnFourReplicas) {
  Sliced sliced(4, {16, 30, 10});
  Counted batch(130, 13);
  EXPECT_EQ(sliced.resident.load(batch.inputs()).lost, 10);
  sliced.expect(0, 10, 10, 1);
  sliced.expect(1, 0, 30, 3);
  sliced.expect(3, 20, 110, 11);
}

TEST(ResidentSlices, OfASequenceThatIsLongerThanAMinibatch) {
  Sliced sliced(1, {3, 16, 4});
  Counted batch(16, 4);
  EXPECT_EQ(sliced.resident.load(batch.inputs()).minibatches(), 4);
  sliced.expect(0, 12, 12, 3);
}

// Every minibatch of every replica, for every row of the table. Without states, each row is its own
// state.
void expect_all_rows(int processes, const LoadRow& row) {
  SCOPED_TRACE(join(row.minibatch, ", ", row.replicas, ", ", row.rows, " on ", processes));
  const int64_t states = row.states > 0 ? row.states : row.rows;
  const auto replicas = static_cast<int>(row.replicas);
  const auto expect_here = [&](Comm* comm) {
    Sliced sliced(replicas, {row.minibatch, row.held, row.length}, comm);
    Counted batch(row.rows, states);
    EXPECT_EQ(sliced.resident.load(batch.inputs()).lost, row.rows - row.loaded);
    for (int64_t index = 0; index < row.held; index += row.each)
      for (int k = 0; k < replicas; ++k)
        sliced.expect(k, index, k * row.held + index, (k * row.held + index) / row.length);
  };
  if (processes == 1)
    expect_here(nullptr);
  else
    run_ranks(processes, [&](Comm& comm) { expect_here(&comm); });
}

TEST(ResidentSlices, OfEveryRowOfTheTable) {
  for (const LoadRow& row : kLoadRows) expect_all_rows(1, row);
}

TEST(ResidentSlices, OfEveryRowOfTheTableOnTwoProcesses) {
  for (const LoadRow& row : kLoadRows)
    if (row.replicas > 1) expect_all_rows(2, row);
}

// Episodes of 4, 1, 5 and 3 steps, in sequences of up to 3. Row r and the state before it are r +
// 1; padding is 0.
void expect_episodes(int replicas, Comm* comm) {
  Counted steps(13, 13);
  for (int64_t r = 0; r < 13; ++r) {
    std::fill_n(steps.x.begin() + 2 * r, 2, static_cast<float>(r + 1));
    std::fill_n(steps.h.begin() + 3 * r, 3, static_cast<float>(r + 1));
  }
  const auto inputs = steps.inputs();
  const Chopped chopped = chop(13, std::vector<int64_t>{4, 5, 10}, 3);
  const Literal x = padded_rows(chopped, inputs.at("x")), h = first_states(chopped, inputs.at("h"));
  const std::vector<std::vector<float>> sequences{{1, 2, 3}, {4, 0, 0},  {5, 0, 0},
                                                  {6, 7, 8}, {9, 10, 0}, {11, 12, 13}};
  const int64_t each = 6 / replicas;
  Sliced sliced(replicas, {5, 18, 3}, comm);  // one sequence at a time: two have 6 rows
  const ResidentLoad& load = sliced.resident.load({{"x", view_of(x)}, {"h", view_of(h)}});
  EXPECT_EQ(load.lost, 0);
  EXPECT_EQ(load.minibatches(), each);
  for (int k = 0; k < replicas; ++k)
    for (int64_t i = 0; i < each; ++i) {
      const auto& sequence = sequences[static_cast<std::size_t>(k * each + i)];
      sliced.expect_firsts(k, 3 * i, sequence, {sequence[0]});
    }
}

TEST(ResidentSlices, OfEpisodesOfUnevenLengths) {
  for (int replicas : {1, 2, 3}) {
    SCOPED_TRACE(replicas);
    expect_episodes(replicas, nullptr);
  }
}

TEST(ResidentSlices, OfEpisodesOfUnevenLengthsOnTwoProcesses) {
  for (int replicas : {2, 3}) {
    SCOPED_TRACE(replicas);
    run_ranks(2, [&](Comm& comm) { expect_episodes(replicas, &comm); });
  }
}

// Other lengths of sequences and minibatches need other plans of the same model.
TEST(ResidentSlices, OfSeveralBatchesInTurn) {
  Sliced sliced(2, {9, 20, 10});
  Counted of_three(21, 7), of_two(20, 10), of_one(36, 36);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(sliced.resident.load(of_three.inputs()).minibatch, 9);
    sliced.expect(1, 0, 9, 3);
    EXPECT_EQ(sliced.resident.load(of_two.inputs()).minibatch, 8);
    sliced.expect(1, 0, 8, 4);
    EXPECT_EQ(sliced.resident.load(of_one.inputs()).minibatch, 9);
    sliced.expect(0, 9, 9, 9);
    sliced.expect(1, 9, 27, 27);
  }
}

}  // namespace
}  // namespace lockstep::testing
