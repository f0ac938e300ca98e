// What a step reads of a batch of sequences and their states, against rows counted by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "builders/net/layers.h"
#include "builders/resident/batch.h"
#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"
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

// Every value is its place in the batch: row 7 is (14, 15), state 7 (21, 22, 23).
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
  Sliced(int replicas, const ResidentLimits& limits)
      : model_(build_data_parallel_model(
            all_ops(), rows_and_states, MomentumSgd{},
            {.replicas = replicas, .scope = "cpu", .resident = {{"x"}, {"h"}, limits}})),
        session_(model_, cpu_devices(replicas), all_kernels(), {1, 1, {}}),
        resident(session_) {
    session_.initialise();
    resident.feeds().set(Role::rate, 0);
    std::vector<std::string> slices;
    for (int k = 0; k < replicas; ++k)
      for (const char* name : {"x", "h"}) slices.push_back(join("cpu_", k, "/", name));
    slices_ = session_.program(model_.step, model_.feed_values(), slices, {});
  }

  // Expects that replica k's minibatch at `index` begins at row `row` and state `state` of the run.
  void expect(int k, int64_t index, int64_t row, int64_t state) {
    SCOPED_TRACE(join("replica ", k, " at ", index));
    resident.optimize(index, 0);
    const auto found = slices_->run(resident.feeds().tensors(), session_.run_options(0));
    const ResidentLoad& load = resident.loaded();
    expect_counted(found[static_cast<std::size_t>(2 * k)], load.minibatch, row);
    expect_counted(found[static_cast<std::size_t>(2 * k + 1)], load.minibatch / load.length, state);
  }

 private:
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

// Sequences and minibatches of other lengths are other plans of the same model.
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
