// SPDX-License-Identifier: Apache-2.0
// Results from constants and from states that a plan does not change: computed once, and again
// after others change the states.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/passes/precision.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kClasses = 5;

struct Place {
  DeviceKind kind = DeviceKind::cpu;
  int threads = 1;
};
const std::vector<Place> kPlaces{{DeviceKind::cpu, 1}, {DeviceKind::cpu, 2}, {DeviceKind::gpu, 1}};

std::vector<Device> devices_at(const Place& place, int count) {
  return place.kind == DeviceKind::gpu ? gpu_devices(count) : cpu_devices(count);
}
const std::vector<KernelTable>& kernels_at(const Place& place) {
  return place.kind == DeviceKind::gpu ? queued_kernels() : all_kernels();
}
std::unique_ptr<Session> session_of(const TrainingModel& model, const Place& place,
                                    bool exact = false) {
  return std::make_unique<Session>(
      model, devices_at(place, model.replicas), kernels_at(place),
      SessionOptions{
          .seed = 5, .threads = usable_threads(place.threads), .compile = {.exact = exact}});
}

// Filters that oneDNN reads in tiles, and a filter that it does not.
TrainingModel tiled(const DataParallelOptions& options, int64_t side) {
  const ModelFn network = [=](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 1, side, side}});
    x = relu(net.graph, conv_layer(net, x, 32, {.kernel = 3, .pad = 1}, "conv1"), "relu1");
    x = relu(net.graph, conv_layer(net, x, 64, {.kernel = 1}, "conv2"), "relu2");
    x = conv_layer(net, x, 48, {.kernel = 3, .stride = 2, .pad = 1, .bias = false}, "conv3");
    x = relu(net.graph, batch_norm_layer(net, x, {}, "norm3"), "relu3");
    classify(net, fc_layer(net, global_average_pool(net.graph, x, "mean"), kClasses, {}, "fc"));
  };
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

// Predictions of builders' models are float32. These predictions have the step's precision.
TrainingModel tiled(DType precision, int replicas = 1, int64_t side = 6) {
  TrainingModel model = tiled({.replicas = replicas,
                               .scope = "cpu",
                               .rules = {.weight_decay = 0.01F},
                               .precision = precision},
                              side);
  if (precision != DType::float32) model.inference = in_precision(model.inference, {precision});
  return model;
}

std::vector<std::vector<float>> predict(Program& program, int64_t batch, int64_t side = 6,
                                        const RunOptions& options = {}) {
  std::vector<float> images(static_cast<std::size_t>(batch * side * side));
  PhiloxSequence random(9, static_cast<uint64_t>(batch));
  for (float& pixel : images) pixel = static_cast<float>(random.uniform(-1, 1));
  std::vector<Tensor> feeds{{{DType::float32, {batch, 1, side, side}}, images.data()}};
  std::vector<std::vector<float>> results;
  for (const Tensor& fetched : program.run(feeds, options))
    results.emplace_back(fetched.as<float>(), fetched.as<float>() + fetched.count());
  return results;
}

const Plan& plan_of_prediction(Session& session, int64_t batch = 3, int64_t side = 6) {
  const std::vector<Tensor> feeds{{{DType::float32, {batch, 1, side, side}}, nullptr}};
  return plan_of(session.inference(), feeds);
}

void take_step(Session& session, int64_t step) {
  StepFeeds feeds(session.model(), 4, kClasses, kSmall);
  session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
}

bool lives(const Plan& plan, int slot, Storage where) {
  return slot >= 0 && plan.slots[static_cast<std::size_t>(slot)].storage == where;
}
// The number of steps of this type that read only a state.
int of_states(const Plan& plan, const std::string& type) {
  return static_cast<int>(std::ranges::count_if(plan.steps, [&](const PlanStep& step) {
    return step.type.starts_with(type) && std::ranges::all_of(step.in, [&](int slot) {
             return lives(plan, slot, Storage::in_state);
           });
  }));
}

// Exact plans fold no batch norm into filters.
TEST(Fixed, PredictionsNeitherCastNorReorderStates) {
  for (const Place& place : kPlaces)
    for (const DType precision : {DType::float32, DType::bfloat16, DType::float16})
      for (const bool exact : {false, true}) {
        SCOPED_TRACE(join(precision, " on ", Device{place.kind, 0}, exact ? ", exact" : ""));
        const TrainingModel model = tiled(precision);
        const auto session = session_of(model, place, exact);
        session->initialise();
        for (int round = 0; round < 2; ++round) {
          const Plan& plan = plan_of_prediction(*session);
          EXPECT_EQ(of_states(plan, "Cast"), 0);
          EXPECT_EQ(of_states(plan, "Reorder"), 0);
          const bool as_they_lie = precision == DType::float32 && round == 1;
          EXPECT_EQ(plan.kept.empty(), exact && as_they_lie && place.kind == DeviceKind::cpu);
          take_step(*session, 0);  // afterwards filters are in tiles in float32
        }
      }
}

