// SPDX-License-Identifier: Apache-2.0
// The forward pass alone: losses and metrics as in training, with constant weights.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "graph/print.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/resident.h"
#include "tests/builders/forward_steps.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using namespace forward_steps;

// If no layer differs between training and prediction, losses and metrics equal the values
// of a step that trains nothing.
TEST(ForwardOnly, HasTheBitsOfAStepThatTrainsNothing) {
  int compared = 0;
  for (const SmallNetwork& network : small_networks())
    for (int replicas : {1, 2, 3})
      for (int parts : {1, 2})
        for (DType precision : {DType::float32, DType::bfloat16, DType::float16}) {
          const std::string text = text_of(built(network.model, {}, 1, false));
          if (text.find("BatchNorm") != text.npos || text.find("Dropout") != text.npos) continue;
          DataParallelOptions options = network.options;
          options.micro_batches = parts;
          options.precision = precision;
          const TrainingModel forward = built(network.model, options, replicas, true);
          options.frozen = {"*"};
          const TrainingModel frozen = built(network.model, options, replicas, false);
          verify(forward);
          const int64_t batch = options.weighted ? 13 : 12;
          EXPECT_TRUE(same_bits(reported(forward, batch, 3), reported(frozen, batch, 3)))
              << network.name << " on " << replicas << " in " << parts << " parts, "
              << name_of(precision);
          ++compared;
        }
  EXPECT_EQ(compared, 9 * 18);
}

// The loss computed from the prediction's probabilities, with trained states.
double loss_by_prediction(const ModelFn& network, const std::string& checkpoint, int64_t batch,
                          int64_t step, double* accuracy) {
  const TrainingModel model = built(network, {}, 1, false);
  Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
  load_checkpoint(session, checkpoint);
  StepFeeds feeds(model, batch, kClasses, kSmall);
  const std::span<const Tensor> fed = feeds.at(step, 0);
  const Tensor prob = session.inference().run(fed.first(1), session.run_options(0))[0];
  double loss = 0;
  for (int64_t row = 0; row < batch; ++row) {
    const float* scores = prob.as<float>() + row * kClasses;
    const int64_t label = fed[1].as<int64_t>()[row];
    loss -= std::log(static_cast<double>(scores[label]));
    *accuracy += std::max_element(scores, scores + kClasses) - scores == label;
  }
  *accuracy /= static_cast<double>(batch);
  return loss / static_cast<double>(batch);
}

TEST(ForwardOnly, IsThePredictionsLossOfATrainedRun) {
  for (const char* name : {"batch_norm", "dropout", "plain"}) {
    const ModelFn& network = small_network(name).model;
    TemporaryFolder folder;
    const TrainingModel trained = built(network, {.statistics = StatisticsPolicy::mean}, 2, false);
    {
      Session session(trained, cpu_devices(2), all_kernels(), {5, 1, {}});
      session.initialise();
      StepFeeds feeds(trained, 12, kClasses, kSmall);
      for (int64_t step = 0; step < 8; ++step)
        session.step().run(feeds.at(step, 0.05F), session.run_options(step));
      save_checkpoint(session, folder / "run", {});
    }
    double accuracy = 0;
    const double expected = loss_by_prediction(network, folder / "run", 13, 20, &accuracy);
    for (int replicas : {1, 2, 4})
      for (int parts : {1, 3}) {
        const TrainingModel forward =
            built(network, {.weighted = true, .micro_batches = parts}, replicas, true);
        Session session(forward, cpu_devices(replicas), all_kernels(), {5, 1, {}});
        load_checkpoint(session, folder / "run");
        StepFeeds feeds(forward, 13, kClasses, kSmall);
        const std::vector<float> shares = [&] {
          std::vector<float> all;
          for (int k = 0; k < replicas; ++k) {
            const Rows rows = rows_of_share(13, k, replicas);
            all.push_back(static_cast<float>(rows.count) / 13.F);
          }
          return all;
        }();
        const Results answers(forward, session.step().run(feeds.at(20, 0), session.run_options(20)),
                              shares);
        EXPECT_NEAR(answers.loss(), expected, 1e-5) << name << " on " << replicas;
        EXPECT_NEAR(answers.metric("accuracy"), accuracy, 1e-6) << name << " on " << replicas;
      }
    // bfloat16 rounds to 8 bits.
    EXPECT_NEAR(
        reported(built(network, {.precision = DType::bfloat16}, 1, true), 13, 20, folder / "run")
            .at("loss")[0],
        expected, 0.03)
        << name;
  }
}

