// SPDX-License-Identifier: Apache-2.0
#include "lockstep/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TEST(Philox, MatchesThePublishedVectors) {
  // Known answers of Random123 for philox4x32-10.
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NormalNumbersAreNormal) {
  PhiloxSequence random(1, 1);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

TEST(ParseDevices, ReadsListsAndCounts) {
  EXPECT_EQ(parse_devices("cpu*2"), cpu_devices(2));
  EXPECT_EQ(parse_devices("cpu"), cpu_devices(1));
  EXPECT_EQ(parse_devices("gpu:0,gpu:2"),
            (std::vector<Device>{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 2}}));
  EXPECT_EQ(parse_devices("gpu*11").size(), 11u);
  EXPECT_EQ(
      parse_devices("gpu:1*2,gpu:0"),
      (std::vector<Device>{{DeviceKind::gpu, 1}, {DeviceKind::gpu, 1}, {DeviceKind::gpu, 0}}));
  for (const char* bad : {"", "tpu", "cpu*", "cpu*x", "cpu:0,", "cpu*0", "cpu:-1", "cpu:0,cpu:0",
                          "cpu:0*2", "gpu:*2"})
    expect_error([&] { parse_devices(bad); }, std::string("'") + bad + "'");
}

TEST(ParseDevices, KnowsTheDeviceOfAProcess) {
  const char* const variables[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};
  for (const char* variable : variables) unsetenv(variable);
  expect_error([] { parse_devices("gpu:local"); }, "'gpu:local'", "LOCAL_RANK is not set");
  for (const char* variable : variables) {
    setenv(variable, "3", 1);
    EXPECT_EQ(parse_devices("gpu:local"), (std::vector<Device>{{DeviceKind::gpu, 3}}));
    EXPECT_EQ(parse_devices("gpu:local*2").size(), 2u);
    setenv(variable, "three", 1);
    expect_error([] { parse_devices("gpu:local"); }, join("'", variable, "=three'"));
    unsetenv(variable);
  }
}

// A state's new value must not overwrite the state while the producer of the value still reads it,
// even through a view. A square matrix cannot be transposed in place.
TEST(Session, AStateReadThroughAViewIsNotOverwrittenTooEarly) {
  Graph graph(all_ops());
  Value state = graph.input("w", {DType::float32, {3, 3}});
  Value seen = reshape(graph, reshape(graph, state, {9}, "flat"), {3, 3}, "square");
  transpose(graph, seen, {1, 0}, "next");
  Plan plan = compile({.graph = graph,
                       .states = {"w"},
                       .updates = {{"w", "next"}},
                       .devices = cpu_devices(1),
                       .kernels = all_kernels()});
  States states({"w"}, {{DType::float32, {3, 3}}});
  const std::vector<float> rows{1, 2, 3, 4, 5, 6, 7, 8, 9}, columns{1, 4, 7, 2, 5, 8, 3, 6, 9};
  states.write("w", Literal::of<float>(rows, {3, 3}));
  Workers workers(1, 1);
  make_executor(std::move(plan), states, workers)->run({}, {});
  EXPECT_TRUE(states.read("w") == Literal::of<float>(columns, {3, 3}));
}

// Devices may have any numbers; they need not begin at 0 or be consecutive.
TEST(Session, ReplicasRunOnTheDevicesTheyAreGiven) {
  const TrainingModel model = small_mlp(2);
  const auto trained_on = [&](const std::string& devices) {
    Session session(model, parse_devices(devices), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, 5, kSmall);
    for (int64_t step = 0; step < 3; ++step)
      session.step().run(feeds.at(step, 0.1F), session.run_options(static_cast<uint64_t>(step)));
    EXPECT_EQ(find_divergence(session), "");
    return session.save();
  };
  const StateValues expected = trained_on("cpu*2");
  for (const char* devices : {"cpu:0,cpu:2", "cpu:7,cpu:3"})
    EXPECT_TRUE(trained_on(devices) == expected) << devices;
}

TEST(Session, ReadsAndWritesStatesByName) {
  const TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels());
  session.initialise();
  const Literal before = session.read("cpu_0/fc1_b");
  session.write("cpu_0/fc1_b", before);
  EXPECT_TRUE(session.read("cpu_0/fc1_b") == before);
  expect_error([&] { session.read("fc1_b"); }, "unknown state 'fc1_b'", "'cpu_0/fc1_b'");
  expect_error([&] { session.write("cpu_0/fc1_w", before); }, "cpu_0/fc1_w");
}

