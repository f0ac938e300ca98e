// SPDX-License-Identifier: Apache-2.0
#include "lockstep/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/packing_summary.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "runtime/state/replica_divergence.h"
#include "tests/support/golden.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// The network's declarations, without a training step.
std::vector<Net::Param> params_of(const std::string& name) {
  Graph graph(all_ops());
  Net net(graph, Mode::train);
  model_named(name, published_options(name))(net);
  return net.params();
}

int64_t trained_elements(const std::string& name) {
  int64_t count = 0;
  for (const Net::Param& param : params_of(name))
    if (param.kind != StateKind::computed) count += element_count(param.dims);
  return count;
}

// The number of parameters in torchvision's documentation.
TEST(Models, HaveAsManyParametersAsPublished) {
  EXPECT_EQ(trained_elements("resnet18"), 11689512);
  EXPECT_EQ(trained_elements("resnet34"), 21797672);
  EXPECT_EQ(trained_elements("resnet50"), 25557032);
  EXPECT_EQ(trained_elements("resnet101"), 44549160);
  EXPECT_EQ(trained_elements("resnet152"), 60192808);
  EXPECT_EQ(trained_elements("resnext50_32x4d"), 25028904);
  EXPECT_EQ(trained_elements("vgg16"), 138357544);
  EXPECT_EQ(trained_elements("mobilenet_v2"), 3504872);
}

TEST(Models, AreNamedAsTorchvisionNamesThem) {
  auto has = [](const std::string& model, const std::vector<std::string>& wanted) {
    std::set<std::string> names;
    for (const Net::Param& param : params_of(model)) names.insert(param.name);
    for (const std::string& name : wanted) EXPECT_TRUE(names.count(name)) << model << " " << name;
  };
  has("resnet50", {"conv1.weight", "bn1.running_mean", "layer1.0.downsample.1.bias",
                   "layer4.2.conv3.weight", "layer4.2.bn3.running_var", "fc.bias"});
  has("vgg16", {"features.0.weight", "features.28.bias", "classifier.6.weight"});
  has("mobilenet_v2",
      {"features.0.0.weight", "features.1.conv.0.1.running_var", "features.1.conv.1.weight",
       "features.17.conv.2.weight", "features.18.1.bias", "classifier.1.weight"});
}

// `k j name shape values bytes`: k counts trained variables, j all variables. Kernels are [height,
// width, inputs, outputs] in TensorFlow and [outputs, inputs, height, width] in Lockstep.
TEST(Models, KerasResNetHasItsVariablesInOrder) {
  std::ifstream table(source_path("tests/models/resnet50_keras_variables.tsv"));
  ASSERT_TRUE(table.good());
  std::string line;
  std::getline(table, line);
  const auto params = params_of("resnet50_keras");
  std::size_t row = 0;
  for (; std::getline(table, line); ++row) {
    std::istringstream fields(line);
    std::string k, j, name, shape;
    fields >> k >> j >> name >> shape;
    ASSERT_LT(row, params.size());
    Dims dims = params[row].dims;
    if (dims.size() == 4) dims = {dims[2], dims[3], dims[1], dims[0]};
    std::string ours;
    for (int64_t size : dims) ours += (ours.empty() ? "" : "x") + std::to_string(size);
    EXPECT_EQ(params[row].name, name) << "variable " << j;
    EXPECT_EQ(ours, shape) << name;
    EXPECT_EQ(params[row].kind == StateKind::computed, k == "-") << name;
  }
  EXPECT_EQ(row, 320u);
  EXPECT_EQ(params.size(), 320u);
}

// -- the order of the Keras ResNet-50's step, compared with a data-parallel TensorFlow step

// Trained parameters, indexed by k of the table.
std::vector<std::string> trained_in_order() {
  std::vector<std::string> names;
  for (const Net::Param& param : params_of("resnet50_keras"))
    if (param.kind != StateKind::computed) names.push_back(param.name);
  return names;
}

TrainingModel keras_step(int replicas, int processes = 1) {
  return build_data_parallel_model(
      all_ops(), model_named("resnet50_keras", published_options("resnet50_keras")), MomentumSgd{},
      {.replicas = replicas, .all_reduce = {.processes = processes}});
}

