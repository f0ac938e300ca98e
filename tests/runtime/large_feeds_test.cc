// SPDX-License-Identifier: Apache-2.0
// Batches that are copied to devices during a run, with CPU kernels behind queues (queued_cpu.h).
#include "runtime/exec/large_feeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kWide = 2048;  // 16 rows are large, and so is a replica's half of 32
constexpr int64_t kRows = 32;

TrainingModel wide_model(int replicas) {
  const auto network = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", kWide}});
    classify(net, fc_layer(net, x, 5, {}, "pred"));
  };
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, {.replicas = replicas});
}

// Batches of every step, in a single piece of memory.
class WideFeeds {
 public:
  explicit WideFeeds(const TrainingModel& model) : feeds(model) {}
  void fill(int64_t step, int64_t rows = kRows) {
    PhiloxSequence random(3, static_cast<uint64_t>(step));
    images_.resize(static_cast<std::size_t>(rows * kWide));
    labels_.resize(static_cast<std::size_t>(rows));
    for (float& value : images_) value = static_cast<float>(random.uniform(-1, 1));
    for (int64_t& label : labels_) label = random.below(5);
    feeds.set("data", {{DType::float32, {rows, kWide}}, images_.data()});
    feeds.set("label", {{DType::int64, {rows}}, labels_.data()});
    feeds.set(Role::rate, 0.05F);
  }
  void spoil() { std::fill(images_.begin(), images_.end(), 1e9F); }
  Feeds feeds;

 private:
  std::vector<float> images_;
  std::vector<int64_t> labels_;
};

struct Ahead {
  bool ahead = true;
  std::vector<int64_t> rows = {kRows};  // the number of rows of each step
};

StateValues trained_wide(int replicas, const std::vector<Device>& devices, const Ahead& how) {
  const TrainingModel model = wide_model(replicas);
  Session session(model, devices, queued_kernels(), {5, 1, {}});
  session.initialise();
  WideFeeds batch(model);
  const auto rows = [&](int64_t step) {
    return how.rows[static_cast<std::size_t>(step) % how.rows.size()];
  };
  constexpr int64_t kSteps = 7;
  batch.fill(0, rows(0));
  for (int64_t step = 0; step < kSteps; ++step) {
    RunOptions options = session.run_options(static_cast<uint64_t>(step));
    options.fed_ahead = how.ahead && step > 0;
    if (how.ahead)
      options.meanwhile = [&, next = step + 1] {
        batch.fill(next, rows(next));
        session.step().feed_ahead(batch.feeds.tensors());
        // If the number of rows is new, the next run reads this memory.
        if (next > static_cast<int64_t>(how.rows.size())) batch.spoil();
      };
    session.step().run(batch.feeds.tensors(), options);
    if (!how.ahead) batch.fill(step + 1, rows(step + 1));
  }
  return session.save();
}

TEST(FedAhead, TrainsToTheSameBits) {
  for (const int replicas : {1, 2, 3}) {
    const Ahead equal{.rows = {48}}, several{.rows = {48, 96, 48, 144}};
    for (Ahead how : {equal, several}) {
      SCOPED_TRACE(join(replicas, " replicas, ", how.rows.size(), " batch sizes"));
      const std::vector<Device> gpus = gpu_devices(replicas);
      const StateValues ahead = trained_wide(replicas, gpus, how);
      how.ahead = false;
      EXPECT_TRUE(ahead == trained_wide(replicas, gpus, how));
      EXPECT_TRUE(ahead == trained_wide(replicas, cpu_devices(replicas), how));
    }
  }
}

// A batch that was sent ahead is not used for a run on other feeds.
TEST(FedAhead, IsOnlyForARunThatSaysSo) {
  const TrainingModel model = wide_model(1);
  Session session(model, gpu_devices(1), queued_kernels(), {5, 1, {}});
  session.initialise();
  const StateValues first = session.save();
  WideFeeds batch(model), other(model);
  const auto loss = [&](WideFeeds& of, bool fed_ahead) {
    session.load(first);
    RunOptions options = session.run_options(0);
    options.fed_ahead = fed_ahead;
    return session.run_step(of.feeds, options).loss();
  };
  batch.fill(1);
  other.fill(2);
  const float of_batch = loss(batch, false), of_other = loss(other, false);
  ASSERT_NE(of_batch, of_other);
  session.step().feed_ahead(other.feeds.tensors());
  EXPECT_EQ(loss(batch, false), of_batch) << "sent but not used";
  EXPECT_EQ(loss(batch, true), of_batch) << "flag without a batch sent: older batches are dropped";
  session.step().feed_ahead(batch.feeds.tensors());
  session.step().feed_ahead(other.feeds.tensors());
  EXPECT_EQ(loss(other, true), of_other) << "the last batch counts";
}

TEST(FedAhead, OfAnotherShapeOrTypeIsRefusedOrHasNoEffect) {
  const TrainingModel model = wide_model(1);
  Session session(model, gpu_devices(1), queued_kernels(), {5, 1, {}});
  session.initialise();
  WideFeeds batch(model);
  batch.fill(0);
  session.step().feed_ahead(batch.feeds.tensors());  // before any run
  session.run_step(batch.feeds, 0);
  batch.fill(1, 2 * kRows);
  session.step().feed_ahead(batch.feeds.tensors());
  expect_error([&] { session.step().feed_ahead({}); }, "feeds, was given 0");
}

