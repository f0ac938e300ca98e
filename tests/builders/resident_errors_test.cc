// SPDX-License-Identifier: Apache-2.0
// Batches that cannot be loaded, steps that are out of range, and models that cannot be built.
#include <gtest/gtest.h>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/resident.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const ModelFn kMlp = mlp({.image = {1, 6, 6}, .classes = 5, .hidden = {16, 12}});

TrainingModel built(const ModelFn& network, const ResidentInputs& resident,
                    DataParallelOptions options = {}) {
  options.scope = "cpu";
  options.resident = resident;
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

ResidentInputs of(std::vector<std::string> rows, std::vector<std::string> states = {},
                  const ResidentLimits& limits = {4, 20, 3}) {
  return {std::move(rows), std::move(states), limits};
}

// Rows of 36 pixels and their labels.
class Loaded {
 public:
  explicit Loaded(int replicas)
      : model_(built(kMlp, of({"data", "label"}), {.replicas = replicas})),
        session_(model_, cpu_devices(replicas), all_kernels(), {1, 1, {}}),
        resident(session_) {
    session_.initialise();
    resident.feeds().set(Role::rate, 0.1F);
  }
  std::map<std::string, Tensor> batch(int64_t rows, int64_t labels) {
    images_ = Literal(DType::float32, {rows, 1, 6, 6});
    labels_ = Literal(DType::int64, {labels});
    return {{"data", view_of(images_)}, {"label", view_of(labels_)}};
  }
  void load(const std::map<std::string, Tensor>& inputs) {
    static_cast<void>(resident.load(inputs));
  }

 private:
  TrainingModel model_;
  Session session_;
  Literal images_, labels_;

 public:
  ResidentBatch resident;
};

TEST(ResidentErrors, BatchesThatDoNotFit) {
  Loaded loaded(2);
  const auto refused = [&](int64_t rows, const char* why) {
    expect_error([&] { loaded.load(loaded.batch(rows, rows)); }, why);
  };
  refused(1, "a minibatch of 0 sequences does not suffice for 2 replicas");
  refused(48, "each of 2 replicas would hold 24 rows of the batch of 48");
  refused(0, "a batch of 0 rows cannot be loaded");
  expect_error([&] { loaded.load(loaded.batch(8, 7)); },
               "the batch has 7 rows of 'label' and 8 of 'data'");
  auto batch = loaded.batch(8, 8);
  batch.erase("label");
  expect_error([&] { loaded.load(batch); }, "the batch has no 'label'");
  batch = loaded.batch(8, 8);
  batch["images"] = batch["data"];
  expect_error(
      [&] { loaded.load(batch); },
      "'images' is not a resident input of the model; its resident inputs are data, label");
  batch = loaded.batch(8, 8);
  batch["data"].desc.dims = {8, 36};
  expect_error([&] { loaded.load(batch); }, "'data' of the batch is float32[8,36]",
               "held in float32[20,1,6,6]");
  batch["data"].desc.dims = {};
  expect_error([&] { loaded.load(batch); }, "'data' of the batch is float32[]");
  batch = loaded.batch(8, 8);
  batch["label"].desc.dtype = DType::int32;
  expect_error([&] { loaded.load(batch); }, "'label' of the batch is int32[8]");
}

TEST(ResidentErrors, StatesThatDoNotFit) {
  const ModelFn network = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 2}});
    net.input("first", {DType::float32, {"M", 2}});
    Value score = fc_layer(net, x, 1, {}, "score");
    if (net.training()) net.loss("loss", reduce_mean(net.graph, score, {}, false, "mean"));
  };
  const TrainingModel model = built(network, of({"data"}, {"first"}), {.replicas = 2});
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  ResidentBatch resident(session);
  const auto refused = [&](int64_t rows, int64_t states, const char* why) {
    const Literal data(DType::float32, {rows, 2}), first(DType::float32, {states, 2});
    expect_error(
        [&] {
          static_cast<void>(resident.load({{"data", view_of(data)}, {"first", view_of(first)}}));
        },
        why);
  };
  refused(16, 4, "sequences of 4 rows, but the model is built for at most 3");
  refused(4, 5, "the batch has 4 rows and 5 rows of states");
  refused(4, 0, "the batch has 4 rows and 0 rows of states");
  refused(3, 1, "a minibatch of 0 sequences does not suffice for 2 replicas");
}

// A failed load keeps the previous batch.
TEST(ResidentErrors, MinibatchesThatAreNone) {
  Loaded loaded(2);
  expect_error([&] { loaded.resident.optimize(0, 0); }, "no batch is loaded");
  expect_error([&] { loaded.resident.sweep({}); }, "no batch is loaded");
  loaded.load(loaded.batch(18, 18));
  expect_error([&] { loaded.load(loaded.batch(1, 1)); }, "does not suffice");
  EXPECT_EQ(loaded.resident.loaded().held(), 8);
  for (int64_t index : {-1, 5, 8})
    expect_error([&] { loaded.resident.optimize(index, 0); },
                 join("the minibatch at row ", index, " of each replica, of 4 rows"),
                 "is not within the 8 rows that are loaded");
  loaded.resident.optimize(4, 0);
  expect_error([&] { loaded.resident.sweep({.epochs = -1}); }, "a sweep of -1 epochs");
}