TEST(Session, ANewBatchSizeIsANewPlanAndTheOldOneIsKept) {
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds eight(model, 8, 5, kSmall), six(model, 6, 5, kSmall);
  const Plan* first = &plan_of(session.step(), eight.at(0, 0.1F));
  session.step().run(six.at(0, 0.1F), session.run_options(0));
  EXPECT_NE(first, &plan_of(session.step(), six.at(0, 0.1F)));
  EXPECT_EQ(first, &plan_of(session.step(), eight.at(0, 0.1F)));
}

TEST(Session, RefusesWrongFeedsAndDevices) {
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  StepFeeds feeds(model, 8, 5, kSmall);
  auto all = feeds.at(0, 0.1F);
  expect_error([&] { session.step().run(all.subspan(1), {}); }, "takes 6 feeds, was given 5");
  std::vector<Tensor> wrong(all.begin(), all.end());
  wrong[0].desc.dims = {4, 1, 6, 7};
  expect_error([&] { session.step().run(wrong, {}); }, "cpu_0/data", "[4,1,6,7]");
  wrong[0] = all[2];
  expect_error([&] { session.step().run(wrong, {}); }, "cpu_0/data", "int64");
  expect_error([&] { Session(model, cpu_devices(3), all_kernels()); },
               "the model has 2 replicas but 3 devices");
}

TEST(Session, PredictsWithTheStateOfReplicaZero) {
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  std::vector<float> image(36 * 3, 0.5F);
  Tensor feed{{DType::float32, {3, 1, 6, 6}}, image.data()};
  auto prob = session.inference().run({&feed, 1}, {});
  ASSERT_EQ(text_of(prob[0].desc), "float32[3,5]");
  for (int row = 0; row < 3; ++row) {
    float total = 0;
    for (int i = 0; i < 5; ++i) total += prob[0].as<float>()[row * 5 + i];
    EXPECT_NEAR(total, 1, 1e-5);
  }
}

TEST(Session, AnErrorInOneWorkerReachesTheCaller) {
  TrainingModel model = small_mlp(4);
  Session session(model, cpu_devices(4), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  auto all = feeds.at(0, 0.1F);
  all[4 + 2].as<int64_t>()[1] = 77;  // a label of replica 2
  expect_error([&] { session.step().run(all, {}); },
               "cpu_2/loss (SoftmaxCrossEntropyLoss, replica 2",
               "label 77 of row 1 of 'cpu_2/label' is outside 0..4 (and is not ignored)");
  session.initialise();
  session.step().run(feeds.at(0, 0.1F), {});  // the session still works
}

TEST(Session, NamesTheFirstValueThatIsNotFinite) {
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  Literal w = states_of(session).read("cpu_1/fc2_w");
  reinterpret_cast<float*>(w.bytes().data())[3] = std::nanf("");
  states_of(session).write("cpu_1/fc2_w", w);
  StepFeeds feeds(model, 8, 5, kSmall);
  RunOptions options = session.run_options(7);
  NotFinite found;
  options.not_finite = &found;
  const StateValues before = session.save();
  for (int again = 0; again < 20; ++again) {
    session.load(before);
    session.step().run(feeds.at(0, 0.1F), options);
    EXPECT_EQ(found.text, "'cpu_1/fc2' (Gemm on cpu:1): nan");
    EXPECT_FALSE(found.received);
  }
  session.initialise();
  session.step().run(feeds.at(0, 0.1F), options);
  EXPECT_EQ(found.step, -1) << found.text;
}

// Attention masks use scores of -inf on purpose; softmax turns them into zeros.
TEST(Session, AMaskIsNoFault) {
  const ModelFn masked = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 4}});
    Literal mask(DType::float32, {4});
    reinterpret_cast<float*>(mask.bytes().data())[2] = -std::numeric_limits<float>::infinity();
    const Value scores = fc_layer(net, x, 4, {}, "fc1");
    x = softmax(net.graph, add(net.graph, scores, net.graph.constant("mask", mask)));
    classify(net, fc_layer(net, x, 2, {}, "fc2"));
  };
  TrainingModel model =
      build_data_parallel_model(all_ops(), masked, MomentumSgd{}, replicas_on(cpu_devices(2)));
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  std::vector<float> data(8, 0.5F);
  std::vector<int64_t> labels{0, 1};
  float rate = 0.1F;
  std::vector<Tensor> feeds;
  for (int k = 0; k < 2; ++k) feeds.push_back({{DType::float32, {1, 4}}, &data[4 * k]});
  for (int k = 0; k < 2; ++k) feeds.push_back({{DType::int64, {1}}, &labels[k]});
  for (int k = 0; k < 2; ++k) feeds.push_back({{DType::float32, {1}}, &rate});
  NotFinite found;
  RunOptions options = session.run_options(0);
  options.not_finite = &found;
  session.step().run(feeds, options);
  EXPECT_EQ(found.step, -1) << found.text;

  Literal w = states_of(session).read("cpu_1/fc2_w");
  reinterpret_cast<float*>(w.bytes().data())[0] = std::numeric_limits<float>::infinity();
  states_of(session).write("cpu_1/fc2_w", w);
  session.step().run(feeds, options);
  EXPECT_EQ(found.text, "'cpu_1/fc2' (Gemm on cpu:1): inf");
  w = states_of(session).read("cpu_0/fc1_w");  // the mask does not cause a NaN
  reinterpret_cast<float*>(w.bytes().data())[0] = std::nanf("");
  states_of(session).write("cpu_0/fc1_w", w);
  session.step().run(feeds, options);
  EXPECT_EQ(found.text, "'cpu_0/fc1' (Gemm on cpu:0): nan");
}

