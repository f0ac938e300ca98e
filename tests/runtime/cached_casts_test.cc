// SPDX-License-Identifier: Apache-2.0
// A parameter's copy of 16 bits, which the update writes for the next step, has the bits of a cast
// in every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "graph/file.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kBatch = 8, kClasses = 5;

struct Where {
  DeviceKind kind = DeviceKind::cpu;
  Comm* comm = nullptr;

  std::vector<Device> devices(int count) const {
    return kind == DeviceKind::gpu ? gpu_devices(count) : cpu_devices(count);
  }
  const std::vector<KernelTable>& kernels() const {
    return kind == DeviceKind::gpu ? queued_kernels() : all_kernels();
  }
};

// The steps of a session, or of a new session per step that takes over the state and casts in its
// first run.
class Steps {
 public:
  Steps(const TrainingModel& model, const Where& where, int all_replicas = 0)
      : model_(model), where_(where), feeds_(model, kBatch, kClasses, kSmall, all_replicas) {
    begin();
    session().initialise();
  }

  Session& session() { return *session_; }
  void begin_with_same_state() {
    const StateValues state = session().save();
    begin();
    session().initialise();
    session().load(state);
  }
  // The losses of this process's replicas.
  std::vector<float> step() {
    const auto fetched =
        session().step().run(feeds_.at(taken_, 0.05F), session().run_options(at()));
    ++taken_;
    return losses(fetched);
  }
  // A step that fails after it has begun.
  void fail() {
    const auto feeds = feeds_.at(taken_, 0.05F);
    for (const Tensor& tensor : feeds)
      if (tensor.desc.dtype == DType::int64) tensor.as<int64_t>()[0] = kClasses;
    EXPECT_THROW(session().step().run(feeds, session().run_options(at())), std::exception);
  }
  const Plan& plan() { return plan_of(session().step(), feeds_.at(taken_, 0.05F)); }

 private:
  uint64_t at() const { return static_cast<uint64_t>(taken_); }
  void begin() {
    session_.reset();
    session_ = std::make_unique<Session>(model_, where_.devices(model_.replicas), where_.kernels(),
                                         SessionOptions{5, 1, {}, where_.comm});
  }
  std::vector<float> losses(std::span<const Tensor> fetched) const {
    std::vector<float> all;
    for (int replica = 0; replica < model_.replicas; ++replica)
      all.push_back(*fetched[static_cast<std::size_t>(replica)].as<float>());
    return all;
  }

  const TrainingModel& model_;
  const Where where_;
  StepFeeds feeds_;
  std::unique_ptr<Session> session_;
  int64_t taken_ = 0;
};

int casts_of_states(const Plan& plan) {
  return static_cast<int>(std::ranges::count_if(plan.steps, [&](const PlanStep& step) {
    return step.type.starts_with("Cast") && std::ranges::any_of(step.in, [&](int slot) {
             return plan.slots[static_cast<std::size_t>(slot)].storage == Storage::in_state;
           });
  }));
}

// Expects the bits of casts in every step. A set of some copies is as good as none.
void expect_bits_of_casts(const TrainingModel& model, const Where& where, int all_replicas = 0) {
  Steps whole(model, where, all_replicas), alone(model, where, all_replicas);
  EXPECT_GT(whole.plan().kept.size(), 0u);
  EXPECT_EQ(casts_of_states(whole.plan()), 0);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(whole.step(), alone.step()) << "step " << step;
    alone.begin_with_same_state();
  }
  EXPECT_TRUE(whole.session().save() == alone.session().save());
}

struct Trained {
  const char* name;
  Optimizer optimizer;
  DataParallelOptions options;
};
std::vector<Trained> ways_to_train() {
  const DataParallelOptions decays{.rules = {.weight_decay = 0.01F}};
  DataParallelOptions skips = decays, clips = decays, overflows = decays;
  skips.skip_non_finite = true;
  clips.clip.norm = 0.1F;
  overflows.loss_scaling = {.first = 0x1p40F, .most = 0x1p40F};
  return {{"momentum", MomentumSgd{}, decays},
          {"Nesterov's, clipped", Nesterov{0.8F, true}, clips},
          {"Adam, skips", Adam{}, skips},
          {"momentum, overflows", MomentumSgd{0.8F, true}, overflows}};
}

class KeptCopiesOn : public ::testing::TestWithParam<std::tuple<DeviceKind, DType>> {};

