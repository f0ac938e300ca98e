// SPDX-License-Identifier: Apache-2.0
// A policy that learns to balance a pole on a cart: collects steps of many environments, loads them
// onto the devices once, sweeps over them ten times; docs/control.md explains it.
#include <cmath>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include <lockstep/data_parallel.h>
#include <lockstep/episodes.h>
#include <lockstep/models.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/random.h>
#include <lockstep/resident.h>

using namespace lockstep;

constexpr int64_t kEnvironments = 32, kSteps = 64, kRows = kEnvironments * kSteps;
constexpr int64_t kMinibatchRows = 256, kEpochs = 10, kRounds = 100;

// Policy inference by the network with its present parameters.
class NetworkPolicy final : public Predictor {
 public:
  NetworkPolicy(Session& session, const EnvironmentKind& kind) : session_(session), kind_(kind) {}

  Predicted predict(std::span<const float> observations) override {
    const auto rows = static_cast<int64_t>(observations.size()) / kind_.observations;
    const Tensor seen{{DType::float32, {rows, kind_.observations}},
                      const_cast<float*>(observations.data())};
    const auto fetched = session_.inference().run({&seen, 1}, session_.run_options(0));
    const auto numbers = [&](std::size_t output) {
      return std::span<const float>(fetched[output].as<float>(),
                                    static_cast<std::size_t>(fetched[output].count()));
    };
    return {numbers(0), numbers(1)};  // log_probabilities, values
  }

 private:
  Session& session_;
  const EnvironmentKind& kind_;
};

// The rows of a rollout in a random order, with what the loss needs of them.
struct Batch {
  std::vector<float> observations, log_probabilities, advantages, targets;
  std::vector<int64_t> actions;

  Batch(const Rollout& rollout, int64_t values, uint64_t round) {
    double mean = 0, square = 0;
    for (float advantage : rollout.advantages) {
      mean += advantage / static_cast<double>(kRows);
      square += advantage * advantage / static_cast<double>(kRows);
    }
    const double deviation = std::sqrt(square - mean * mean) + 1e-8;
    std::vector<int64_t> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, 1, (uint64_t{1} << 59) | round);
    for (int64_t row : order) {
      const auto first = rollout.observations.begin() + row * values;
      observations.insert(observations.end(), first, first + values);
      actions.push_back(rollout.actions[row]);
      log_probabilities.push_back(rollout.log_probabilities[row]);
      advantages.push_back(static_cast<float>((rollout.advantages[row] - mean) / deviation));
      targets.push_back(rollout.advantages[row] + rollout.values[row]);
    }
  }

  std::map<std::string, Tensor> inputs(int64_t values) {
    const auto floats = [](std::vector<float>& numbers) {
      return Tensor{{DType::float32, {kRows}}, numbers.data()};
    };
    return {{kObservation, {{DType::float32, {kRows, values}}, observations.data()}},
            {kPolicyInputs.action, {{DType::int64, {kRows}}, actions.data()}},
            {kPolicyInputs.log_probability, floats(log_probabilities)},
            {kPolicyInputs.advantage, floats(advantages)},
            {kPolicyInputs.target, floats(targets)}};
  }
};

TrainingModel build(const EnvironmentKind& kind, const std::vector<Device>& devices) {
  DataParallelOptions options = replicas_on(devices);
  options.rules.weight_decay = 0;
  options.clip.norm = 0.5F;
  options.resident.rows = {kObservation, kPolicyInputs.action, kPolicyInputs.log_probability,
                           kPolicyInputs.advantage, kPolicyInputs.target};
  options.resident.limits = {.minibatch = kMinibatchRows / options.replicas,
                             .capacity = kRows / options.replicas};
  const ModelFn network =
      actor_critic({.observations = kind.observations, .actions = kind.actions});
  return build_data_parallel_model(all_ops(), network, Adam{}, options);
}

double mean_return(const EnvironmentKind& kind, Predictor& policy) {
  double sum = 0;
  for (const Episode& episode : play_greedily(kind, policy, {.count = 100}).episodes)
    sum += episode.sum / 100;
  return sum;
}

int main() {
  const EnvironmentKind& kind = environment_named("cart_pole");
  const std::vector<Device> devices = parse_devices("cpu*2");
  const TrainingModel model = build(kind, devices);
  Session session(model, devices, all_kernels(), {.seed = 1});
  session.initialise();

  NetworkPolicy policy(session, kind);
  Environments environments(kind, {.count = kEnvironments});
  Collector collector(environments, policy, {.steps = kSteps});
  ResidentBatch resident(session);
  const LrSchedule schedule{.policy = "cosine_decay", .base_lr = 0.001, .max_iter = kRounds};
  uint64_t step = 0;
  for (int64_t round = 0; round < kRounds; ++round) {
    Batch batch(collector.collect(round), kind.observations, static_cast<uint64_t>(round));
    const ResidentLoad load = resident.load(batch.inputs(kind.observations));
    if (round == 0) std::cout << text_of(load) << "\n";
    resident.feeds().set(Role::rate, learning_rate(schedule, round));
    step = resident.sweep({.epochs = kEpochs, .first_epoch = round * kEpochs, .first_step = step});
    if (round % 20 == 19)
      std::cout << "after " << step << " steps: mean return " << mean_return(kind, policy) << "\n";
  }
  return mean_return(kind, policy) >= 475 ? 0 : 1;
}
