// SPDX-License-Identifier: Apache-2.0
// Filters that training stores in tiles give the bits and files of row-major filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/file.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "operators/conv/conv.h"
#include "operators/kit/simd/isa.h"
#include "runtime/exec/states.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "runtime/state/sharing.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kClasses = 5;
const Dims kImage{3, 8, 8};

// Convolutions that oneDNN computes from tiles, one of them used twice; a depthwise convolution; a
// convolution with channels that no tile divides; and a sum of two branches.
void tiled_network(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 3, 8, 8}});
  x = relu(net.graph, conv_layer(net, x, 32, {.kernel = 3, .pad = 1}, "first"), "first_relu");
  Value y = conv_layer(net, x, 64, {.kernel = 1, .bias = false}, "expand");
  y = relu(net.graph, batch_norm_layer(net, y, {}, "expand_bn"), "expand_relu");
  y = conv_layer(net, y, 64, {.kernel = 3, .pad = 1, .group = 64, .bias = false}, "depthwise");
  y = conv_layer(net, y, 32, {.kernel = 1, .bias = false}, "project");
  y = relu(net.graph, add(net.graph, x, y, "sum"), "sum_relu");
  y = conv_layer(net, y, 48, {.kernel = 3, .stride = 2, .pad = 1}, "halve");
  y = relu(net.graph, conv_layer(net, y, 24, {.kernel = 1}, "narrow"), "narrow_relu");
  classify(net, fc_layer(net, global_average_pool(net.graph, y, "pool"), kClasses, {}, "pred"));
}

// A filter that is computed from states. A gate's gradient is a sum over a filter's gradient.
void gated_network(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 3, 8, 8}});
  x = relu(net.graph, conv_layer(net, x, 32, {.kernel = 3, .pad = 1}, "first"), "first_relu");
  x = relu(net.graph, conv_layer(net, x, 32, {.kernel = 1}, "plain"), "plain_relu");
  for (const auto& [name, gate] :
       {std::pair{"inner", Dims{1, 32, 1, 1}}, {"outer", {32, 1, 1, 1}}}) {
    const Value w = net.param(join(name, "_w"), {32, 32, 3, 3}, gaussian(0.05F));
    const Value g = net.param(join(name, "_gate"), gate, constant(0.5F));
    x = conv(net.graph, x, mul(net.graph, w, g, join(name, "_gated")), none,
             {{.kernel = {3, 3}, .pads = {1, 1, 1, 1}}}, name);
  }
  const Value from = net.param("made_from", {32, 16, 3, 3}, gaussian(0.1F));
  const Value made = conv_layer(net, from, 16, {.kernel = 1}, "made");  // in channel blocks
  x = conv(net.graph, x, made, none, {{.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 2}, "grouped");
  classify(net, fc_layer(net, global_average_pool(net.graph, x, "pool"), kClasses, {}, "pred"));
}

struct Way {
  std::string name;
  DataParallelOptions options = {};
  bool fused = true;
  int64_t batch = 8;
};

TrainingModel model_of(DataParallelOptions options, const ModelFn& network = tiled_network) {
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

// A session and its training batches.
struct Training {
  Session session;
  StepFeeds feeds;
  int64_t batch;

  Training(const TrainingModel& model, bool tiles, int64_t batch = 8, bool fused = true,
           const Dims& image = kImage, bool shares = true)
      : session(model, cpu_devices(model.replicas), all_kernels(),
                {.seed = 5,
                 .threads = 1,
                 .compile = {.state_layouts = tiles, .rewrites = fused, .share = shares}}),
        feeds(model, batch, kClasses, image),
        batch(batch) {
    session.initialise();
  }
  void run(int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  }
  int in_tiles() const {
    const std::vector<Layout> layouts = states_of(session).layouts();
    return static_cast<int>(std::ranges::count_if(layouts, &Layout::is_tiles));
  }
  int side_of_tiles() const {
    const std::vector<Layout> layouts = states_of(session).layouts();
    return std::ranges::min(layouts).tiles().side;
  }
};

// The filters of the tiled network that are in tiles: expand, project and halve, and narrow if
// tiles of 8 divide its channels.
int filters_in_tiles(const Training& training) { return training.side_of_tiles() == 8 ? 4 : 3; }

// True if this processor's convolutions prefer tiles.
bool wishes_tiles() {
  const TrainingModel model = model_of({});
  Training training(model, true);
  training.run(0, 1);
  return training.in_tiles() > 0;
}

class StateLayouts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (wishes_tiles()) return;
    ASSERT_NE(isa_here(), Isa::avx512) << "AVX-512's convolutions read tiles";
    GTEST_SKIP() << "skipped: no AVX-512 here, and convolutions read no tiles";
  }
};