TEST(ResidentErrors, AnIndexInsideASequence) {
  const ModelFn network = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 2}});
    Value h = net.input("first", {DType::float32, {"M", 2}});
    Value score = reduce_sum(net.graph, fc_layer(net, x, 1, {}, "score"), {}, false, "sum");
    Value state = reduce_sum(net.graph, fc_layer(net, h, 1, {}, "state"), {}, false, "states");
    if (net.training()) net.loss("loss", add(net.graph, score, state, "both"));
  };
  const TrainingModel model = built(network, of({"data"}, {"first"}));
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  session.initialise();
  ResidentBatch resident(session);
  resident.feeds().set(Role::rate, 0.1F);
  const Literal data(DType::float32, {12, 2}), first(DType::float32, {6, 2});
  EXPECT_EQ(resident.load({{"data", view_of(data)}, {"first", view_of(first)}}).length, 2);
  resident.optimize(2, 0);
  expect_error([&] { resident.optimize(3, 0); },
               "the minibatch at row 3 of each replica begins inside a sequence");
}

TEST(ResidentErrors, ModelsThatCannotBeBuilt) {
  expect_error(
      [&] {
        built(kMlp, of({"data", "labels"}));
      },
      "the network has no input 'labels' that could be resident", "'data', 'label'");
  expect_error(
      [&] {
        built(kMlp, of({"data", "data"}));
      },
      "the resident input 'data' is listed twice");
  expect_error([&] { built(kMlp, of({"data"}, {"data"})); }, "'data' is listed twice");
  expect_error([&] { built(kMlp, of({}, {"data"})); }, "resident states need resident rows");
  const auto limited = [&](const ResidentLimits& limits, const std::string& name) {
    expect_error([&] { built(kMlp, of({"data"}, {}, limits)); }, "resident.limits." + name,
                 "should be at least 1");
  };
  limited({0, 1, 1}, "minibatch");
  limited({1, 0, 1}, "capacity");
  limited({1, 1, -1}, "longest");
  expect_error(
      [&] {
        built(kMlp, of({"data", "label"}), {.weighted = true});
      },
      "minibatches of a resident batch have equal shares");
  expect_error(
      [&] {
        built(kMlp, of({"data", "label"}), {.micro_batches = 2});
      },
      "not 2 micro-batches");

  const auto with_input = [](const std::string& name, const TensorType& type) -> ModelFn {
    return [=](Net& net) {
      kMlp(net);
      net.input(name, type);
    };
  };
  expect_error(
      [&] {
        built(with_input("other", {DType::float32, {"K", 2}}), of({"data", "other"}));
      },
      "'data' float32[N,1,6,6] and 'other' float32[K,2] should have the same first dimension");
  expect_error(
      [&] {
        built(with_input("one", {DType::float32, {}}), of({"one"}));
      },
      "'one' float32[]", "should have the same first dimension");
  for (const char* name : {"minibatch", "minibatch_index", "data_resident"})
    expect_error(
        [&] {
          built(with_input(name, {DType::float32, {"N"}}), of({"data"}));
        },
        join("from its input '", name, "', but the network has a value of that name"));
}

TEST(ResidentErrors, ModelsThatHoldNothing) {
  TrainingModel model = small_mlp(1);
  const auto refused = [&](const char* why) {
    Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
    expect_error([&] { ResidentBatch resident(session); }, why);
  };
  refused("the model holds no batch on its devices");
  model = built(kMlp, of({"data", "label"}));
  const std::string limits = model.metadata.at("resident");
  EXPECT_EQ(limits, "minibatch 4 capacity 20 longest 3");
  for (const char* bad : {"", "minibatch 4", "minibatch 4 capacity 20 longest 3 rows",
                          "capacity 4 minibatch 20 longest 3",
                          "minibatch 4 capacity 20 longest 99999999999999999999"}) {
    model.metadata["resident"] = bad;
    refused("should be 'minibatch ROWS capacity ROWS longest ROWS'");
  }
  model.metadata["resident"] = "minibatch 4 capacity 21 longest 3";
  refused("metadata: 'data_resident' is [20,1,6,6], but holds 21 rows");
  model.metadata["resident"] = "minibatch 0 capacity 20 longest 3";
  refused("resident.limits.minibatch is 0 rows");
  model.metadata["resident"] = limits;
  model.metadata["sequences"] = "label\nfirst\n";
  refused("lists 2 inputs, but the step holds 1");
}

}  // namespace
}  // namespace lockstep::testing