TEST(KerasStep, UpdatesComeInTheReferenceOrder) {
  std::ifstream file(source_path("tests/models/resnet50_update_order.txt"));
  std::vector<int> reference;
  for (int k = 0; file >> k;) reference.push_back(k);
  ASSERT_EQ(reference.size(), 214u);
  const auto names = trained_in_order();
  TrainingModel model = keras_step(1);
  std::map<std::string, int> place;  // of each parameter's update in Lockstep's step
  for (int i = 0; i < model.step.node_count(); ++i) {
    Node node = model.step.node(i);
    EXPECT_NE(node.type(), "AllReduce") << "one replica needs no exchange";
    if (node.type() == "MomentumSGDUpdate")
      place.emplace(node.name(), static_cast<int>(place.size()));
  }
  ASSERT_EQ(place.size(), 214u);
  ASSERT_EQ(model.gradients.size(), 214u);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::string& name = names[reference[i]];
    auto found = place.find("gpu_0/" + name + "_update");
    ASSERT_NE(found, place.end()) << name;
    EXPECT_LE(std::abs(found->second - static_cast<int>(i)), 3) << name;
  }
  EXPECT_EQ(model.updates.size(), 2 * 214u + 106u) << "parameters, momentum, running statistics";
}

// Horovod broadcasts variables after its first step. Lockstep broadcasts the initial values, also
// over processes.
TEST(KerasStep, AllVariablesAreBroadcastByNameAtTheStart) {
  std::vector<std::string> variables;
  for (const Net::Param& param : params_of("resnet50_keras")) variables.push_back(param.name);
  ASSERT_EQ(variables.size(), 320u);
  const auto broadcasts = [](const Graph& init) {
    std::vector<std::string> names;
    for (int i = 0; i < init.node_count(); ++i)
      if (init.node(i).type() == "Broadcast") names.push_back(init.node(i).name());
    return names;
  };
  std::vector<std::string> wanted;
  for (const std::string& name : variables) wanted.push_back(name + "_broadcast");
  const TrainingModel whole = keras_step(4, 2);
  EXPECT_EQ(broadcasts(whole.init), wanted);
  for (const int rank : {0, 1}) {
    const TrainingModel part = partition(whole, {rank, 2});
    EXPECT_EQ(broadcasts(part.init), wanted) << "rank " << rank;
    std::map<std::string, int> messages;
    for (int i = 0; i < part.init.node_count(); ++i) ++messages[part.init.node(i).type()];
    EXPECT_EQ(messages[rank == 0 ? "Send" : "Recv"], 320);
    EXPECT_EQ(messages[rank == 0 ? "Recv" : "Send"], 0);
  }
}

// Each reduce follows the gradient that completes its operands, and each update follows its reduce.
TEST(KerasStep, ReducesComeAsEarlyAsGradientsAllow) {
  TrainingModel model = keras_step(2);
  const Graph& step = model.step;
  int last_forward = 0, heavy = 0, reduces = 0;
  for (int i = 0; i < step.node_count(); ++i)
    if (step.node(i).type() == "SoftmaxCrossEntropyLoss") last_forward = i;
  auto is_heavy = [](const Node& node) {
    for (const char* type : {"ConvGradX", "ConvGradW", "BatchNormGrad", "ReluGrad", "Gemm",
                             "MaxPoolGrad", "ReduceSum"})
      if (node.type() == type) return true;
    return false;
  };
  int64_t bytes = 0;
  std::vector<std::pair<int, int64_t>> reduced;  // (heavy nodes before it, bytes so far)
  for (int i = last_forward + 1; i < step.node_count(); ++i) {
    Node node = step.node(i);
    heavy += is_heavy(node);
    if (node.type() != "AllReduce") continue;
    ++reduces;
    bytes += 4 * element_count(to_dims(step.shape(node.outputs()[0])));
    reduced.emplace_back(heavy, bytes);
    int ready = 0;  // the position of the last of its gradients
    for (Value input : node.inputs()) ready = std::max(ready, step.producer(input)->index());
    for (int between = ready + 1; between < i; ++between)
      EXPECT_FALSE(is_heavy(step.node(between)))
          << node.name() << " waits for " << step.node(between).name();
    for (Value output : node.outputs())
      for (int user : step.consumers(output)) EXPECT_GT(user, i);
  }
  EXPECT_EQ(reduces, 214);
  EXPECT_EQ(bytes, 102334368);
  int64_t early = 0;
  for (auto [nodes, so_far] : reduced)
    if (nodes <= heavy * 6 / 10) early = so_far;
  EXPECT_GE(static_cast<double>(early), 0.95 * static_cast<double>(bytes))
      << "reducible at 60 % of the backward pass";
}

