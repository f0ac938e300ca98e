// What a plan makes of constants and of states that it does not change: once, and again where
// others changed these.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "builders/net/layers.h"
#include "builders/net/losses.h"
#include "builders/step/partition.h"
#include "graph/passes/precision.h"
#include "operators/activation/activation.h"
#include "operators/elementwise/elementwise.h"
#include "operators/pool/pool.h"
#include "operators/shape/shape.h"
#include "runtime/philox.h"
#include "tests/support/expect_error.h"
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

// Filters that oneDNN reads in tiles, and one that it does not.
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

// Predictions of builders' models are float32; here they are of the step's precision.
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
  return session.inference().plan(feeds);
}

void take_step(Session& session, int64_t step) {
  StepFeeds feeds(session.model(), 4, kClasses, kSmall);
  session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
}

bool lives(const Plan& plan, int slot, Lives where) {
  return slot >= 0 && plan.slots[static_cast<std::size_t>(slot)].lives == where;
}
// Steps of this type that read a state alone.
int of_states(const Plan& plan, const std::string& type) {
  return static_cast<int>(std::ranges::count_if(plan.steps, [&](const PlanStep& step) {
    return step.type.starts_with(type) && std::ranges::all_of(step.in, [&](int slot) {
             return lives(plan, slot, Lives::in_state);
           });
  }));
}

// Exact ones fold no batch norm into filters.
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
          take_step(*session, 0);  // in float32 filters lie in tiles afterwards
        }
      }
}

// A session that has run all kinds of things predicts what a new one does.
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
        const Literal old = session->state().read(weight);
        session->load({{weight, Literal(old.dtype(), old.dims())}});
        expect_new("a load of one parameter");
        session->initialise();
        expect_new("initial values again");
      }
}

// Others' changes are noted; what nobody noted is not looked at.
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
        if (lives(plan, slot, Lives::in_state))
          read.insert(plan.slots[static_cast<std::size_t>(slot)].index);
    for (const int state : read) {
      if (state >= static_cast<int>(plan.session_states())) continue;
      const Tensor& tensor = session->state().at(state);
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
    EXPECT_EQ(predicted == expected, comm.rank() == 0);  // the other has statistics of its own
  });
}

// A frozen parameter is cast once, too, beside those that the update casts.
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
    const Literal first = session->state().read(frozen);
    for (int64_t step = 0; step < 3; ++step) {
      take_step(*session, step);
      take_step(*alone, step);
      alone->load(alone->save());  // all is stale
    }
    EXPECT_TRUE(session->save() == alone->save());
    EXPECT_EQ(session->state().read(frozen), first);
    StepFeeds feeds(model, 4, kClasses, kSmall);
    const Plan& plan = session->step().plan(feeds.at(0, 0.05F));
    EXPECT_EQ(of_states(plan, "Cast"), 0);
  }
}

// -- plans of small graphs: x [4, 4] is fed, w [4, 4] and v [4, 4] are states
struct Small {
  Graph graph{all_ops()};
  Value x = graph.input("x", {DType::float32, {4, 4}});
  Value w = graph.input("w", {DType::float32, {4, 4}});
  Value v = graph.input("v", {DType::float32, {4, 4}});
};

CompileRequest request_of(const Small& small, std::vector<std::string> fetches,
                          std::vector<Binding> updates = {}, const CompileOptions& options = {}) {
  return {small.graph,        {"x"},         {{4, 4}},
          std::move(fetches), {"w", "v"},    std::move(updates),
          cpu_devices(1),     all_kernels(), options};
}

std::vector<std::string> names(const std::vector<PlanStep>& steps) {
  std::vector<std::string> names;
  for (const PlanStep& step : steps) names.push_back(step.name);
  return names;
}
std::vector<std::string> kept_in(const Plan& plan) {
  return {plan.states.begin() + static_cast<std::ptrdiff_t>(plan.session_states()),
          plan.states.end()};
}
using Names = std::vector<std::string>;

