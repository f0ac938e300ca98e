// What a step is fed with and what it answers, by name.
#include "runtime/feeds.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "builders/step/partition.h"
#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"
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

// Of each tensor that a model's `feed` is fed, by part and replica.
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
  // Six shares, replica by replica: 3 3 3 3 3 4 rows. The table goes by part, then by replica.
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

  // A smaller batch takes the place of the one before, weights too.
  const Batch other(7);
  other.feed(feeds);
  EXPECT_EQ(tensors_of(model, feeds.tensors(), "data")[5]->desc.dims[0], 2);
  EXPECT_EQ(*weights[5]->as<float>(), 2.F / 7);
}

TEST(Feeds, OfAProcessAreItsRowsOfTheWholeBatch) {
  const TrainingModel whole = small_mlp(3, MomentumSgd{}, {.weighted = true});
  const TrainingModel part = partition(whole, {1, 2});  // replicas 1 and 2, or 2 alone
  const int64_t rows_before = rows_of_share(11, part.first_replica, 3).first;
  Feeds feeds(part, {3, 11});
  const Batch batch(11 - rows_before);
  batch.feed(feeds);
  const auto tensors = feeds.tensors();
  const auto images = tensors_of(part, tensors, "data");
  for (int k = 0; k < part.replicas; ++k) {
    const Rows rows = rows_of_share(11, part.first_replica + k, 3);
    const Tensor& own = *images[static_cast<std::size_t>(k)];
    EXPECT_EQ(own.desc.dims[0], rows.count);
    EXPECT_EQ(own.data, batch.pixels.data() + (rows.first - rows_before) * 36);
    EXPECT_EQ(*tensors_of(part, tensors, "loss_weight")[static_cast<std::size_t>(k)]->as<float>(),
              static_cast<float>(rows.count) / 11);
  }
  const Batch all(11);
  expect_error([&] { all.feed(feeds); }, "'data' is fed 11 rows; of a batch of 11", "take");
}

TEST(Feeds, RefuseByName) {
  const TrainingModel model = small_mlp(2);
  const Batch batch(8), odd(7);
  Feeds feeds(model);
  expect_error([&] { feeds.tensors(); },
               "the step was not fed 'data' (data) and 'label' (data) and 'lr' (rate)");
  expect_error([&] { feeds.set("dat", batch.images); },
               "the step has no input 'dat'; it is fed 'data', 'label'");
  expect_error([&] { feeds.set("data", batch.classes); }, "'data' is float32[N,1,6,6]", "int64[8]");
  const Tensor narrow{{DType::float32, {8, 1, 6, 5}}, nullptr};
  expect_error([&] { feeds.set("data", narrow); }, "'data' is float32[N,1,6,6]", "[8,1,6,5]");
  expect_error([&] { feeds.set("data", odd.images); }, "'data' is fed 7 rows",
               "do not divide over 2 shares", "`weighted`");
  expect_error([&] { feeds.set(Role::correction, 1); }, "the step is fed no correction");
  batch.feed(feeds);
  expect_error([&] { feeds.set("data", batch.images); }, "'data' is fed twice for one step");
  feeds.tensors();
  feeds.set("data", batch.images);
  feeds.tensors();
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

TEST(Answers, AreFoundByName) {
  DataParallelOptions options{.replicas = 2, .scope = "cpu", .skip_non_finite = true};
  const TrainingModel model = build_data_parallel_model(
      all_ops(), small_network("two_losses").model, MomentumSgd{}, options);
  ASSERT_EQ(model.losses.size(), 2U);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  const auto fetched = session.step().run(feeds.at(0, 0.01F), session.run_options(0));
  const Answers answers(model, fetched);
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

}  // namespace
}  // namespace lockstep::testing
