// SPDX-License-Identifier: Apache-2.0
// Feeds and answers of a step, by name.
#include "lockstep/feeds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

struct Batch {
  explicit Batch(int64_t rows) : pixels(rows * 36), labels(rows) {
    std::iota(pixels.begin(), pixels.end(), 0.F);
    std::iota(labels.begin(), labels.end(), 0);
    for (int64_t& label : labels) label %= 5;
    images = {{DType::float32, {rows, 1, 6, 6}}, pixels.data()};
    classes = {{DType::int64, {rows}}, labels.data()};
  }
  void feed(Feeds& feeds) const {
    feeds.set("data", images);
    feeds.set("label", classes);
    feeds.set(Role::rate, 0.25F);
  }
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  Tensor images, classes;
};

// The tensors of each of a model's feeds, by part and replica.
std::vector<const Tensor*> tensors_of(const TrainingModel& model, std::span<const Tensor> tensors,
                                      const std::string& feed) {
  std::vector<const Tensor*> found;
  const auto replicas = static_cast<std::size_t>(model.replicas);
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    for (std::size_t k = 0; k < replicas && model.inputs[i].feed() == feed; ++k)
      found.push_back(&tensors[i * replicas + k]);
  return found;
}

TEST(Feeds, ShareABatchOutOverReplicasAndParts) {
  const TrainingModel model =
      small_mlp(3, MomentumSgd{.correct_momentum = true}, {.weighted = true, .micro_batches = 2});
  const Batch batch(19);
  Feeds feeds(model);
  batch.feed(feeds);
  feeds.set(Role::correction, 0.5F);
  const auto tensors = feeds.tensors();
  // Six shares, replica by replica: 3 3 3 3 3 4 rows. The table is ordered by part, then by
  // replica.
  const int64_t first[] = {0, 6, 12, 3, 9, 15}, rows[] = {3, 3, 3, 3, 3, 4};
  const auto images = tensors_of(model, tensors, "data");
  const auto labels = tensors_of(model, tensors, "label");
  const auto weights = tensors_of(model, tensors, "loss_weight");
  ASSERT_EQ(images.size(), 6U);
  float all = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(images[i]->desc, (TensorDesc{DType::float32, {rows[i], 1, 6, 6}})) << i;
    EXPECT_EQ(images[i]->data, batch.pixels.data() + first[i] * 36) << i;
    EXPECT_EQ(labels[i]->desc, (TensorDesc{DType::int64, {rows[i]}})) << i;
    EXPECT_EQ(labels[i]->data, batch.labels.data() + first[i]) << i;
    EXPECT_EQ(*weights[i]->as<float>(), static_cast<float>(rows[i]) / 19) << i;
    all += *weights[i]->as<float>();
  }
  EXPECT_FLOAT_EQ(all, 1);
  for (const Tensor* rate : tensors_of(model, tensors, "lr")) EXPECT_EQ(*rate->as<float>(), 0.25F);
  for (const Tensor* factor : tensors_of(model, tensors, "momentum_correction"))
    EXPECT_EQ(*factor->as<float>(), 0.5F);

  // A smaller batch replaces the batch before, weights included.
  const Batch other(7);
  other.feed(feeds);
  EXPECT_EQ(tensors_of(model, feeds.tensors(), "data")[5]->desc.dims[0], 2);
  EXPECT_EQ(*weights[5]->as<float>(), 2.F / 7);
}

TEST(Feeds, OfAProcessAreItsRowsOfTheWholeBatch) {
  const TrainingModel whole = small_mlp(3, MomentumSgd{}, {.weighted = true});
  const TrainingModel part = partition(whole, {1, 2});  // replicas 1 and 2, or 2 alone
  const int64_t rows_before = rows_of_share(11, part.first_replica, 3).first;
  Feeds feeds(part, {11});
  const Batch batch(11 - rows_before);
  batch.feed(feeds);
  const auto tensors = feeds.tensors();
  const auto images = tensors_of(part, tensors, "data");
  for (int k = 0; k < part.replicas; ++k) {
    const Rows rows = rows_of_share(11, part.first_replica + k, 3);
    const Tensor& own = *images[k];
    EXPECT_EQ(own.desc.dims[0], rows.count);
    EXPECT_EQ(own.data, batch.pixels.data() + (rows.first - rows_before) * 36);
    EXPECT_EQ(*tensors_of(part, tensors, "loss_weight")[k]->as<float>(),
              static_cast<float>(rows.count) / 11);
  }
  const Batch all(11);
  expect_error([&] { all.feed(feeds); }, "'data' is fed 11 rows, but of a batch of 11", "take");
}