// The number of reductions that each packing leaves of its 214, computed from the ancestors' rules.
TEST(KerasStep, PackingsLeaveTheKnownNumberOfReductions) {
  std::vector<GradientSize> sizes;
  int64_t bytes = 0;
  for (const Net::Param& param : params_of("resnet50_keras"))
    if (param.kind != StateKind::computed) {
      sizes.push_back({param.name, element_count(param.dims), DType::float32});
      bytes += sizes.back().bytes();
    }
  ASSERT_EQ(sizes.size(), 214u);
  EXPECT_EQ(bytes, 102334368);
  auto packed = [&](const std::string& text) { return pack(parse_packing(text), sizes); };
  for (auto [text, count] :
       std::vector<std::pair<std::string, std::size_t>>{{"none", 214},
                                                        {"tf_cnn:4096:10", 116},
                                                        {"tf_cnn:64k:10", 94},
                                                        {"tf_cnn:1M:10", 45},
                                                        {"tf_cnn:4M:10", 25},
                                                        {"tf_cnn:1G:100", 3},
                                                        {"ray:64k", 53},
                                                        {"ray:1M", 35},
                                                        {"ray:10000000", 9},
                                                        {"ray:25M", 4},
                                                        {"ray:64M", 2},
                                                        {"ray:128M", 1}})
    EXPECT_EQ(packed(text).size(), count) << text;

  auto sizes_of = [&](const Buckets& buckets) {
    std::vector<std::pair<int64_t, std::size_t>> result;
    for (const Bucket& bucket : buckets) {
      int64_t total = 0;
      for (int i : bucket) total += sizes[i].bytes();
      result.emplace_back(total, bucket.size());
    }
    return result;
  };
  using Sizes = std::vector<std::pair<int64_t, std::size_t>>;
  EXPECT_EQ(sizes_of(packed("ready:1M:25M")),
            (Sizes{{8196000, 2}, {31524864, 20}, {26275840, 16}, {27648000, 72}, {8689664, 104}}));
  EXPECT_EQ(packing_summary(packed("ray:10000000"), sizes),
            (std::vector<std::string>{
                "before packing: 214 gradients, mean 467 KiB, median 2 KiB, total 97.6 MiB",
                "after packing: 9 buckets, mean 10.8 MiB, median 11 MiB, total 97.6 MiB"}));
  EXPECT_EQ(sizes_of(packed("ray:10000000")), (Sizes{{12414880, 6},
                                                     {13643776, 8},
                                                     {13662208, 8},
                                                     {16832512, 12},
                                                     {11546624, 8},
                                                     {10010624, 28},
                                                     {11312128, 28},
                                                     {10217984, 52},
                                                     {2693632, 64}}));
}

// Trains every model with two replicas for three steps, on small images if the architecture allows.
class EveryModel : public ::testing::TestWithParam<std::string> {};
TEST_P(EveryModel, LearnsABatchByHeart) {
  ClassifierOptions options = published_options(GetParam());
  options.classes = 5;
  if (options.image.channels == 3) options.image = {3, 32, 32};
  TrainingModel model = build_data_parallel_model(all_ops(), model_named(GetParam(), options),
                                                  MomentumSgd{.momentum = 0.9F},
                                                  {.replicas = 2, .rules = {.weight_decay = 0}});
  Session session(model, cpu_devices(2), all_kernels(), {.threads = 1});
  session.initialise();
  StepFeeds feeds(model, 16, options.classes,
                  {options.image.channels, options.image.height, options.image.width});
  double first = 0, last = 0;
  for (uint64_t step = 0; step < 8; ++step) {
    auto fetched = session.step().run(feeds.at(0, 0.001F), session.run_options(step));
    double loss = 0;
    for (std::size_t k = 0; k < 2; ++k) loss += *fetched[k].as<float>();
    ASSERT_TRUE(std::isfinite(loss)) << "step " << step;
    (step == 0 ? first : last) = loss;
  }
  EXPECT_LT(last, first);
  EXPECT_EQ(find_divergence(session), "");
}
INSTANTIATE_TEST_SUITE_P(All, EveryModel,
                         ::testing::Values("lenet", "mlp", "resnet18", "resnet50",
                                           "resnext50_32x4d", "resnet50_keras", "mobilenet_v2"));

}  // namespace
}  // namespace lockstep::testing
