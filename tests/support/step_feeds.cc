// SPDX-License-Identifier: Apache-2.0
#include "tests/support/step_feeds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/auxiliaries.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/state/replica_divergence.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kTokens = 3;  // maximum per row

void residual(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
  x = relu(net.graph, conv_layer(net, x, 8, {.kernel = 3, .pad = 1}, "stem"), "stem_relu");
  auto block = [&](Value in, const std::string& name, bool project) {
    Value y = conv_layer(net, in, 8, {.kernel = 3, .pad = 1, .bias = false}, name + "_conv1");
    y = relu(net.graph, batch_norm_layer(net, y, {}, name + "_bn1"), name + "_relu1");
    y = conv_layer(net, y, 8, {.kernel = 3, .pad = 1, .bias = false}, name + "_conv2");
    y = batch_norm_layer(net, y, {}, name + "_bn2");
    Value skip = in;
    if (project) {
      skip = conv_layer(net, in, 8, {.kernel = 1, .bias = false}, name + "_skip");
      skip = batch_norm_layer(net, skip, {}, name + "_bn3");
    }
    return relu(net.graph, add(net.graph, y, skip, name + "_sum"), name + "_relu2");
  };
  x = block(x, "a", true);
  x = block(x, "b", false);
  classify(net, fc_layer(net, x, 5, {}, "pred"));
}

}  // namespace

StepFeeds::StepFeeds(const TrainingModel& model, int64_t batch, int64_t classes, const Dims& image,
                     int all_replicas)
    : images_(batch * element_count(image)),
      labels_(batch),
      tokens_(batch * kTokens),
      classes_(classes),
      feeds_(model, {all_replicas > 0 ? batch : 0}) {
  const int64_t replicas = all_replicas > 0 ? all_replicas : model.replicas;
  const int64_t first = batch * model.first_replica / replicas;
  const int64_t rows = batch * (model.first_replica + model.replicas) / replicas - first;
  std::set<std::string> fed;
  for (const StepInput& input : model.inputs) {
    if (input.role != Role::data || !fed.insert(input.feed()).second) continue;
    const TensorType& type = model.step.type(model.step.at(input.values[0]));
    Dims dims{rows};
    for (std::size_t i = 1; i < type.shape.size(); ++i) dims.push_back(type.shape[i].size());
    const int64_t begin = rows == 0 ? 0 : first * (element_count(dims) / rows);
    void* data = input.feed() == "label"      ? static_cast<void*>(labels_.data() + first)
                 : type.dtype == DType::int64 ? static_cast<void*>(tokens_.data() + begin)
                                              : static_cast<void*>(images_.data() + begin);
    feeds_.set(input.feed(), {{type.dtype, dims}, data});
  }
}

std::span<const Tensor> StepFeeds::at(int64_t step, float rate, float correction) {
  PhiloxSequence random(17, static_cast<uint64_t>(step));
  for (int64_t& label : labels_) label = random.below(classes_);
  PhiloxSequence of_tokens(18, static_cast<uint64_t>(step));
  for (int64_t& token : tokens_) token = of_tokens.below(classes_);
  const int64_t pixels = static_cast<int64_t>(images_.size() / labels_.size());
  for (std::size_t i = 0; i < images_.size(); ++i)
    images_[i] = static_cast<float>(random.uniform(-1, 1)) +
                 0.3F * static_cast<float>(labels_[i / pixels] * static_cast<int64_t>(i % 5) % 7);
  if (feeds_.has(Role::rate)) feeds_.set(Role::rate, rate);
  if (feeds_.has(Role::correction)) feeds_.set(Role::correction, correction);
  return feeds_.tensors();
}

TrainingModel small_mlp(int replicas, const Optimizer& optimizer, DataParallelOptions options) {
  options.replicas = replicas;
  options.scope = "cpu";
  return build_data_parallel_model(
      all_ops(), mlp({.image = {1, 6, 6}, .classes = 5, .hidden = {16, 12}}), optimizer, options);
}

TrainingModel small_lenet(int replicas) {
  return build_data_parallel_model(all_ops(), lenet(), MomentumSgd{},
                                   {.replicas = replicas, .scope = "cpu"});
}

TrainingModel small_residual(DataParallelOptions options, const Optimizer& optimizer) {
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), residual, optimizer, options);
}

TrainingModel small_of_side(int64_t side, DataParallelOptions options, int64_t channels) {
  options.scope = "cpu";
  const ModelFn network = [=](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 1, side, side}});
    x = conv_layer(net, x, channels, {.pad = 1}, "conv1");
    x = relu(net.graph, batch_norm_layer(net, x, {}, "norm1"), "relu1");
    x = relu(net.graph, conv_layer(net, x, channels, {.stride = 2, .pad = 1}, "conv2"), "relu2");
    classify(net, fc_layer(net, global_average_pool(net.graph, x, "mean"), 5, {}, "fc"));
  };
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

StateValues train(const TrainingModel& model, int64_t batch, int64_t steps, const Dims& image,
                  int threads) {
  Session session(model, cpu_devices(places_of(model)), all_kernels(), {5, threads, {}});
  session.initialise();
  StepFeeds feeds(model, batch, image == Dims{1, 28, 28} ? 10 : 5, image);
  for (int64_t step = 0; step < steps; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    if (std::string drift = find_divergence(session); !drift.empty())
      fail("after step ", step, ": ", drift);
  }
  return session.save();
}

void expect_close(const StateValues& a, const StateValues& b, const TrainingModel& model) {
  for (const State& state : model.states) {
    auto of_a = a.at(state.values[0]).values<float>();
    auto of_b = b.at(state.values[0]).values<float>();
    for (std::size_t i = 0; i < of_a.size(); ++i)
      ASSERT_NEAR(of_a[i], of_b[i], 5e-5 + 1e-4 * std::abs(of_a[i]))
          << state.name << "[" << i << "]";
  }
}

}  // namespace lockstep::testing
