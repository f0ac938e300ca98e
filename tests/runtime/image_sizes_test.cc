// SPDX-License-Identifier: Apache-2.0
// One network for images of several sizes, with one state.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/state/replica_divergence.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const std::vector<int64_t> kSides{6, 14, 8, 12, 7, 10};
const std::vector<int64_t> kOrder{0, 1, 2, 0, 3, 3, 4, 5, 1, 0, 5, 2};  // indices into kSides
constexpr int64_t kBatch = 12, kClasses = 5;

struct Where {
  std::string devices;
  int replicas;
  const std::vector<KernelTable>& kernels;
};

std::vector<TrainingModel> models_of(int replicas) {
  std::vector<TrainingModel> models;
  for (int64_t side : kSides) models.push_back(small_of_side(side, {.replicas = replicas}));
  return models;
}

// Runs every step in a new session that takes over the state.
StateValues one_session_a_step(const std::vector<TrainingModel>& models, const Where& where) {
  StateValues state;
  for (std::size_t step = 0; step < kOrder.size(); ++step) {
    const auto size = static_cast<std::size_t>(kOrder[step]);
    Session session(models[size], parse_devices(where.devices), where.kernels, {5, 1, {}});
    session.initialise();
    if (step > 0) session.load(state);
    StepFeeds feeds(models[size], kBatch, kClasses, {1, kSides[size], kSides[size]});
    session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
    state = session.save();
  }
  return state;
}

struct Sizes {
  Session session;
  std::vector<std::unique_ptr<Program>> others;
  std::vector<std::unique_ptr<StepFeeds>> feeds;

  Sizes(const std::vector<TrainingModel>& models, const Where& where)
      : session(models[0], parse_devices(where.devices), where.kernels, {5, 1, {}}) {
    session.initialise();
    for (std::size_t i = 0; i < models.size(); ++i) {
      feeds.push_back(
          std::make_unique<StepFeeds>(models[i], kBatch, kClasses, Dims{1, kSides[i], kSides[i]}));
      if (i > 0) others.push_back(session.step_of(models[i]));
    }
  }
  Program& step(std::size_t size) { return size == 0 ? session.step() : *others[size - 1]; }
};

void expect_same_bits(const Where& where) {
  SCOPED_TRACE(where.devices);
  const std::vector<TrainingModel> models = models_of(where.replicas);
  Sizes sizes(models, where);
  for (std::size_t step = 0; step < kOrder.size(); ++step) {
    const auto size = static_cast<std::size_t>(kOrder[step]);
    const auto feeds = sizes.feeds[size]->at(static_cast<int64_t>(step), 0.05F);
    sizes.step(size).run(feeds, sizes.session.run_options(step));
    EXPECT_EQ(find_divergence(sizes.session), "");
  }
  EXPECT_TRUE(sizes.session.save() == one_session_a_step(models, where));
}

TEST(ImageSizes, TrainOneStateAsSessionsOfTheirOwnDo) {
  expect_same_bits({"cpu", 1, all_kernels()});
  expect_same_bits({"cpu*3", 3, all_kernels()});
  expect_same_bits({"gpu*2", 2, queued_kernels()});
}

TEST(ImageSizes, ShareTheMemoryOfTheLargest) {
  const Where where{"cpu*2", 2, all_kernels()};
  const std::vector<TrainingModel> models = models_of(where.replicas);
  Sizes sizes(models, where);
  std::size_t largest = 0, sum = 0;
  for (std::size_t size = 0; size < models.size(); ++size) {
    Session alone(models[size], parse_devices(where.devices), where.kernels, {5, 1, {}});
    alone.initialise();
    alone.step().run(sizes.feeds[size]->at(0, 0.05F), alone.run_options(0));
    largest = std::max(largest, alone.step().arena_bytes());
    sum += alone.step().arena_bytes();
    sizes.step(size).run(sizes.feeds[size]->at(0, 0.05F), sizes.session.run_options(size));
  }
  EXPECT_EQ(sizes.session.step().arena_bytes(), largest);
  EXPECT_LT(3 * largest, sum) << "the sizes differ too much for this test";
}