// Runs the plan twice and changes `w` in between.
std::vector<std::vector<float>> run_around_a_change(Plan plan, std::size_t guard_bytes = 0) {
  States states({"w", "v"}, {{DType::float32, {4, 4}}, {DType::float32, {4, 4}}});
  Literal value(DType::float32, {4, 4});
  const auto set = [&](const std::string& name, float from) {
    std::vector<float> values(16);
    for (std::size_t i = 0; i < 16; ++i) values[i] = from - static_cast<float>(i);
    states.write(name, Literal::of<float>(values, {4, 4}));
  };
  set("w", 9);
  set("v", 5);
  std::vector<float> x(16, 0.5F);
  const std::vector<Tensor> feeds{{{DType::float32, {4, 4}}, x.data()}};
  Workers workers(1, 1);
  const auto executor = make_executor(std::move(plan), states, workers);
  std::vector<std::vector<float>> results;
  for (const float from : {9.0F, 3.0F, 3.0F}) {
    if (from == 3.0F && results.size() == 1) set("w", from);
    executor->run(feeds, {});
    std::vector<float> all;
    for (const Tensor& fetched : executor->fetches())
      all.insert(all.end(), fetched.as<float>(), fetched.as<float>() + fetched.count());
    if (guard_bytes > 0) executor->check_guards(guard_bytes);
    results.push_back(all);
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_EQ(results[1], results[2]);
  return results;
}

// Of a chain only the end is kept; what is between takes memory of the arena.
TEST(Fixed, ChainsKeepTheirEndsAlone) {
  Small small;
  const Value a = add(small.graph, small.w, small.v, "a");
  const Value b = sigmoid(small.graph, a, "b");
  const Value c = mul(small.graph, b, a, "c");
  const Value d = relu(small.graph, small.x, "d");
  mul(small.graph, d, c, "y");
  const Plan plan = compile(request_of(small, {"y"}));
  EXPECT_EQ(names(plan.refresh), (Names{"a", "b", "c"}));
  EXPECT_EQ(kept_in(plan), Names{"c"});
  EXPECT_EQ(names(plan.steps), (Names{"d", "y"}));
  std::vector<std::vector<float>> expected;
  for (const bool alias : {true, false})
    for (const bool reuse : {true, false}) {
      CompileOptions options{.reuse_memory = reuse, .alias = alias, .guard_bytes = 64};
      const auto results = run_around_a_change(compile(request_of(small, {"y"}, {}, options)), 64);
      if (expected.empty()) expected = results;
      EXPECT_EQ(results, expected);
    }
}

// A view lies where its operand does: in the state, or in what is kept.
TEST(Fixed, ViewsAreNotCopied) {
  Small small;
  const Value flat = reshape(small.graph, small.w, {16}, "flat");
  const Value a = sigmoid(small.graph, flat, "a");
  const Value square = reshape(small.graph, a, {4, 4}, "square");
  const Value turned = reshape(small.graph, small.v, {4, 4}, "turned");
  mul(small.graph, add(small.graph, small.x, square, "sum"), turned, "y");
  const Plan plan = compile(request_of(small, {"y"}));
  EXPECT_EQ(names(plan.refresh), Names{"a"});
  EXPECT_EQ(kept_in(plan), Names{"a"});
  EXPECT_EQ(plan.views, 3);
  const auto expected = run_around_a_change(compile(request_of(small, {"y"})));
  EXPECT_EQ(run_around_a_change(compile(request_of(small, {"y"}, {}, {.alias = false}))), expected);
}

// A view that both kinds of nodes read stays in every run, and so do its readers.
TEST(Fixed, ViewsThatAllReadStay) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  const Value square = reshape(small.graph, a, {4, 4}, "square");
  const Value b = add(small.graph, square, small.v, "b");
  mul(small.graph, add(small.graph, small.x, square, "sum"), b, "y");
  for (const bool alias : {true, false}) {
    Plan plan = compile(request_of(small, {"y"}, {}, {.alias = alias}));
    EXPECT_EQ(names(plan.refresh), Names{"a"});
    run_around_a_change(std::move(plan));
  }
}

TEST(Fixed, MayBeFetchedAndBecomeAState) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  const Value b = sigmoid(small.graph, a, "b");
  add(small.graph, small.x, b, "y");
  Plan plan = compile(request_of(small, {"a", "y", "b"}, {{"v", "a"}}));
  EXPECT_EQ(names(plan.refresh), (Names{"a", "b"}));
  EXPECT_EQ(kept_in(plan), (Names{"a", "b"}));
  run_around_a_change(std::move(plan));
}

TEST(Fixed, IsNothingOfAStateThatThePlanChanges) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  add(small.graph, small.x, a, "y");
  add(small.graph, small.v, small.x, "v_new");
  EXPECT_EQ(names(compile(request_of(small, {"y"}, {{"v", "v_new"}})).refresh), Names{"a"});
  EXPECT_TRUE(compile(request_of(small, {"y"}, {{"w", "v_new"}})).refresh.empty());
}