TEST_P(KeptCopiesOn, HaveTheBitsOfCasts) {
  const auto [kind, precision] = GetParam();
  for (const int replicas : {1, 2})
    for (Trained way : ways_to_train()) {
      SCOPED_TRACE(join(way.name, " of ", replicas, " replicas"));
      way.options.replicas = replicas;
      way.options.precision = precision;
      expect_bits_of_casts(small_residual(way.options, way.optimizer), {kind});
    }
}
INSTANTIATE_TEST_SUITE_P(Devices, KeptCopiesOn,
                         ::testing::Combine(::testing::Values(DeviceKind::cpu, DeviceKind::gpu),
                                            ::testing::Values(DType::bfloat16, DType::float16)));

TEST(KeptCopies, OfSeveralProcessesHaveTheBitsOfCasts) {
  const TrainingModel whole = small_residual(
      {.replicas = 4, .rules = {.weight_decay = 0.01F}, .precision = DType::bfloat16});
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), 2});
    expect_bits_of_casts(part, {DeviceKind::cpu, &comm}, 4);
  });
}

TrainingModel narrow(int replicas) {
  return small_residual(
      {.replicas = replicas, .rules = {.weight_decay = 0.01F}, .precision = DType::bfloat16});
}

// Parameters become zeros behind the session's back. Casts would read the zeros.
TEST(KeptCopies, AreReadInsteadOfTheState) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu}) {
    SCOPED_TRACE(text_of(Device{kind, 0}));
    const TrainingModel model = narrow(1);
    Steps kept(model, {kind}), changed(model, {kind});
    EXPECT_EQ(kept.step(), changed.step());
    const Plan& plan = changed.plan();
    for (const PlanStep& step : plan.refresh)
      for (const int slot : step.in) {
        const int state = plan.slots[static_cast<std::size_t>(slot)].index;
        const Tensor& tensor = states_of(changed.session()).at(state);
        const Literal zeros(tensor.desc.dtype, tensor.desc.dims);
        if (kind == DeviceKind::cpu)
          std::ranges::copy(zeros.bytes(), static_cast<std::byte*>(tensor.data));
        else
          table_for(queued_kernels(), {kind, 0})
              .accelerator()
              ->copy(tensor.data, zeros.bytes().data(), zeros.bytes().size());
      }
    EXPECT_EQ(kept.step(), changed.step());
    changed.session().load(changed.session().save());
    EXPECT_NE(kept.step(), changed.step());
  }
}

TEST(KeptCopies, FollowWhatOthersChange) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu})
    for (const int replicas : {1, 2}) {
      SCOPED_TRACE(join(replicas, " replicas on ", Device{kind, 0}));
      const TrainingModel model = narrow(replicas);
      Steps whole(model, {kind}), alone(model, {kind});
      const auto both = [&](const auto& act) {
        act(whole);
        act(alone);
        alone.begin_with_same_state();
        EXPECT_EQ(whole.step(), alone.step());
        alone.begin_with_same_state();
      };
      both([](Steps&) {});
      const StateValues before = whole.session().save();
      both([](Steps&) {});
      both([&](Steps& steps) { steps.session().load(before); });
      both([](Steps& steps) { steps.fail(); });
      both([](Steps& steps) { steps.session().initialise(); });
      const std::string weight = model.states[0].values[0];
      both([&](Steps& steps) {
        const Literal old = states_of(steps.session()).read(weight);
        steps.session().load({{weight, Literal(old.dtype(), old.dims())}});
      });
      EXPECT_TRUE(whole.session().save() == alone.session().save());
    }
}

// Alternating steps; their plans share the memory of cached values.
TEST(KeptCopies, OfStepsInTurnHaveTheBitsOfCasts) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu}) {
    const Where where{kind};
    const std::vector<int64_t> sides{6, 14, 8}, order{0, 0, 1, 0, 2, 2, 1};
    std::vector<TrainingModel> models;
    for (const int64_t side : sides)
      models.push_back(small_of_side(
          side, {.replicas = 2, .rules = {.weight_decay = 0.01F}, .precision = DType::bfloat16}));
    const auto session_of = [&](std::size_t size) {
      return std::make_unique<Session>(models[size], where.devices(2), where.kernels(),
                                       SessionOptions{5, 1, {}});
    };
    const auto run = [&](Session& session, Program& program, std::size_t size, int64_t step) {
      StepFeeds feeds(models[size], kBatch, kClasses, {1, sides[size], sides[size]});
      program.run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    };
    const auto whole = session_of(0);
    whole->initialise();
    std::vector<std::unique_ptr<Program>> others;
    for (std::size_t size = 1; size < sides.size(); ++size)
      others.push_back(whole->step_of(models[size]));
    StateValues state = whole->save();
    for (std::size_t step = 0; step < order.size(); ++step) {
      const auto size = static_cast<std::size_t>(order[step]);
      run(*whole, size == 0 ? whole->step() : *others[size - 1], size, static_cast<int64_t>(step));
      const auto alone = session_of(size);
      alone->initialise();
      alone->load(state);
      run(*alone, alone->step(), size, static_cast<int64_t>(step));
      state = alone->save();
      EXPECT_TRUE(whole->save() == state) << "step " << step << " on " << text_of(Device{kind, 0});
    }
  }
}