TEST(Feeds, RefuseByName) {
  const TrainingModel model = small_mlp(2);
  const Batch batch(8), odd(7);
  Feeds feeds(model);
  expect_error(
      [&] { feeds.tensors(); },
      "these inputs of the step are not set: 'data' (data) and 'label' (data) and 'lr' (rate)");
  expect_error([&] { feeds.set("dat", batch.images); },
               "the step has no input 'dat'; its inputs: 'data', 'label'");
  expect_error([&] { feeds.set("data", batch.classes); }, "'data' is float32[N,1,6,6]", "int64[8]");
  const Tensor narrow{{DType::float32, {8, 1, 6, 5}}, nullptr};
  expect_error([&] { feeds.set("data", narrow); }, "'data' is float32[N,1,6,6]", "[8,1,6,5]");
  expect_error([&] { feeds.set("data", odd.images); }, "'data' is fed 7 rows",
               "cannot be split equally over 2 shares", "`weighted`");
  expect_error([&] { feeds.set(Role::correction, 1); }, "the step has no input for the correction");
  const Tensor empty{{DType::float32, {0, 1, 6, 6}}, nullptr};
  expect_error([&] { feeds.set("data", empty); }, "'data' is fed no rows");
  batch.feed(feeds);
  expect_error([&] { feeds.set("data", batch.images); }, "'data' is set twice for one step");
  // The tensors are in the caller's memory, so a number must not overwrite them.
  expect_error([&] { feeds.set(Role::data, 5); }, "the step's data is set by its name");
  expect_error([&] { feeds.set(Role::weight, 0); }, "weight follows from the rows");
  EXPECT_EQ(batch.pixels[0], 0);
  feeds.tensors();
  feeds.set("data", batch.images);
  feeds.tensors();
}

static_assert(!std::is_copy_constructible_v<Feeds>);  // tensors point into it

TEST(Feeds, OfAProcessKnowTheWholeRun) {
  const Batch batch(4);
  const TrainingModel equal = partition(small_mlp(4), {1, 2});
  Feeds feeds(equal);  // shares are equal, so the batch need not be set
  batch.feed(feeds);
  EXPECT_EQ(feeds.shares()[0], 0.25F);
  const TrainingModel weighted = partition(small_mlp(4, MomentumSgd{}, {.weighted = true}), {1, 2});
  Feeds blind(weighted);
  expect_error([&] { batch.feed(blind); }, "'data' is fed this process's rows", "{.batch = ..}");
  Feeds seeing(weighted, {8});
  batch.feed(seeing);
  EXPECT_EQ(*tensors_of(weighted, seeing.tensors(), "loss_weight")[1]->as<float>(), 0.25F);
}

// An input with its own rows is not a part of the batch, regardless of its size.
TEST(Feeds, OfFixedShapeBesideABatchDoNotWeighIt) {
  const ModelFn network = [](Net& net) {
    Value x = net.input("x", {DType::float32, {"N", 3}});
    Value two = net.input("two", {DType::float32, {2, 1}});
    Value w = net.param("w", {3}, constant(1));
    const Value sum = reduce_sum(net.graph, mul(net.graph, x, w), {0, 1}, false);
    net.loss("loss", mul(net.graph, sum, reduce_sum(net.graph, two, {0, 1}, false)));
  };
  const TrainingModel model = build_data_parallel_model(
      all_ops(), network, MomentumSgd{}, {.replicas = 2, .scope = "cpu", .weighted = true});
  float x[21] = {}, two[4] = {};
  for (const bool last : {false, true}) {
    Feeds feeds(model);
    if (!last) feeds.set("two", {{DType::float32, {4, 1}}, two});
    feeds.set("x", {{DType::float32, {7, 3}}, x});
    if (last) feeds.set("two", {{DType::float32, {4, 1}}, two});
    feeds.set(Role::rate, 1);
    const auto tensors = feeds.tensors();
    EXPECT_EQ(*tensors_of(model, tensors, "loss_weight")[0]->as<float>(), 3.F / 7);
    EXPECT_EQ(tensors_of(model, tensors, "two")[1]->data, two + 2);
  }
  const TrainingModel part = partition(model, {0, 2});  // a single share has the declared size
  Feeds feeds(part, {7});
  feeds.set("x", {{DType::float32, {3, 3}}, x});
  feeds.set("two", {{DType::float32, {2, 1}}, two});
  feeds.set(Role::rate, 1);
  EXPECT_EQ(tensors_of(part, feeds.tensors(), "two")[0]->data, two);
}

// Metrics and losses have the same weights: the accuracy of uneven shares is the accuracy of the
// batch.
TEST(Results, WeighMetricsByRows) {
  const Batch batch(7);
  const auto accuracy = [&](int replicas, int parts) {
    const TrainingModel model =
        small_mlp(replicas, MomentumSgd{}, {.weighted = true, .micro_batches = parts});
    Session session(model, cpu_devices(replicas), all_kernels(), {5, 1, {}});
    session.initialise();
    Feeds feeds(model);
    batch.feed(feeds);
    return session.run_step(feeds, 0).metric("accuracy");
  };
  const float whole = accuracy(1, 1);
  EXPECT_NEAR(whole * 7, std::round(whole * 7), 1e-5);
  for (const auto& [replicas, parts] : {std::pair{2, 1}, {3, 1}, {1, 2}, {2, 3}, {3, 2}})
    EXPECT_NEAR(accuracy(replicas, parts), whole, 1e-6) << replicas << " x " << parts;
}