TEST(FedAhead, WhatGoesWrongMeanwhileFailsTheRun) {
  const TrainingModel model = wide_model(2);
  Session session(model, gpu_devices(2), queued_kernels(), {5, 1, {}});
  session.initialise();
  WideFeeds batch(model);
  for (int64_t step = 0; step < 4; ++step) {  // recorded or not
    batch.fill(step);
    RunOptions options = session.run_options(static_cast<uint64_t>(step));
    options.meanwhile = [] { fail("no more pictures"); };
    expect_error([&] { session.run_step(batch.feeds, options); }, "no more pictures");
    options.meanwhile = nullptr;
    EXPECT_NO_THROW(session.run_step(batch.feeds, options));
  }
}

// -- the copies themselves

Shape bound_rows(Shape shape) {
  for (Dim& dim : shape)
    if (!dim.known()) dim = kRows;
  return shape;
}

class LargeFeedsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kCount = 40000;  // floats

  LargeFeedsTest() {
    Graph graph(all_ops(), "sum");
    const Value small = graph.input("small", {DType::float32, {10}});
    const Value large = graph.input("large", {DType::float32, {kCount}});
    graph.output(neg(graph, small, "minus_small"));
    graph.output(neg(graph, large, "minus_large"));
    plan_ = compile({.graph = graph,
                     .feeds = {"small", "large"},
                     .feed_dims = {{10}, {kCount}},
                     .fetches = {"minus_small", "minus_large"},
                     .states = {},
                     .updates = {},
                     .devices = gpu_devices(1),
                     .kernels = queued_kernels()});
    place_ = gpu_->allocate({}, kCount * sizeof(float), std::byte{0});
    bound_.feeds = {{}, {{DType::float32, {kCount}}, place_.get()}};
  }
  std::vector<Tensor> feeds(float value) {
    values_.assign(kCount, value);
    return {{{DType::float32, {10}}, values_.data()}, {{DType::float32, {kCount}}, values_.data()}};
  }
  float placed() {
    queue_->finish();
    std::vector<float> values(kCount);
    gpu_->copy(values.data(), place_.get(), kCount * sizeof(float));
    EXPECT_EQ(std::count(values.begin(), values.end(), values[0]), kCount);
    return values[0];
  }

  std::unique_ptr<Accelerator> gpu_ = threads_as_devices(Reach::far);
  Plan plan_;
  Memory place_;
  BoundPlan bound_;
  std::vector<float> values_;
  std::unique_ptr<Queue> queue_ = gpu_->queue({});  // the worker's
};

TEST_F(LargeFeedsTest, AreTheLargeOnes) {
  const LargeFeeds large(plan_, *gpu_);
  EXPECT_FALSE(large.has(0));
  EXPECT_TRUE(large.has(1));
}

// While a step blocks the worker, the next batch arrives without overwriting the step's batch.
TEST_F(LargeFeedsTest, TravelBesideTheStep) {
  LargeFeeds large(plan_, *gpu_);
  const auto queue = [this](int) -> Queue& { return *queue_; };
  large.send(feeds(1), 1);
  large.place(bound_, queue);
  EXPECT_EQ(placed(), 1);
  for (float value = 2; value < 5; ++value) {
    std::promise<void> go_on;
    queue_->call([held = go_on.get_future().share()] { held.wait(); });
    large.send(feeds(100), 1);
    large.send(feeds(value), 1);  // sent only after the first batch has arrived
    go_on.set_value();
    EXPECT_EQ(placed(), value - 1);
    large.place(bound_, queue);
    EXPECT_EQ(placed(), value);
  }
}

// A second batch waits until the worker has taken the first.
TEST_F(LargeFeedsTest, DoNotOverwriteWhatIsNotPlaced) {
  LargeFeeds large(plan_, *gpu_);
  const auto queue = [this](int) -> Queue& { return *queue_; };
  for (float value = 1; value < 5; ++value) {
    std::promise<void> go_on;
    large.send(feeds(value), 1);
    queue_->call([held = go_on.get_future().share()] { held.wait(); });  // the run before
    large.place(bound_, queue);
    large.send(feeds(-value), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // gives an error time to show
    go_on.set_value();
    EXPECT_EQ(placed(), value);
  }
}

// A recording begins in the root's queue, regardless of pending work in other queues.
TEST_F(LargeFeedsTest, ArriveBeforeWhatTheRootDoesNext) {
  const TrainingModel model = wide_model(2);
  const Plan plan = compile(step_request(
      model,
      [&](const std::string& feed) {
        return to_dims(bound_rows(model.step.shape(model.step.at(feed))));
      },
      gpu_devices(2), queued_kernels()));
  LargeFeeds large(plan, *gpu_);
  std::vector<Memory> memory;
  std::vector<Tensor> fed;
  BoundPlan bound;
  for (const int slot : plan.feeds) {
    const TensorDesc& desc = plan.slots[static_cast<std::size_t>(slot)].desc;
    memory.push_back(gpu_->allocate({}, desc.bytes(), std::byte{0}));
    bound.feeds.push_back({desc, memory.back().get()});
    memory.push_back(gpu_->allocate_host(desc.bytes()));
    fed.push_back({desc, memory.back().get()});
  }
  const std::unique_ptr<Queue> second = gpu_->queue({});
  std::promise<void> go_on;
  second->call([held = go_on.get_future().share()] { held.wait(); });
  large.send(fed, 1);
  large.place(bound, [&](int worker) -> Queue& { return worker == 0 ? *queue_ : *second; });
  std::atomic<bool> begun = false;
  queue_->call([&] { begun = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // gives an error time to show
  EXPECT_FALSE(begun);
  go_on.set_value();
  queue_->finish();
  second->finish();
  EXPECT_TRUE(begun);
}

}  // namespace
}  // namespace lockstep::testing