TEST(KeptCopies, AreInNoCheckpointAndResumeToTheSameBits) {
  const TrainingModel model = narrow(2);
  TemporaryFolder folder;
  Steps whole(model, {}), resumed(model, {});
  for (int step = 0; step < 2; ++step) {
    whole.step();
    resumed.step();
  }
  save_checkpoint(resumed.session(), folder / "two", {});
  resumed.begin_with_same_state();
  resumed.session().initialise();
  load_checkpoint(resumed.session(), folder / "two");
  EXPECT_EQ(whole.step(), resumed.step());
  EXPECT_EQ(whole.step(), resumed.step());
  EXPECT_TRUE(whole.session().save() == resumed.session().save());
  EXPECT_EQ(read_file(folder / "two").find("bfloat16"), std::string::npos);
}

CompileRequest request_of(const TrainingModel& model) {
  return step_request(
      model,
      [](const std::string& feed) {
        return feed.ends_with("data")    ? Dims{kBatch, 1, 6, 6}
               : feed.ends_with("label") ? Dims{kBatch}
                                         : Dims{1};
      },
      cpu_devices(1), all_kernels());
}

std::size_t written_copies(const Plan& plan) {
  std::set<int> written;
  for (const PlanStep& step : plan.steps)
    for (const int out : step.out) {
      const Slot& slot = plan.slots[static_cast<std::size_t>(out)];
      if (slot.storage == Storage::in_state &&
          slot.index >= static_cast<int>(plan.session_states()))
        written.insert(slot.index);
    }
  return written.size();
}

// Updates write the copies of trained parameters. A frozen parameter is cast once
// (cached_values.h).
TEST(KeptCopies, AreWrittenOfTrainedParametersAlone) {
  const TrainingModel model = narrow(1);
  std::vector<Binding> frozen = model.updates;
  const std::string weight = model.states[0].values[0];
  std::erase_if(frozen, [&](const Binding& update) { return update.state == weight; });
  ASSERT_EQ(frozen.size() + 1, model.updates.size());
  CompileRequest request = request_of(model);
  const Plan all = compile(request);
  request.updates = frozen;
  const Plan fewer = compile(request);
  EXPECT_EQ(written_copies(all), all.kept.size());
  EXPECT_EQ(written_copies(fewer) + 1, all.kept.size());
  EXPECT_EQ(fewer.kept.size(), all.kept.size());
  EXPECT_EQ(casts_of_states(fewer), 0);
}

// The number of the parameter's copies, as casts and in tiles.
std::ptrdiff_t copies_of(const Plan& plan, const std::string& param) {
  const auto first = static_cast<std::ptrdiff_t>(plan.session_states());
  return std::count_if(plan.states.begin() + first, plan.states.end(),
                       [&](const std::string& state) { return state.starts_with(param); });
}

// A filter that an earlier float32 step moved to tiles is cast in its layout, without a copy.
TEST(KeptCopies, OfFiltersInTilesAreCastInEveryStep) {
  const TrainingModel model = build_data_parallel_model(
      all_ops(),
      [](Net& net) {
        Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
        x = conv_layer(net, x, 16, {.kernel = 3, .pad = 1}, "first");
        x = conv_layer(net, x, 16, {.kernel = 3, .pad = 1}, "second");
        classify(net, fc_layer(net, x, kClasses, {}, "pred"));
      },
      MomentumSgd{}, {.replicas = 1, .scope = "cpu", .precision = DType::bfloat16});
  CompileRequest request = request_of(model);
  const Plan row_major = compile(request);
  request.chooses_state_layouts = false;  // otherwise it would return to row-major order
  request.state_layouts.resize(request.states.size());
  for (std::size_t i = 0; i < request.states.size(); ++i)
    if (request.states[i].ends_with("second_w"))
      request.state_layouts[i] = Layout::in({.side = 16});
  ASSERT_EQ(std::ranges::count(request.state_layouts, Layout::in({.side = 16})), 1);
  const Plan tiled = compile(request);
  EXPECT_GT(copies_of(row_major, "cpu_0/second_w"), 0);
  EXPECT_EQ(copies_of(tiled, "cpu_0/second_w"), 0);
  EXPECT_EQ(casts_of_states(tiled), 1);
  EXPECT_EQ(tiled.kept.size() + static_cast<std::size_t>(copies_of(row_major, "cpu_0/second_w")),
            row_major.kept.size());
}

}  // namespace
}  // namespace lockstep::testing