TEST(ImageSizes, PredictWithOneState) {
  const std::vector<TrainingModel> models = models_of(1);
  Session session(models[0], cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  std::vector<std::unique_ptr<Program>> predictions;
  for (const TrainingModel& model : models) predictions.push_back(session.inference_of(model));
  for (std::size_t size = models.size(); size-- > 0;) {
    const int64_t side = kSides[size];
    std::vector<float> pixels(static_cast<std::size_t>(2 * side * side));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 7);
    const Literal image = Literal::of<float>(pixels, {2, 1, side, side});
    const Tensor feed[] = {view_of(image)};
    const Tensor here = predictions[size]->run(feed, session.run_options(0))[0];
    Session alone(models[size], cpu_devices(1), all_kernels(), {5, 1, {}});
    alone.initialise();
    alone.load(session.save());
    const Tensor there = alone.inference().run(feed, alone.run_options(0))[0];
    ASSERT_EQ(here.desc, there.desc);
    EXPECT_TRUE(std::equal(here.as<float>(), here.as<float>() + here.count(), there.as<float>()));
  }
}

// A program beside the step allocates memory only if it needs more.
TEST(ImageSizes, AProgramBesideTheStepSharesItsMemory) {
  const TrainingModel model = small_of_side(8, {});
  const auto pixels = [](int64_t rows) {
    return Literal::of<float>(std::vector<float>(static_cast<std::size_t>(rows * 64), 0.5F),
                              {rows, 1, 8, 8});
  };
  const Literal few = pixels(2), many = pixels(200);
  const auto run = [&](Session& session, Program& program, const Literal& images) {
    const Tensor feed[] = {view_of(images)};
    const Tensor result = program.run(feed, session.run_options(0))[0];
    return std::vector<float>(result.as<float>(), result.as<float>() + result.count());
  };
  // Other predictions cache filters with a folded batch norm, outside the shared memory.
  const SessionOptions exact{.seed = 5, .threads = 1, .compile = {.exact = true}};
  Session session(model, cpu_devices(1), all_kernels(), exact);
  session.initialise();
  StepFeeds feeds(model, kBatch, kClasses, {1, 8, 8});
  session.step().run(feeds.at(0, 0.05F), session.run_options(0));
  const Program& alone = session.inference();
  const auto beside =
      session.program(model.inference, alone.feeds(), alone.fetches(), {}, &session.step());
  const std::size_t of_step = session.step().arena_bytes();
  EXPECT_EQ(run(session, *beside, few), run(session, session.inference(), few));
  EXPECT_EQ(beside->arena_bytes(), of_step);
  EXPECT_EQ(run(session, *beside, many), run(session, session.inference(), many));
  EXPECT_GT(beside->arena_bytes(), of_step);
  EXPECT_EQ(session.step().arena_bytes(), beside->arena_bytes());
  session.step().run(feeds.at(1, 0.05F), session.run_options(1));

  Session other(model, cpu_devices(1), all_kernels(), exact);
  other.initialise();
  for (int64_t step : {0, 1})
    other.step().run(feeds.at(step, 0.05F), other.run_options(static_cast<uint64_t>(step)));
  EXPECT_TRUE(session.save() == other.save());
}

TEST(ImageSizes, OtherNetworksAreRefusedByName) {
  const TrainingModel model = small_of_side(8, {});
  Session session(model, cpu_devices(1), all_kernels());
  session.initialise();
  const TrainingModel mlp = small_mlp(1);
  expect_error([&] { session.step_of(mlp); }, "state 0 is '", "' in the session");
  const TrainingModel wider = small_of_side(8, {}, 12);
  expect_error([&] { session.step_of(wider); }, "in the model of another image size, but");
  expect_error([&] { session.inference_of(wider); }, "in the model of another image size, but");
}

}  // namespace
}  // namespace lockstep::testing
