// SPDX-License-Identifier: Apache-2.0
// A network with values that have the names of passes' new values: each of the names, one at a
// time.
#include <gtest/gtest.h>

#include <set>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kBatch = 4, kClasses = 5;
const Dims kImage{3, 8, 8};

// `late`: the name of a value after all reordered or cast values.
TrainingModel model_of(DType precision, const std::string& late = "late") {
  const ModelFn network = [&](Net& net) {
    Graph& graph = net.graph;
    Value x = net.input("data", {DType::float32, {"N", 3, 8, 8}});
    x = relu(graph, conv_layer(net, x, 32, {.kernel = 3, .pad = 1}, "first"), "first_relu");
    x = max_pool_layer(net, x, {}, "halved");
    x = relu(graph, conv_layer(net, x, 64, {.kernel = 1}, "wide"), "wide_relu");
    x = relu(graph, conv_layer(net, x, 32, {.kernel = 1}, "narrow"), "narrow_relu");
    x = global_average_pool(graph, x, "pool");
    x = relu(graph, fc_layer(net, x, 16, {}, "features"), late);
    classify(net, fc_layer(net, x, kClasses, {}, "pred"));
  };
  return build_data_parallel_model(
      all_ops(), network, MomentumSgd{},
      {.scope = "cpu", .rules = {.weight_decay = 0.01F}, .precision = precision});
}

struct Trained {
  StateValues state;
  std::set<std::string> names;  // of all values of the plan
};

Trained trained(const TrainingModel& model, DeviceKind kind) {
  const bool gpu = kind == DeviceKind::gpu;
  Session session(model, gpu ? gpu_devices(1) : cpu_devices(1),
                  gpu ? queued_kernels() : all_kernels(), {.seed = 5, .threads = 1});
  session.initialise();
  StepFeeds feeds(model, kBatch, kClasses, kImage);
  for (uint64_t step = 0; step < 2; ++step)
    session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
  Trained result{session.save(), {}};
  for (const Slot& slot : plan_of(session.step(), feeds.at(0, 0.05F)).slots)
    result.names.insert(slot.name);
  return result;
}

TEST(TakenNames, AreLeftToTheNetwork) {
  const std::string scope = "cpu_0/";
  const TrainingModel wide = model_of(DType::float32);
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu})
    for (const DType precision : {DType::float32, DType::bfloat16}) {
      const Trained plain = trained(model_of(precision), kind);
      int tried = 0;
      for (const std::string& name : plain.names) {
        if (wide.step.find(name) || !name.starts_with(scope)) continue;
        SCOPED_TRACE(join(name, " in ", precision, " on ", Device{kind, 0}));
        ++tried;
        EXPECT_TRUE(trained(model_of(precision, name.substr(scope.size())), kind).state ==
                    plain.state);
      }
      EXPECT_GT(tried, 0);
    }
}

TEST(TakenNames, OfNewParametersAreLeftToTheNetwork) {
  const Trained plain = trained(model_of(DType::float32), DeviceKind::cpu);
  for (const char* name : {"wide_w_new", "wide_w_step", "wide_w_momentum_new"})
    EXPECT_TRUE(trained(model_of(DType::float32, name), DeviceKind::cpu).state == plain.state)
        << name;
}

}  // namespace
}  // namespace lockstep::testing