TEST_F(StateLayouts, HoldFiltersAndTheirMomentumInTiles) {
  for (const int replicas : {1, 2}) {
    const TrainingModel model = model_of({.replicas = replicas});
    Training tiles(model, true, 8, true, kImage, false),
        plain(model, false, 8, true, kImage, false);
    tiles.run(0, 1);
    plain.run(0, 1);
    const bool small_tiles = tiles.side_of_tiles() == 8;
    EXPECT_EQ(tiles.in_tiles(), filters_in_tiles(tiles) * 2 * replicas);
    EXPECT_EQ(plain.in_tiles(), 0);
    const Plan& tiled = plan_of(tiles.session.step(), tiles.feeds.at(0, 0.05F));
    const Plan& row_major = plan_of(plain.session.step(), plain.feeds.at(0, 0.05F));
    EXPECT_NE(text_of(tiled).find("expand_w/t"), std::string::npos);
    // In row-major order, each filter is read and written once for the forward pass, once for its
    // gradient, and once for the gradient of the data. The last copy is now the transposed tiles
    // that the update writes.
    const std::size_t filters = 64 * 32 + 32 * 64 + 48 * 32 * 9, narrow = small_tiles ? 24 * 48 : 0;
    EXPECT_EQ(traffic_of(row_major).reordered - traffic_of(tiled).reordered,
              6 * (filters + narrow) * sizeof(float) * static_cast<std::size_t>(replicas));
    const int copies = filters_in_tiles(tiles);
    EXPECT_NE(text_of(tiled).find(join(copies, " filters of replica 0 are kept in turned tiles")),
              std::string::npos);
    EXPECT_EQ(tiled.kept.size(), static_cast<std::size_t>(copies * replicas));
    EXPECT_EQ(row_major.kept.size(), 0u);
    Training shared(model, true);
    EXPECT_EQ(plan_of(shared.session.step(), shared.feeds.at(0, 0.05F)).kept.size(),
              static_cast<std::size_t>(copies));
  }
}

TEST_F(StateLayouts, GiveTheBitsOfRowMajorStates) {
  const std::vector<Way> ways{
      {"alone"},
      {"two", {.replicas = 2}},
      {"three", {.replicas = 3}, true, 12},
      {"not fused", {.replicas = 2}, false},
      {"micro-batches", {.replicas = 2, .micro_batches = 2}},
      {"deferred", {.replicas = 2, .deferred = true}},
      {"skips", {.replicas = 2, .skip_non_finite = true}},
      {"clipped", {.replicas = 2, .clip = {.norm = 0.5F}}},
      {"frozen", {.frozen = {"expand*"}}},
      {"bfloat16", {.precision = DType::bfloat16}},
      {"bfloat16, two", {.replicas = 2, .precision = DType::bfloat16}},
      {"bfloat16, three", {.replicas = 3, .precision = DType::bfloat16}, true, 12},
      {"bfloat16, not fused", {.replicas = 2, .precision = DType::bfloat16}, false},
      {"bfloat16, micro-batches",
       {.replicas = 2, .micro_batches = 2, .precision = DType::bfloat16}},
      {"bfloat16, deferred", {.replicas = 2, .deferred = true, .precision = DType::bfloat16}},
      {"bfloat16, clipped", {.clip = {.norm = 0.5F}, .precision = DType::bfloat16}},
      {"bfloat16, frozen", {.frozen = {"expand*"}, .precision = DType::bfloat16}},
      {"float16, skips", {.replicas = 2, .skip_non_finite = true, .precision = DType::float16}},
      {"ring", {.replicas = 2, .all_reduce = {.spec = {.ranges = {{"xring"}}}}}}};
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    const TrainingModel model = model_of(way.options);
    Training tiles(model, true, way.batch, way.fused), plain(model, false, way.batch, way.fused);
    tiles.run(0, 3);
    plain.run(0, 3);
    EXPECT_EQ(find_divergence(tiles.session), "");
    EXPECT_TRUE(tiles.session.save() == plain.session.save());
  }
}