TEST(Session, NamesWhatIsFedThatIsNotFinite) {
  const float nan = std::nanf("");
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  auto fed = feeds.at(0, 0.1F);
  feeds.images()[6 * 36 + 2 * 6 + 5] = nan;  // the third image of replica 1
  expect_error([&] { session.step().run(fed, session.run_options(0)); },
               "step: the loss is nan, for input 'data' of replica 1 is fed nan at [2,0,2,5]");
  // A model that skips non-finite steps accepts these feeds.
  model = small_mlp(2, MomentumSgd{}, {.skip_non_finite = true});
  Session skipping(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  skipping.initialise();
  fed = feeds.at(0, 0.1F);
  feeds.images()[6 * 36] = nan;
  skipping.step().run(fed, skipping.run_options(0));
}

TEST(Session, FeedsWithoutDataAreNamed) {
  const TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, kSmall);
  const auto fed = feeds.at(0, 0.1F);
  std::vector<Tensor> missing(fed.begin(), fed.end());
  missing[1].data = nullptr;
  expect_error([&] { session.step().run(missing, session.run_options(0)); },
               "input 'cpu_1/data' is fed float32[4,1,6,6] without data: a null pointer");
}

TEST(Session, StatesWithoutValuesAreToldBeforeTheFirstStep) {
  const TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  StepFeeds feeds(model, 8, 5, kSmall);
  const char* told = "step: the state has no values yet; call initialise() or load() first";
  expect_error([&] { session.step().run(feeds.at(0, 0.1F), session.run_options(0)); }, told);
  Session other(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  other.initialise();
  session.load(other.save());
  session.step().run(feeds.at(0, 0.1F), session.run_options(0));
}

// A state that receives another state's old value must not see the new value.
TEST(Session, UpdatesThatCrossAreCopied) {
  TrainingModel model(all_ops());
  TensorType pair{DType::float32, {2}};
  Value a = model.step.input("a", pair), b = model.step.input("b", pair);
  model.step.output(identity(model.step, b, "a_new"));
  model.step.output(relu(model.step, a, "b_new"));
  model.updates = {{"a", "a_new"}, {"b", "b_new"}};
  model.states = {{{"a", {"a"}}, StateKind::computed}, {{"b", {"b"}}, StateKind::computed}};
  Session session(model, cpu_devices(1), all_kernels());
  float first[] = {1, 2}, second[] = {3, 4};
  session.load({{"a", Literal::of<float>(first, {2})}, {"b", Literal::of<float>(second, {2})}});
  session.step().run({}, {});
  EXPECT_EQ(states_of(session).read("a").values<float>()[0], 3);
  EXPECT_EQ(states_of(session).read("b").values<float>()[0], 1);
}

TEST(FindDrift, NamesTheStateThatDiffers) {
  TrainingModel model = small_mlp(3);
  Session session(model, cpu_devices(3), all_kernels(), {1, 1, {}});
  session.initialise();
  EXPECT_EQ(find_divergence(session), "");
  Literal value = states_of(session).read("cpu_2/fc2_b");
  reinterpret_cast<float*>(value.bytes().data())[1] = 1e-30F;
  states_of(session).write("cpu_2/fc2_b", value);
  EXPECT_EQ(find_divergence(session), "'cpu_2/fc2_b' differs from 'cpu_0/fc2_b'");
}

// A graph with another shape for the state would read beyond its memory.
TEST(Session, AStateHasOneShapeInEveryGraph) {
  TrainingModel model = small_mlp(1);
  Graph graph(all_ops(), "prediction");
  Value w = graph.input("cpu_0/fc1_b", {DType::float32, {4000}});
  graph.output(relu(graph, w, "y"));
  model.inference = std::move(graph);
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  session.initialise();
  expect_error([&] { session.inference().run({}, session.run_options(0)); },
               "prediction: 'cpu_0/fc1_b' is float32[4000], but the state is float32[");
}

}  // namespace
}  // namespace lockstep::testing