TEST(Feeds, OfFixedShapeGoToEveryReplicaOrAreSharedOut) {
  const ModelFn network = [](Net& net) {
    Value x = net.input("x", {DType::float32, {2, 3}});
    Value one_for_all = net.input("scale", {DType::float32, {3}});
    Value w = net.param("w", {3}, constant(1));
    const Value product = mul(net.graph, mul(net.graph, x, one_for_all), w);
    net.loss("loss", reduce_sum(net.graph, product, {0, 1}, false));
  };
  const TrainingModel model =
      build_data_parallel_model(all_ops(), network, MomentumSgd{}, {.replicas = 2, .scope = "cpu"});
  float x[12] = {}, scale[3] = {};
  Feeds feeds(model);
  feeds.set("x", {{DType::float32, {4, 3}}, x});
  feeds.set("scale", {{DType::float32, {3}}, scale});
  feeds.set(Role::rate, 1);
  const auto tensors = feeds.tensors();
  EXPECT_EQ(tensors[1].data, x + 6);
  EXPECT_EQ(tensors[2].data, scale);
  EXPECT_EQ(tensors[3].data, scale);
  expect_error(
      [&] {
        feeds.set("x", {{DType::float32, {5, 3}}, x});
      },
      "'x' is float32[2,3] for each share, but is fed float32[5,3] for 2 shares");
}

TEST(Results, AreFoundByName) {
  DataParallelOptions options{.replicas = 2, .scope = "cpu", .skip_non_finite = true};
  const TrainingModel model = build_data_parallel_model(
      all_ops(), small_network("two_losses").model, MomentumSgd{}, options);
  ASSERT_EQ(model.losses.size(), 2U);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  const auto fetched = session.step().run(feeds.at(0, 0.01F), session.run_options(0));
  const Results answers(model, fetched);
  const auto number = [&](std::size_t i) { return *fetched[i].as<float>(); };
  EXPECT_EQ(answers.loss(), ((number(0) + number(1)) + number(2)) + number(3));
  EXPECT_EQ(answers.loss(model.losses[1].name), number(2) + number(3));
  EXPECT_EQ(answers.metric(model.metrics.at(0).name), (number(4) + number(5)) / 2);
  expect_error([&] { answers.loss("los"); }, "the step has no loss 'los'; it has '",
               model.losses[0].name);
  expect_error([&] { answers.metric("speed"); }, "the step has no metric 'speed'; it has '");
  EXPECT_FALSE(answers.skipped());

  feeds.at(1, 0.01F);
  feeds.images().back() = std::numeric_limits<float>::quiet_NaN();  // replica 1's
  Feeds own(model);
  own.set("data", {{DType::float32, {8, 1, 6, 6}}, feeds.images().data()});
  int64_t labels[8] = {};
  own.set("label", {{DType::int64, {8}}, labels});
  own.set(Role::rate, 0.01F);
  const auto skipped = session.run_step(own, 1).skipped();
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->replica, 1);
  EXPECT_TRUE(model.find_state(skipped->gradient)) << skipped->gradient;
}

// Two empty inputs beside a batch; the first one precedes the batch.
TEST(Feeds, OfNoRowsGoToEveryReplica) {
  const ModelFn network = [](Net& net) {
    Value before = net.input("before", {DType::float32, {0, 3}});
    Value x = net.input("x", {DType::float32, {4, 3}});
    Value after = net.input("after", {DType::float32, {0, 3}});
    Value w = net.param("w", {3}, constant(1));
    const Value all = concat(net.graph, {before, mul(net.graph, x, w), after}, 0);
    net.loss("loss", reduce_sum(net.graph, all, {0, 1}, false));
  };
  const TrainingModel model =
      build_data_parallel_model(all_ops(), network, MomentumSgd{}, {.replicas = 2, .scope = "cpu"});
  float x[24] = {1};
  Feeds feeds(model);
  feeds.set("before", {{DType::float32, {0, 3}}, x});
  feeds.set("x", {{DType::float32, {8, 3}}, x});
  feeds.set("after", {{DType::float32, {0, 3}}, x});
  feeds.set(Role::rate, 1);
  const auto tensors = feeds.tensors();
  for (const char* name : {"before", "after"})
    for (const Tensor* tensor : tensors_of(model, tensors, name))
      EXPECT_EQ(tensor->desc, (TensorDesc{DType::float32, {0, 3}})) << name;
  EXPECT_EQ(tensors_of(model, tensors, "x")[1]->data, x + 12);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  EXPECT_EQ(session.run_step(feeds, 0).loss(), 0.5F);  // the mean of both replicas' sums
}

TEST(Feeds, OfTwoBatchesAreRefused) {
  const TrainingModel model = small_mlp(2, MomentumSgd{}, {.weighted = true});
  const Batch five(5), seven(7);
  Feeds feeds(model);
  five.feed(feeds);
  feeds.tensors();
  feeds.set("label", seven.classes);
  expect_error([&] { feeds.tensors(); }, "'label' is fed 7 rows, 'data' 5");
}

}  // namespace
}  // namespace lockstep::testing