// The states stay row-major; the copies of filters that steps read are in tiles.
TEST_F(StateLayouts, OfFiltersBesideNarrowCopiesAreRowMajor) {
  const TrainingModel model = model_of({.precision = DType::bfloat16});
  Training tiles(model, true), plain(model, false);
  tiles.run(0, 1);
  plain.run(0, 1);
  EXPECT_EQ(tiles.in_tiles(), 0);
  const Plan& tiled = plan_of(tiles.session.step(), tiles.feeds.at(0, 0.05F));
  const Plan& row_major = plan_of(plain.session.step(), plain.feeds.at(0, 0.05F));
  EXPECT_NE(text_of(tiled).find("copies in tiles"), std::string::npos);
  EXPECT_GT(tiled.kept.size(), row_major.kept.size());
  EXPECT_LT(traffic_of(tiled).reordered, traffic_of(row_major).reordered);
  for (const PlanStep& step : tiled.steps) {
    if (step.type != "Reorder") continue;
    EXPECT_NE(tiled.slots[static_cast<std::size_t>(step.in[0])].storage, Storage::in_state)
        << step.name;
  }
}

TEST_F(StateLayouts, BesideFiltersThatAreComputedGiveTheSameBits) {
  for (const int64_t batch : {8, 32}) {
    const TrainingModel model = model_of({.replicas = 2}, gated_network);
    Training tiles(model, true, batch), plain(model, false, batch);
    tiles.run(0, 3);
    plain.run(0, 3);
    EXPECT_GT(tiles.in_tiles(), 0);
    EXPECT_TRUE(tiles.session.save() == plain.session.save());
  }
}

TEST_F(StateLayouts, OfPublishedModelsGiveTheSameBits) {
  const ClassifierOptions options{.image = {3, 32, 32}, .classes = kClasses};
  for (const ModelFn& network : {resnet18(options), mobilenet_v2(options)}) {
    const TrainingModel model = model_of({.replicas = 2}, network);
    const Dims image{3, 32, 32};
    Training tiles(model, true, 4, true, image), plain(model, false, 4, true, image);
    tiles.run(0, 2);
    plain.run(0, 2);
    EXPECT_GT(tiles.in_tiles(), 0);
    EXPECT_TRUE(tiles.session.save() == plain.session.save());
  }
}

TEST_F(StateLayouts, WriteTheSameCheckpointsAndResumeFromThem) {
  const TemporaryFolder folder;
  const TrainingModel model = model_of({.replicas = 2});
  const auto file_of = [&](Training& training, const std::string& name) {
    save_checkpoint(training.session, folder / name, {});
    return read_file(folder / name);
  };
  Training tiles(model, true), plain(model, false), resumed(model, true), late(model, true);
  tiles.run(0, 2);
  plain.run(0, 2);
  EXPECT_EQ(file_of(tiles, "tiles"), file_of(plain, "plain"));
  load_checkpoint(resumed.session, folder / "tiles");  // before its first plan
  late.run(0, 1);                                      // its states are already in tiles
  load_checkpoint(late.session, folder / "tiles");
  for (Training* training : {&tiles, &resumed, &late}) training->run(2, 4);
  const std::string all = file_of(tiles, "tiles");
  EXPECT_EQ(file_of(resumed, "resumed"), all);
  EXPECT_EQ(file_of(late, "late"), all);
}

// Plans from before the choice are made again; plans for another batch keep the choice.
TEST_F(StateLayouts, AreSharedByAllPlans) {
  const TrainingModel model = model_of({});
  Training tiles(model, true), plain(model, false);
  StepFeeds more(model, 20, kClasses, kImage);
  const std::vector<float> picture(kImage[0] * kImage[1] * kImage[2], 0.5F);
  const Tensor image{{DType::float32, {1, 3, 8, 8}}, const_cast<float*>(picture.data())};
  const auto predicted = [&](Training& training) {
    const Tensor made = training.session.inference().run({&image, 1}, {})[0];
    return std::vector<float>(made.as<float>(), made.as<float>() + made.count());
  };
  EXPECT_EQ(predicted(tiles), predicted(plain));
  for (Training* training : {&tiles, &plain}) {
    training->run(0, 1);
    training->session.step().run(more.at(1, 0.05F), training->session.run_options(1));
    training->run(2, 3);
  }
  EXPECT_EQ(tiles.in_tiles(), filters_in_tiles(tiles) * 2);
  EXPECT_EQ(predicted(tiles), predicted(plain));
  EXPECT_TRUE(tiles.session.save() == plain.session.save());
  tiles.session.initialise();
  plain.session.initialise();
  EXPECT_TRUE(tiles.session.save() == plain.session.save()) << "initialised again, in tiles";
}