// A session that has run all kinds of plans predicts the same as a new session.
TEST(Fixed, IsMadeAnewWhereOthersChangedStates) {
  for (const Place& place : kPlaces)
    for (const DType precision : {DType::float32, DType::bfloat16, DType::float16})
      for (const int replicas : {1, 2}) {
        SCOPED_TRACE(join(replicas, " replicas in ", precision, " on ", Device{place.kind, 0}));
        const TrainingModel model = tiled(precision, replicas);
        const auto session = session_of(model, place);
        session->initialise();
        int64_t steps = 0;
        const auto expect_new = [&](const char* after) {
          for (const int64_t batch : {3, 1, 3}) {
            const auto alone = session_of(model, place);
            alone->initialise();
            alone->load(session->save());
            EXPECT_EQ(predict(session->inference(), batch), predict(alone->inference(), batch))
                << "batch " << batch << " after " << after;
          }
        };
        expect_new("initial values");
        const StateValues first = session->save();
        take_step(*session, steps++);
        expect_new("a step");
        take_step(*session, steps++);
        take_step(*session, steps++);
        expect_new("two steps");
        session->load(first);
        expect_new("a load");
        const std::string weight = model.states[0].values[0];
        const Literal old = states_of(*session).read(weight);
        session->load({{weight, Literal(old.dtype(), old.dims())}});
        expect_new("a load of one parameter");
        session->initialise();
        expect_new("initial values again");
      }
}

// Changes by others are recorded; unrecorded changes are not detected.
TEST(Fixed, IsReadInsteadOfTheStateByPlansForAnyBatchAndImageSize) {
  for (const DType precision : {DType::float32, DType::bfloat16}) {
    const TrainingModel model = tiled(precision), larger = tiled(precision, 1, 10);
    const auto session = session_of(model, {});
    session->initialise();
    const auto other = session->inference_of(larger);
    const auto all = [&] {
      return std::vector{predict(session->inference(), 3), predict(*other, 2, 10),
                         predict(session->inference(), 1), predict(*other, 5, 10)};
    };
    const auto before = all();
    std::set<int> read;
    const Plan& plan = plan_of_prediction(*session);
    for (const PlanStep& step : plan.refresh)
      for (const int slot : step.in)
        if (lives(plan, slot, Storage::in_state))
          read.insert(plan.slots[static_cast<std::size_t>(slot)].index);
    for (const int state : read) {
      if (state >= static_cast<int>(plan.session_states())) continue;
      const Tensor& tensor = states_of(*session).at(state);
      std::ranges::fill(std::span(static_cast<std::byte*>(tensor.data), tensor.desc.bytes()),
                        std::byte{0});
    }
    EXPECT_EQ(all(), before) << join(precision);
    session->load(session->save());
    EXPECT_NE(all(), before) << join(precision);
  }
}

TEST(Fixed, OfOneProcessOfSeveralIsThatOfAll) {
  const TrainingModel whole = tiled(DType::bfloat16, 2);
  const auto session = session_of(whole, {});
  session->initialise();
  take_step(*session, 0);
  const auto expected = predict(session->inference(), 3);
  const StateValues state = session->save();
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), 2});
    StateValues mine;
    for (const State& kind : part.states)
      for (const std::string& name : kind.values)
        if (state.contains(name)) mine.emplace(name, state.at(name));
    const auto begun = [&] {
      auto one = std::make_unique<Session>(part, cpu_devices(1), all_kernels(),
                                           SessionOptions{5, 1, {}, &comm});
      one->initialise();
      return one;
    };
    const auto before = begun(), fresh = begun();
    EXPECT_NE(predict(before->inference(), 3), expected);
    before->load(mine);
    fresh->load(mine);
    const auto predicted = predict(before->inference(), 3);
    EXPECT_EQ(predicted, predict(fresh->inference(), 3)) << "rank " << comm.rank();
    EXPECT_EQ(predicted == expected, comm.rank() == 0);  // the other rank has its own statistics
  });
}

// A frozen parameter is cast once as well, beside parameters that the update casts.
TEST(Fixed, IsWhatAStepMakesOfFrozenParameters) {
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(text_of(Device{place.kind, 0}));
    TrainingModel model = tiled(DType::bfloat16);
    const std::string frozen = model.states[0].values[0];
    ASSERT_GT(
        std::erase_if(model.updates, [&](const Binding& update) { return update.state == frozen; }),
        0U);
    const auto session = session_of(model, place), alone = session_of(model, place);
    session->initialise();
    alone->initialise();
    const Literal first = states_of(*session).read(frozen);
    for (int64_t step = 0; step < 3; ++step) {
      take_step(*session, step);
      take_step(*alone, step);
      alone->load(alone->save());  // everything is stale
    }
    EXPECT_TRUE(session->save() == alone->save());
    EXPECT_EQ(states_of(*session).read(frozen), first);
    StepFeeds feeds(model, 4, kClasses, kSmall);
    const Plan& plan = plan_of(session->step(), feeds.at(0, 0.05F));
    EXPECT_EQ(of_states(plan, "Cast"), 0);
  }
}

}  // namespace
}  // namespace lockstep::testing
