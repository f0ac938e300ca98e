// SPDX-License-Identifier: Apache-2.0
// The loss of padded sequences is the mean over the valid positions of the whole batch. Compared
// with a computation by hand for every division of the batch, with a parameter of known gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kSteps = 5, kClasses = 4, kTokens = 3;
constexpr float kRate = 0.5F;

// A token's scores are its row of a table.
void scored_tokens(Net& net) {
  const TensorType rows{DType::int64, {"N", kSteps}};
  const Value scores =
      embedding_layer(net, net.input("data", rows), kTokens, kClasses, {}, "table");
  const Value labels = reshape(net.graph, net.input("label", rows), {-1}, "places");
  predict_places(net, reshape(net.graph, scores, {-1, kClasses}, "scores"), labels);
}

// Sequences of uneven lengths; padding has label -1.
struct Sequences {
  std::vector<int64_t> data, label;
  explicit Sequences(const std::vector<int64_t>& lengths) {
    for (std::size_t row = 0; row < lengths.size(); ++row)
      for (int64_t i = 0; i < kSteps; ++i) {
        const auto number = static_cast<int64_t>(row) * kSteps + i;
        data.push_back((number * number + 1) % kTokens);
        label.push_back(i < lengths[row] ? (3 * number + 2) % kClasses : -1);
      }
  }
  int64_t rows() const { return static_cast<int64_t>(data.size()) / kSteps; }
};

struct Stepped {
  double loss = 0;
  std::vector<double> table;
};

// Computed in double, without a graph.
Stepped by_hand(const std::vector<double>& table, const Sequences& sequences) {
  Stepped after{0, table};
  double valid = 0;
  for (int64_t label : sequences.label) valid += label >= 0;
  for (std::size_t i = 0; i < sequences.data.size(); ++i) {
    if (sequences.label[i] < 0) continue;
    const auto row = static_cast<std::size_t>(sequences.data[i] * kClasses);
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(table[row + c]);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double p = std::exp(table[row + c]) / sum;
      const bool right = static_cast<int64_t>(c) == sequences.label[i];
      if (right) after.loss -= std::log(p) / valid;
      after.table[row + c] -= kRate * (p - (right ? 1 : 0)) / valid;
    }
  }
  return after;
}

DataParallelOptions divided(int replicas, int parts, bool weighted = false) {
  DataParallelOptions options{.replicas = replicas, .scope = "cpu", .weighted = weighted};
  options.micro_batches = parts;
  options.rules = {.weight_decay = 0, .bias_rate_factor = 1};
  return options;
}

TrainingModel model_of(const DataParallelOptions& options) {
  return build_data_parallel_model(all_ops(), scored_tokens, MomentumSgd{.momentum = 0}, options);
}

std::vector<double> table_of(const Session& session) {
  const Literal table = states_of(session).read(session.model().states.at(0).values[0]);
  const auto values = table.values<float>();
  return {values.begin(), values.end()};
}

void feed(Feeds& feeds, Sequences& sequences, int64_t first, int64_t count) {
  const TensorDesc rows{DType::int64, {count, kSteps}};
  feeds.set("data", {rows, sequences.data.data() + first * kSteps});
  feeds.set("label", {rows, sequences.label.data() + first * kSteps});
  feeds.set(Role::rate, kRate);
}

void expect_as_by_hand(const DataParallelOptions& options, const std::vector<int64_t>& lengths) {
  const TrainingModel model = model_of(options);
  Session session(model, cpu_devices(options.replicas), all_kernels(), {.seed = 3, .threads = 1});
  session.initialise();
  Sequences sequences(lengths);
  const Stepped expected = by_hand(table_of(session), sequences);
  Feeds feeds(model);
  feed(feeds, sequences, 0, sequences.rows());
  EXPECT_NEAR(session.run_step(feeds, 0).loss(), expected.loss, 1e-6);
  const std::vector<double> table = table_of(session);
  for (std::size_t i = 0; i < table.size(); ++i)
    EXPECT_NEAR(table[i], expected.table[i], 1e-6) << i;
}