// A fetched state stays row-major.
TEST_F(StateLayouts, OfFetchedValuesAreRowMajor) {
  const TrainingModel model = model_of({});
  Training tiles(model, true);
  tiles.run(0, 1);
  auto reads = tiles.session.program(model.step, {}, {"cpu_0/expand_w"}, {});
  const Tensor fetched = reads->run({}, {})[0];
  const Literal read = states_of(tiles.session).read("cpu_0/expand_w");
  EXPECT_EQ(fetched.desc, view_of(read).desc);
  EXPECT_EQ(std::memcmp(fetched.data, read.bytes().data(), read.bytes().size()), 0);
}

// A metric that convolves a filter as an image reads the filter in channel blocks.
TEST_F(StateLayouts, OfFiltersThatAreReadInBlocksAreRowMajor) {
  for (const bool looks : {false, true}) {
    const TrainingModel model = model_of({}, [looks](Net& net) {
      Value x = net.input("data", {DType::float32, {"N", 3, 8, 8}});
      x = relu(net.graph, conv_layer(net, x, 64, {.kernel = 3, .pad = 1}, "first"), "first_relu");
      const Value w = net.param("halve_w", {64, 64, 3, 3}, gaussian(0.05F));
      const ConvAttrs halves{{.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}};
      x = conv(net.graph, x, w, none, halves, "halve");
      if (looks && net.training()) {
        const std::vector<float> ones(64 * 64, 1);
        const Value sums = net.graph.constant("sums", Literal::of<float>(ones, {64, 64, 1, 1}));
        const Value looked = conv(net.graph, w, sums, none, {{.kernel = {1, 1}}}, "looked");
        net.metric("size", reduce_mean(net.graph, looked, {}, false, "size"));
      }
      classify(net, fc_layer(net, global_average_pool(net.graph, x, "pool"), kClasses, {}, "pred"));
    });
    Training training(model, true);
    training.run(0, 1);
    EXPECT_EQ(training.in_tiles(), looks ? 0 : 2)
        << text_of(plan_of(training.session.step(), training.feeds.at(1, 0.05F)));
  }
}

TEST(States, KeepTheirValuesInTiles) {
  const TensorDesc desc{DType::float32, {16, 24, 3, 2}};
  States states({"w", "b"}, {desc, {DType::float32, {3}}});
  std::vector<float> values(16 * 24 * 3 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Literal value = Literal::of<float>(values, desc.dims);
  states.write("w", value);
  TensorDesc tiled = desc;
  tiled.layout = Layout::in({.side = 8});
  states.lay_out({tiled, {}});
  EXPECT_EQ(states.times_laid_out(), 1);
  EXPECT_EQ(states.layouts(), (std::vector{tiled.layout, Layout()}));
  // Output 9, input 17, row 2, column 1.
  const auto* raw = states.at("w").as<float>();
  EXPECT_EQ(raw[(((1 * 3 + 2) * 6 + 5) * 8 + 1) * 8 + 1], values[(9 * 24 + 17) * 6 + 5]);
  EXPECT_TRUE(states.read("w") == value);
  EXPECT_EQ(states.see("w").tensor.desc, desc);
  std::ranges::reverse(values);
  states.write("w", Literal::of<float>(values, desc.dims));
  EXPECT_EQ(raw[0], values[0]);
  states.lay_out({desc, {}});
  EXPECT_EQ(std::vector<float>(raw, raw + values.size()), values);
}

// If the last change were lost, a plan would treat its stale copy as current.
TEST(States, KeepTheirLastChangeWhenTheyAreSeparated) {
  States states({"a", "b"}, {{DType::float32, {3}}, {DType::float32, {3}}});
  states.share({{0, 1}});
  states.note_change(0);
  states.separate(1);
  EXPECT_EQ(states.changed(1), states.changed(0));
  EXPECT_GT(states.changed(1), 0U);
}

// A program that chooses state layouts may read the states of two replicas in two layouts.
TEST(States, ThatAProgramWantsApartAreSeparated) {
  const TensorDesc desc{DType::float32, {16, 16, 3, 3}};
  TensorDesc tiled = desc;
  tiled.layout = Layout::in({.side = 8});
  for (const bool chooses : {false, true}) {
    States states({"cpu_0/w", "cpu_1/w"}, {desc, desc});
    states.share({{0, 1}});
    Sharing sharing(states, true);
    Plan plan;
    plan.states = states.names();
    plan.state_descs = {desc, tiled};
    const std::vector<Binding> updates;
    sharing.arrange(plan, {.updates = updates, .chooses = chooses});
    EXPECT_EQ(states.is_shared(1), !chooses);
    if (!chooses) continue;
    states.lay_out(plan.state_descs);
    EXPECT_EQ(states.layouts(), (std::vector{Layout(), tiled.layout}));
  }
}

}  // namespace
}  // namespace lockstep::testing
