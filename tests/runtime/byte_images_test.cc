// SPDX-License-Identifier: Apache-2.0
// Images fed as bytes: a plan normalises them in one pass. The bits equal the nodes of the step,
// and equal a batch that was normalised before it was fed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "builders/net/bytes.h"
#include "lockstep/imported.h"
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
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

const Dims kBytesImage{3, 8, 7};
const ByteScale kByteScale{{1 / (255 * 0.229F), 1 / (255 * 0.224F), 1 / (255 * 0.225F)},
                           {0.485F / 0.229F, 0.456F / 0.224F, 0.406F / 0.225F}};

TrainingModel coloured_model(bool bytes, int replicas, DType precision, const char* scope) {
  const auto network = [bytes](Net& net) {
    const Shape shape{"N", kBytesImage[0], kBytesImage[1], kBytesImage[2]};
    Value x = bytes ? byte_input(net, "data", shape, kByteScale)
                    : net.input("data", {DType::float32, shape});
    x = relu(net.graph, conv_layer(net, x, 8, {.kernel = 3, .pad = 1}, "conv"), "relu");
    classify(net, fc_layer(net, x, 5, {}, "pred"));
  };
  return build_data_parallel_model(all_ops(), network, MomentumSgd{},
                                   {.replicas = replicas, .scope = scope, .precision = precision});
}

struct ByteRun {
  DeviceKind kind = DeviceKind::cpu;
  DType precision = DType::float32;
  int replicas = 2;
  bool fused = true;
};

class ByteTraining {
 public:
  explicit ByteTraining(bool bytes, const ByteRun& run)
      : bytes_(bytes),
        model_(coloured_model(bytes, run.replicas, run.precision,
                              run.kind == DeviceKind::cpu ? "cpu" : "gpu")),
        session_(
            model_,
            run.kind == DeviceKind::cpu ? cpu_devices(run.replicas) : gpu_devices(run.replicas),
            run.kind == DeviceKind::cpu ? all_kernels() : queued_kernels(), options_of(run)),
        feeds_(model_) {
    session_.initialise();
  }

  StateValues trained(int64_t from, int64_t to) {
    for (int64_t step = from; step < to; ++step) {
      feed(step);
      session_.run_step(feeds_, static_cast<uint64_t>(step));
    }
    return session_.save();
  }
  void load(const StateValues& state) { session_.load(state); }
  std::map<std::string, int> steps() {
    feed(0);
    std::map<std::string, int> steps;
    for (const PlanStep& step : plan_of(session_.step(), feeds_.tensors()).steps)
      ++steps[step.type];
    return steps;
  }
  const TrainingModel& model() const { return model_; }

 private:
  static SessionOptions options_of(const ByteRun& run) {
    SessionOptions options{.seed = 5, .threads = 1};
    options.compile.rewrites = run.fused;
    return options;
  }

  void feed(int64_t step) {
    constexpr int64_t kBatch = 6;
    PhiloxSequence random(9, static_cast<uint64_t>(step));
    const int64_t plane = kBytesImage[1] * kBytesImage[2];
    for (int64_t i = 0; i < kBatch * 3 * plane; ++i) {
      const auto c = static_cast<std::size_t>(i / plane % 3);
      levels_.resize(static_cast<std::size_t>(i) + 1);
      floats_.resize(levels_.size());
      levels_[i] = static_cast<uint8_t>(random.below(256));
      floats_[i] = static_cast<float>(levels_[i]) * kByteScale.scale[c] - kByteScale.shift[c];
    }
    labels_.resize(kBatch);
    for (int64_t& label : labels_) label = random.below(5);
    const Dims dims{kBatch, 3, kBytesImage[1], kBytesImage[2]};
    feeds_.set("data", bytes_ ? Tensor{{DType::uint8, dims}, levels_.data()}
                              : Tensor{{DType::float32, dims}, floats_.data()});
    feeds_.set("label", {{DType::int64, {kBatch}}, labels_.data()});
    feeds_.set(Role::rate, 0.05F);
  }

  bool bytes_;
  TrainingModel model_;
  Session session_;
  Feeds feeds_;
  std::vector<uint8_t> levels_;
  std::vector<float> floats_;
  std::vector<int64_t> labels_;
};