TEST(PaddedLoss, IsTheMeanOverTheValidPlacesOfTheWholeBatch) {
  // Uneven lengths; a whole replica of padding; whole micro-batches of padding.
  const std::vector<std::vector<int64_t>> batches{{5, 1, 3, 2, 5, 5, 1, 1, 4, 2, 3, 1},
                                                  {5, 4, 3, 1, 2, 5, 0, 0, 0, 0, 0, 0},
                                                  {0, 3, 0, 0, 5, 0, 0, 1, 0, 0, 0, 2}};
  for (const auto& lengths : batches)
    for (int replicas : {1, 2, 4})
      for (int parts : {1, 3}) {
        SCOPED_TRACE(join(replicas, " replicas, ", parts, " micro-batches"));
        expect_as_by_hand(divided(replicas, parts), lengths);
      }
}

TEST(PaddedLoss, IsTheSameOfUnequalShares) {
  for (int replicas : {2, 3, 4})
    for (int parts : {1, 2}) {
      SCOPED_TRACE(join(replicas, " replicas, ", parts, " micro-batches"));
      expect_as_by_hand(divided(replicas, parts, true), {5, 1, 3, 2, 5, 4, 1, 1, 4, 2, 3});
    }
}

TEST(PaddedLoss, IsTheSameWhereTheReduceTakesMeans) {
  DataParallelOptions options = divided(2, 2);
  options.all_reduce.spec = parse_all_reduce("mean:xring");
  expect_as_by_hand(options, {5, 1, 3, 2, 5, 4, 1, 1});
}

TEST(PaddedLoss, OfABatchWithoutValidPlacesIsZeroAndChangesNothing) {
  expect_as_by_hand(divided(1, 1), {0, 0, 0, 0});
  expect_as_by_hand(divided(2, 2), {0, 0, 0, 0});
}

// The mean of the replicas' means differs clearly, so the test above can fail.
TEST(PaddedLoss, IsNotTheMeanOfMeans) {
  Sequences all({5, 5, 1, 1}), first({5, 5}), second({1, 1});
  const std::vector<double> table{0.5, -1, 2, 0, 1, 1, -2, 0.1, 0, 0.3, -0.7, 1.5};
  const double of_means = (by_hand(table, first).loss + by_hand(table, second).loss) / 2;
  EXPECT_GT(std::abs(by_hand(table, all).loss - of_means), 1e-2);
}

TEST(PaddedLoss, OfTwoProcessesHasTheBitsOfTwoReplicas) {
  for (int parts : {1, 2}) {
    const TrainingModel whole = model_of(divided(2, parts));
    Session one(whole, cpu_devices(2), all_kernels(), {.seed = 3, .threads = 1});
    one.initialise();
    Sequences sequences({5, 1, 3, 0, 5, 4, 1, 1});
    Feeds feeds(whole);
    for (uint64_t step = 0; step < 3; ++step) {
      feed(feeds, sequences, 0, 8);
      one.run_step(feeds, step);
    }
    run_ranks(2, [&](Comm& comm) {
      const TrainingModel own = partition(whole, {comm.rank(), 2});
      Session session(own, cpu_devices(1), all_kernels(), {.seed = 3, .threads = 1, .comm = &comm});
      session.initialise();
      Sequences mine({5, 1, 3, 0, 5, 4, 1, 1});
      Feeds share(own);
      for (uint64_t step = 0; step < 3; ++step) {
        feed(share, mine, 4 * comm.rank(), 4);
        session.run_step(share, step);
      }
      ASSERT_EQ(table_of(session), table_of(one)) << "rank " << comm.rank();
    });
  }
}

TEST(PaddedLoss, ACountIsAFloatScalar) {
  expect_error(
      [] {
        build_data_parallel_model(
            all_ops(),
            [](Net& net) {
              const Value x = net.input("data", {DType::float32, {}});
              net.loss("loss", x, net.input("count", {DType::int64, {}}));
            },
            MomentumSgd{});
      },
      "the count of loss 'loss' is int64", "should be a scalar of float32");
}

}  // namespace
}  // namespace lockstep::testing
