#include "models/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "builders/data_parallel.h"
#include "operators/all.h"
#include "runtime/session.h"
#include "tests/support/golden.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// The network's declarations, without a training step around it.
std::vector<Net::Param> params_of(const std::string& name) {
  Graph graph(all_ops());
  Net net(graph, Mode::train, "", "");
  model_named(name, published_options(name))(net);
  return net.params();
}

int64_t trained_elements(const std::string& name) {
  int64_t count = 0;
  for (const Net::Param& param : params_of(name))
    if (param.kind != StateKind::computed) count += element_count(param.dims);
  return count;
}

// What torchvision's documentation gives as the number of parameters.
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

// `k j name shape values bytes`: k counts trained variables, j all of them; kernels lie
// [height, width, inputs, outputs] there and [outputs, inputs, height, width] here.
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

// Every model trains: on small images, where the architecture allows, two replicas, three steps.
class EveryModel : public ::testing::TestWithParam<std::string> {};
TEST_P(EveryModel, LearnsABatchByHeart) {
  ClassifierOptions options = published_options(GetParam());
  options.classes = 5;
  if (options.image.channels == 3) options.image = {3, 32, 32};
  TrainingModel model =
      build_data_parallel_model(all_ops(), model_named(GetParam(), options),
                                {.momentum = 0.9F, .weight_decay = 0}, {.replicas = 2});
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
  EXPECT_EQ(find_drift(model, session.state()), "");
}
INSTANTIATE_TEST_SUITE_P(All, EveryModel,
                         ::testing::Values("lenet", "mlp", "resnet18", "resnet50",
                                           "resnext50_32x4d", "resnet50_keras", "mobilenet_v2"));

}  // namespace
}  // namespace lockstep::testing