// Random numbers differ from run to run; a large result of a small state is not worth its memory;
// and who feeds nothing runs once.
TEST(Fixed, IsNeitherRandomNorLargeNorOfAPlanThatIsFedNothing) {
  Small small;
  const Value share = small.graph.constant("share", Literal::scalar(0.5F));
  const Value trains = small.graph.constant("trains", Literal::of<bool>(std::array{true}, {}));
  const Value noise =
      small.graph.add_value({.type = "Dropout", .inputs = {small.w, share, trains}}, "noise");
  const Value rows = small.graph.constant("rows", Literal::vector({100, 4, 4}));
  const Value large = small.graph.add_value({.type = "Expand", .inputs = {small.w, rows}}, "large");
  const Value a = add(small.graph, noise, small.w, "a");
  add(small.graph, add(small.graph, a, large, "b"), small.x, "y");
  EXPECT_TRUE(compile(request_of(small, {"y"})).refresh.empty());
  sigmoid(small.graph, small.v, "z");
  EXPECT_EQ(names(compile(request_of(small, {"y", "z"})).refresh), Names{"z"});
  CompileRequest unfed = request_of(small, {"z"});
  unfed.feeds = {};
  unfed.feed_dims = {};
  EXPECT_TRUE(compile(unfed).refresh.empty());
}

TEST(Fixed, ErrorsLeaveItStale) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {4}});
  const Value table = graph.input("table", {DType::float32, {4}});
  const Value places = graph.input("places", {DType::int64, {4}});
  const Value taken = graph.add_value({.type = "Gather", .inputs = {table, places}}, "taken");
  add(graph, x, taken, "y");
  States states({"table", "places"}, {{DType::float32, {4}}, {DType::int64, {4}}});
  Workers workers(1, 1);
  const auto executor = make_executor(
      compile({graph, {"x"}, {{4}}, {"y"}, {"table", "places"}, {}, cpu_devices(1), all_kernels()}),
      states, workers);
  ASSERT_EQ(names(executor->plan().refresh), Names{"taken"});
  std::vector<float> fed(4, 1);
  const std::vector<Tensor> feeds{{{DType::float32, {4}}, fed.data()}};
  executor->run(feeds, {});
  states.write("places", Literal::vector({0, 1, 2, 4}));
  for (int run = 0; run < 2; ++run)  // a failed run leaves it stale
    expect_error([&] { executor->run(feeds, {}); }, "Gather", "index 4");
  states.write("places", Literal::vector({0, 1, 2, 3}));
  executor->run(feeds, {});
}

// The search for values that are not finite knows them, also where a mask is made once.
TEST(Fixed, InfinitiesOfMasksAreIntended) {
  Small small;
  std::vector<float> hidden(16, 0);
  hidden[3] = -std::numeric_limits<float>::infinity();
  const Value mask = small.graph.constant("mask", Literal::of<float>(hidden, {4, 4}));
  const Value a = add(small.graph, small.w, mask, "a");
  const Value b = relu(small.graph, add(small.graph, a, small.v, "b"), "c");
  const Value sum = add(small.graph, add(small.graph, small.x, a, "d"), b, "e");
  small.graph.add_value({.type = "Softmax", .inputs = {sum}}, "y");
  States states({"w", "v"}, {{DType::float32, {4, 4}}, {DType::float32, {4, 4}}});
  Workers workers(1, 1);
  const auto executor = make_executor(compile(request_of(small, {"y"})), states, workers);
  ASSERT_EQ(names(executor->plan().refresh), (Names{"a", "b", "c"}));
  std::vector<float> x(16, 0.5F);
  const std::vector<Tensor> feeds{{{DType::float32, {4, 4}}, x.data()}};
  NotFinite found;
  executor->run(feeds, {.context = {}, .not_finite = &found});
  EXPECT_EQ(found.step, -1) << found.text;
  hidden[3] = std::numeric_limits<float>::quiet_NaN();
  states.write("w", Literal::of<float>(hidden, {4, 4}));
  executor->run(feeds, {.context = {}, .not_finite = &found});
  EXPECT_NE(found.text.find("'d' (Add on cpu:0): nan"), std::string::npos) << found.text;
}

}  // namespace
}  // namespace lockstep::testing
