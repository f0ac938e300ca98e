// SPDX-License-Identifier: Apache-2.0
// The update of each class of parameter, compared with numbers computed here. Every gradient is
// known: the loss is a weighted sum of all parameters, times the mean of the feed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr int kClassSteps = 3;
constexpr std::array<double, kClassSteps> kRates{0.1, 0.02, 0.02}, kCorrection{1, 0.2, 1},
    kMean{1, -2, 0.5};  // of the feeds

struct Parameter {
  const char* name;
  StateKind kind;
  float first;
  float slope;  // d loss / d parameter, for a mean of 1
};
constexpr Parameter kParameters[] = {{"w", StateKind::weight, 0.5F, 2},
                                     {"b", StateKind::bias, -0.25F, 3},
                                     {"s", StateKind::norm, 1.5F, -1},
                                     {"frozen", StateKind::weight, 4, 5}};

void net_of_classes(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1}});
  Value mean = reduce_mean(net.graph, x, {}, false, "mean");
  Value loss = mean;
  for (const Parameter& parameter : kParameters) {
    const std::string name = parameter.name;
    Value p = net.param(name, {2, 3}, constant(parameter.first), parameter.kind);
    Value factor = net.graph.constant(name + "_slope", Literal::scalar(parameter.slope));
    Value sum = reduce_sum(net.graph, p, {}, false, name + "_sum");
    Value term = mul(net.graph, mul(net.graph, sum, factor, name + "_part"), mean, name + "_term");
    loss = add(net.graph, loss, term, name + "_loss");
  }
  Value computed = net.param("computed", {}, constant(8), StateKind::computed);
  net.next(computed, add(net.graph, computed, mean, "computed_next"));
  if (net.training())
    net.loss("loss", loss);
  else
    net.output("out", loss);
}

constexpr ParamRules kRules{
    .weight_decay = 0.25F, .weight_decay_norm = 0.125F, .bias_rate_factor = 3};

// The value after three steps, by the definition of each class.
double expected(const Parameter& parameter, bool nesterov) {
  double p = parameter.first, v = 0;
  for (std::size_t step = 0; step < kClassSteps; ++step) {
    double g = parameter.slope * kMean[step];
    if (parameter.kind == StateKind::weight) g += 0.25 * p;
    if (parameter.kind == StateKind::norm) g += 0.125 * p;
    if (parameter.kind == StateKind::bias) g *= 3;
    const double old = kCorrection[step] * v;
    v = 0.5 * old + kRates[step] * g;
    p -= nesterov ? 1.5 * v - 0.5 * old : v;
  }
  return p;
}

StateValues trained(const TrainingModel& model, bool queued) {
  Session session(model, queued ? gpu_devices(model.replicas) : cpu_devices(model.replicas),
                  queued ? queued_kernels() : all_kernels(), {1, 1, {}});
  session.initialise();
  std::vector<float> data(static_cast<std::size_t>(model.replicas));
  float rate = 0, correction = 1;
  std::vector<Tensor> feeds;
  for (const Replicated& input : model.inputs)
    for (int k = 0; k < model.replicas; ++k)
      feeds.push_back(input.name == "lr" ? Tensor{{DType::float32, {1}}, &rate}
                      : input.name == "momentum_correction"
                          ? Tensor{{DType::float32, {1}}, &correction}
                          : Tensor{{DType::float32, {1, 1}}, &data[k]});
  for (std::size_t step = 0; step < kClassSteps; ++step) {
    rate = static_cast<float>(kRates[step]);
    correction = static_cast<float>(kCorrection[step]);
    for (std::size_t k = 0; k < data.size(); ++k)  // the replicas' mean is the same
      data[k] = static_cast<float>(kMean[step]) + (data.size() > 1 ? (k == 0 ? 0.5F : -0.5F) : 0);
    session.step().run(feeds, session.run_options(step));
  }
  return session.save();
}

TEST(UpdateClasses, AreHeldToNumbersWorkedOutByHand) {
  EXPECT_NEAR(expected(kParameters[0], false), 0.3517446875, 1e-9) << "computed by hand";
  for (bool nesterov : {false, true})
    for (int replicas : {1, 2})
      for (bool queued : {false, true}) {  // queues do all updates in one launch
        const Optimizer optimizer =
            nesterov ? Optimizer(Nesterov{.momentum = 0.5F, .correct_momentum = true})
                     : Optimizer(MomentumSgd{.momentum = 0.5F, .correct_momentum = true});
        const TrainingModel model = build_data_parallel_model(
            all_ops(), net_of_classes, optimizer,
            {.replicas = replicas, .scope = "r", .frozen = {"frozen"}, .rules = kRules});
        const StateValues after = trained(model, queued);
        for (int k = 0; k < replicas; ++k) {
          const std::string scope = join("r_", k, "/");
          for (const Parameter& parameter : kParameters) {
            const bool frozen = parameter.name == std::string("frozen");
            for (float value : after.at(scope + parameter.name).values<float>())
              EXPECT_NEAR(value, frozen ? 4 : expected(parameter, nesterov), 2e-6)
                  << parameter.name << " on " << replicas << (queued ? " queued" : "")
                  << (nesterov ? ", Nesterov" : "");
          }
          EXPECT_EQ(after.count(scope + "frozen_momentum"), 0u);
          EXPECT_EQ(after.count(scope + "computed_momentum"), 0u);
          const double share = replicas == 1 ? 0 : k == 0 ? 0.5 : -0.5;
          EXPECT_NEAR(after.at(scope + "computed").values<float>()[0], 8 - 0.5 + 3 * share, 1e-6);
        }
      }
}

TEST(UpdateClasses, LayersSayWhatTheirParametersAre) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(),
                                [](Net& net) {
                                  Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
                                  x = conv_layer(net, x, 4, {.kernel = 3}, "conv");
                                  x = batch_norm_layer(net, x, {}, "bn");
                                  classify(net, fc_layer(net, x, 5, {}, "fc"));
                                },
                                MomentumSgd{}, {});
  std::map<std::string, StateKind> kinds;
  for (const State& state : model.states)
    if (!is_slot(state.kind)) kinds[state.name] = state.kind;
  const std::map<std::string, StateKind> should{
      {"conv_w", StateKind::weight},  {"conv_b", StateKind::bias},
      {"bn_s", StateKind::norm},      {"bn_b", StateKind::norm},
      {"bn_rm", StateKind::computed}, {"bn_riv", StateKind::computed},
      {"fc_w", StateKind::weight},    {"fc_b", StateKind::bias}};
  EXPECT_EQ(kinds, should);
}

}  // namespace
}  // namespace lockstep::testing