// A run of several processes. Each process partitions the whole model.
Reported of_processes(const TrainingModel& whole, int processes, int64_t batch) {
  Reported all;
  std::mutex mutex;
  run_ranks(processes, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), processes});
    Session session(part, cpu_devices(part.replicas), all_kernels(), {5, 1, {}, &comm});
    session.initialise();
    StepFeeds feeds(part, batch, kClasses, kSmall, whole.replicas);
    const auto fetched = session.step().run(feeds.at(2, 0), session.run_options(2));
    const std::lock_guard lock(mutex);
    note(part, fetched, whole.replicas, all);
  });
  return all;
}

TEST(ForwardOnly, IsTheSameOverProcesses) {
  for (const char* name : {"batch_norm", "dropout", "random", "padded", "unequal_shares"})
    for (int parts : {1, 2}) {
      const SmallNetwork& network = small_network(name);
      DataParallelOptions options = network.options;
      options.micro_batches = parts;
      const TrainingModel whole = built(network.model, options, 4, true);
      const int64_t batch = options.weighted ? 13 : 16;
      const Reported expected = reported(whole, batch, 2);
      for (int processes : {2, 3})
        EXPECT_TRUE(same_bits(of_processes(whole, processes, batch), expected))
            << name << " over " << processes;
    }
}

TEST(ForwardOnly, AFileHasTheLossOfTheTrainedStates) {
  TemporaryFolder folder;
  for (const char* name : {"batch_norm", "two_losses"}) {
    const TrainingModel forward = built(small_network(name).model, {}, 2, true);
    const TrainingModel trained = built(small_network(name).model, {}, 2, false);
    const StateValues states = train(trained, 12, 4, kSmall);
    StateValues own;
    for (const std::string& state : forward.state_values()) own.emplace(state, states.at(state));
    save_model(forward, folder / "forward.onnx", {.values = &own});
    const LoadedModel file = load_model(all_ops(), folder / "forward.onnx");
    ASSERT_TRUE(file.initialised);
    EXPECT_TRUE(file.model.updates.empty());
    const auto losses_of = [&](const TrainingModel& model, const StateValues& values) {
      Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
      session.load(values);
      StepFeeds feeds(model, 12, kClasses, kSmall);
      Reported found;
      note(model, session.step().run(feeds.at(9, 0), session.run_options(9)), 2, found);
      return found;
    };
    EXPECT_TRUE(same_bits(losses_of(file.model, file.values), losses_of(forward, own))) << name;
  }
}

TEST(ForwardOnly, TakesMinibatchesOfAResidentBatch) {
  const ModelFn& network = small_network("plain").model;
  const TrainingModel model = built(
      network, {.resident = {.rows = {"data", "label"}, .limits = {.minibatch = 4, .capacity = 8}}},
      2, true);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  const TrainingModel fed = built(network, {}, 2, true);
  StepFeeds source(fed, 16, kClasses, kSmall);
  const auto rows = source.at(1, 0);  // the data of both replicas, then the labels of both
  ResidentBatch batch(session);
  const Tensor images{{DType::float32, {16, 1, 6, 6}}, rows[0].data};
  const Tensor labels{{DType::int64, {16}}, rows[2].data};
  EXPECT_EQ(batch.load({{"data", images}, {"label", labels}}).minibatch, 4);
  double both = 0;
  for (int64_t index : {0, 4}) both += batch.optimize(index, 0).loss() / 2;
  Session other(fed, cpu_devices(2), all_kernels(), {5, 1, {}});
  other.initialise();
  const Results answers(fed, other.step().run(rows, other.run_options(0)));
  EXPECT_NEAR(both, answers.loss(), 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