TEST(ByteImages, TrainToTheBitsOfNormalisedFloats) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu})
    for (const DType precision : {DType::float32, DType::bfloat16, DType::float16})
      for (const int replicas : {1, 2}) {
        const ByteRun run{kind, precision, replicas};
        SCOPED_TRACE(
            join(precision, " on ", replicas, kind == DeviceKind::cpu ? " CPUs" : " GPUs"));
        ByteTraining bytes(true, run), floats(false, run);
        ByteRun single = run;
        single.fused = false;
        const StateValues state = bytes.trained(0, 3);
        EXPECT_TRUE(state == floats.trained(0, 3));
        if (precision == DType::float32) {  // other fusions reduce the rounding to 16 bits
          EXPECT_TRUE(state == ByteTraining(true, single).trained(0, 3)) << "single nodes";
        }
        ByteTraining resumed(true, run);
        resumed.load(ByteTraining(true, run).trained(0, 2));
        EXPECT_TRUE(state == resumed.trained(2, 3)) << "resumed";
      }
}

TEST(ByteImages, AreNormalisedInOnePass) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu})
    for (const DType precision : {DType::float32, DType::bfloat16}) {
      const ByteRun run{kind, precision};
      std::map<std::string, int> bytes = ByteTraining(true, run).steps();
      std::map<std::string, int> floats = ByteTraining(false, run).steps();
      EXPECT_EQ(bytes["ByteTable"], 2) << "of each replica";
      EXPECT_EQ(bytes["Mul"], floats["Mul"]);
      EXPECT_EQ(bytes["Sub"], floats["Sub"]);
      EXPECT_LE(bytes["Cast"], floats["Cast"]) << "16-bit images need no cast";
    }
}

TEST(ByteImages, StandInTheFileAsStandardNodes) {
  const TrainingModel model = coloured_model(true, 1, DType::bfloat16, "cpu");
  for (const Graph* graph : {&model.step, &model.inference}) {
    std::map<std::string, int> types;
    for (int i = 0; i < graph->node_count(); ++i)
      if (graph->node(i).domain().empty()) ++types[graph->node(i).type()];
    EXPECT_GE(types["Cast"], 1);
    EXPECT_GE(types["Mul"], 1);
    EXPECT_GE(types["Sub"], 1);
  }
}

TEST(ByteImages, OfAnotherTypeAreRefused) {
  const TrainingModel model = coloured_model(true, 1, DType::float32, "cpu");
  Feeds feeds(model);
  std::vector<float> floats(3 * 56);
  EXPECT_THROW(feeds.set("data", {{DType::float32, {1, 3, 8, 7}}, floats.data()}), Error);
  const auto network = [](Net& net) { byte_input(net, "data", {"N", 1, 8, 7}, kByteScale); };
  EXPECT_THROW(build_data_parallel_model(all_ops(), network, MomentumSgd{}, {}), Error);
}

// -- nodes that become a table

class BytePlans : public ::testing::Test {
 protected:
  Value constant(const Dims& dims, float first) {
    std::vector<float> values;
    for (int64_t i = 0; i < element_count(dims); ++i)
      values.push_back(first + 0.3F * static_cast<float>(i));
    return graph_.constant(join("c", number_++), Literal::of<float>(values, dims));
  }
  Value of(const char* type, Value a, Value b) {
    return graph_.add_value({.type = type, .inputs = {a, b}}, join("v", number_++));
  }
  // Returns the types of the plan's steps. Expects the bits of the separate nodes.
  std::map<std::string, int> steps(const Value bytes, const std::vector<Value>& results) {
    for (const Value result : results) graph_.output(result);
    std::map<std::string, int> types;
    std::vector<std::vector<std::byte>> seen;
    for (const bool fused : {false, true}) {
      CompileRequest request{.graph = graph_,
                             .feeds = {graph_.name(bytes)},
                             .feed_dims = {to_dims(graph_.shape(bytes))},
                             .fetches = {},
                             .states = {},
                             .updates = {},
                             .devices = cpu_devices(1),
                             .kernels = all_kernels()};
      for (const Value result : results) request.fetches.push_back(graph_.name(result));
      request.options.rewrites = fused;
      Plan plan = compile(request);
      types.clear();
      for (const PlanStep& step : plan.steps) ++types[step.type];
      States none({}, {});
      Workers workers(1, 1);
      const auto executor = make_executor(std::move(plan), none, workers);
      std::vector<uint8_t> levels;
      const TensorDesc desc{DType::uint8, to_dims(graph_.shape(bytes))};
      for (int64_t i = 0; i < desc.count(); ++i) levels.push_back(static_cast<uint8_t>(37 * i));
      const Tensor feed{desc, levels.data()};
      executor->run({&feed, 1}, {});
      for (const Tensor& result : executor->fetches()) {
        const auto* data = result.as<const std::byte>();
        seen.emplace_back(data, data + result.desc.bytes());
      }
    }
    const auto half = static_cast<std::ptrdiff_t>(seen.size() / 2);
    EXPECT_TRUE(std::equal(seen.begin(), seen.begin() + half, seen.begin() + half));
    return types;
  }
  Value input(const Dims& dims) { return graph_.input("x", {DType::uint8, to_shape(dims)}); }
  Value levels(Value bytes) { return cast(graph_, bytes, DType::float32, "levels"); }

  Graph graph_{all_ops(), "bytes"};
  int number_ = 0;
};

using Steps = std::map<std::string, int>;

TEST_F(BytePlans, AnyArithmeticWithConstantsIsATable) {
  const Value x = input({2, 3, 4, 5});
  Value y = of("Div", levels(x), constant({}, 255));
  y = of("Sub", y, constant({3, 1, 1}, 0.4F));
  y = of("Div", y, constant({1, 3, 1, 1}, 0.2F));
  y = of("Sub", constant({1}, 1), y);
  y = of("Add", y, constant({1, 1, 1, 1}, 0.7F));
  y = of("Mul", constant({3, 1, 1}, 2), y);
  y = cast(graph_, y, DType::bfloat16, "narrow");
  EXPECT_EQ(steps(x, {y}), (Steps{{"ByteTable", 1}}));
}

TEST_F(BytePlans, ACastAloneIsATable) {
  const Value x = input({5, 3});
  EXPECT_EQ(steps(x, {levels(x)}), (Steps{{"ByteTable", 1}}));
}

TEST_F(BytePlans, WhatOthersReadStaysAValue) {
  const Value x = input({2, 3, 4, 5});
  const Value a = of("Mul", levels(x), constant({}, 0.5F));
  const Value b = of("Sub", a, constant({}, 1));
  EXPECT_EQ(steps(x, {a, b}), (Steps{{"ByteTable", 1}, {"Sub", 1}}));
}

TEST_F(BytePlans, WhatIsNotByChannelIsNoTable) {
  const Value x = input({2, 3, 4, 3});
  const Value y = of("Mul", levels(x), constant({3}, 0.5F));  // by column
  EXPECT_EQ(steps(x, {y}), (Steps{{"ByteTable", 1}, {"Mul", 1}}));
}

TEST_F(BytePlans, WhatWidensIsNoTable) {
  const Value x = input({2, 1, 4, 5});
  const Value y = of("Mul", levels(x), constant({3, 1, 1}, 0.5F));
  EXPECT_EQ(steps(x, {y}), (Steps{{"ByteTable", 1}, {"Mul", 1}}));
}

TEST_F(BytePlans, WhatHasMoreDimensionsIsNoTable) {
  const Value x = input({4, 5});
  const Value y = of("Mul", levels(x), constant({1, 1, 1}, 0.5F));
  EXPECT_EQ(steps(x, {y}), (Steps{{"ByteTable", 1}, {"Mul", 1}}));
}

TEST_F(BytePlans, ANumberOrAVectorOfBytesHasNoChannels) {
  const Value x = input({7});
  EXPECT_EQ(steps(x, {of("Mul", levels(x), constant({}, 0.5F))}), (Steps{{"Cast", 1}, {"Mul", 1}}));
}

}  // namespace
}  // namespace lockstep::testing
