// SPDX-License-Identifier: Apache-2.0
// The waits in the plan of a data-parallel step, on devices with separate queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/print.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

Plan plan_of(const TrainingModel& model, const std::vector<Device>& devices, int64_t batch,
             Comm* comm = nullptr) {
  auto dims = [&](const std::string& feed) {
    Shape shape = model.step.shape(model.step.at(feed));
    if (!shape.empty() && !shape[0].known()) shape[0] = batch;
    return to_dims(shape);
  };
  CompileRequest request = step_request(model, dims, devices, queued_kernels());
  request.comm = comm;
  return compile(request);
}

// The positions in a compute queue of its first and last gradient, and of the first step that waits
// for communication.
struct Order {
  int first_gradient = -1, last_gradient = -1, first_wait = -1;
};

Order order_of(const Plan& plan, const TrainingModel& model, int worker) {
  std::set<std::string> gradients;
  for (const Replicated& gradient : model.gradients) {
    const State* state = model.find_state(gradient.name);
    gradients.insert(state->values[worker] + "_grad");
  }
  Order order;
  const std::vector<int>& steps = plan.workers[worker].steps;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const PlanStep& step = plan.steps[steps[i]];
    for (int slot : step.out)
      if (slot >= 0 && gradients.count(plan.slots[slot].name)) {
        if (order.first_gradient < 0) order.first_gradient = i;
        order.last_gradient = i;
      }
    for (const Wait& wait : step.waits)
      if (order.first_wait < 0 && wait.worker >= model.replicas) order.first_wait = i;
  }
  return order;
}

TrainingModel resnet50(int replicas, DataParallelOptions options) {
  options.replicas = replicas;
  ClassifierOptions of = published_options("resnet50");
  of.image = {3, 32, 32};
  return build_data_parallel_model(all_ops(), model_named("resnet50", of), MomentumSgd{}, options);
}

TEST(Plan, QueuesComputeWhileGradientsAreReduced) {
  for (const char* packing : {"ready:1M:25M", "none"}) {
    const TrainingModel model = resnet50(8, {.all_reduce = {.packing = parse_packing(packing)}});
    const Plan plan = plan_of(model, gpu_devices(8), 2);
    for (int worker = 0; worker < 8; ++worker) {
      const Order order = order_of(plan, model, worker);
      ASSERT_GE(order.first_gradient, 0);
      ASSERT_GT(order.last_gradient, order.first_gradient);
      EXPECT_GT(order.first_wait, order.last_gradient)
          << "gpu:" << worker << " waits for a reduce before the last gradient, " << packing;
    }
  }
}

TEST(Plan, DeferredHidesAllReduces) {
  for (const char* packing : {"ready:1M:25M", "none"}) {
    const TrainingModel model =
        resnet50(8, {.deferred = true, .all_reduce = {.packing = parse_packing(packing)}});
    const Plan plan = plan_of(model, gpu_devices(8), 2);
    for (int worker = 0; worker < 8; ++worker) {
      const Order order = order_of(plan, model, worker);
      EXPECT_GT(order.first_wait, order.last_gradient) << "gpu:" << worker << ", " << packing;
    }
    // Parameters are updated in place. Deferred gradients are copied, if at all, on their own
    // device.
    for (const PlanStep& step : plan.steps) {
      if (step.type != "CopyToState") continue;
      EXPECT_NE(step.name.find("_deferred"), std::string::npos) << step.name;
      EXPECT_EQ(step.name.substr(0, 5), join("gpu_", step.worker)) << step.name;
    }
  }
}

TEST(Plan, DeferredHidesMessagesBetweenProcesses) {
  for (const char* spec : {"collective", "xring"}) {
    const TrainingModel whole = small_mlp(
        2, MomentumSgd{}, {.deferred = true, .all_reduce = {.spec = parse_all_reduce(spec)}});
    run_ranks(2, [&](Comm& comm) {
      const TrainingModel part = partition(whole, {comm.rank(), 2});
      const Plan plan = plan_of(part, cpu_devices(1), 4, &comm);
      const Order order = order_of(plan, part, 0);
      EXPECT_GT(order.first_wait, order.last_gradient) << spec << " on rank " << comm.rank();
      // The partial sums of a ring are private to the exchange and stored in its arena.
      if (spec == std::string("xring")) {
        EXPECT_GT(plan.workers.back().arena_bytes, 0u);
      }
    });
  }
}

TEST(Plan, DeferredOnCpuReplicasUpdatesInPlace) {
  const TrainingModel model = small_mlp(2, MomentumSgd{}, {.deferred = true});
  const Plan plan = plan_of(model, cpu_devices(2), 4);
  for (const PlanStep& step : plan.steps) EXPECT_NE(step.type, "CopyToState") << step.name;
}

// At batch 4, in the golden plan of these replicas, a large gradient is reduced at once.
TEST(Plan, ReducesOfLittleAmongTheRestComeLastOnCpus) {
  const TrainingModel model = small_mlp(2);
  const Plan plan = plan_of(model, cpu_devices(2), 1 << 14);
  for (int worker = 0; worker < 2; ++worker) {
    std::set<std::string> after_a_reduce;
    bool reduced = false;
    for (int number : plan.workers[worker].steps) {
      const std::string& type = plan.steps[number].type;
      reduced = reduced || type == "AllReduce";
      if (reduced) after_a_reduce.insert(type);
    }
    EXPECT_EQ(after_a_reduce, (std::set<std::string>{"AllReduce", "MomentumSGDUpdates"}));
  }
}

// A ResNet's gradients need little memory beside its backward pass. If replicas met earlier they
// would alternate: one waits while the other updates a parameter.
TEST(Plan, ReplicasOfAResNetMeetAfterTheirLastGradient) {
  const TrainingModel model =
      build_data_parallel_model(all_ops(), model_named("resnet18", published_options("resnet18")),
                                MomentumSgd{}, {.replicas = 2, .scope = "cpu"});
  const Plan plan = plan_of(model, cpu_devices(2), 8);
  for (const Worker& worker : plan.workers) {
    bool reduced = false;
    for (int number : worker.steps) {
      const std::string& type = plan.steps[number].type;
      reduced = reduced || type == "AllReduce";
      EXPECT_FALSE(reduced && type.starts_with("Conv")) << plan.steps[number].name;
    }
    EXPECT_TRUE(reduced);
  }
}

// The gradients of ten layers of 1,000 units dominate the peak memory.
TEST(Plan, GradientsDoNotPileUpUntilReplicasMeet) {
  const auto bytes = [](int replicas) {
    const TrainingModel model = build_data_parallel_model(
        all_ops(),
        [](Net& net) {
          Value x = net.input("data", {DType::float32, {"N", 1000}});
          for (int i = 0; i < 10; ++i)
            x = relu(net.graph, fc_layer(net, x, 1000, {}, join("fc", i)), join("relu", i));
          classify(net, fc_layer(net, x, 10, {}, "pred"));
        },
        MomentumSgd{}, {.replicas = replicas, .scope = "cpu"});
    return plan_of(model, cpu_devices(replicas), 8).workers[0].arena_bytes;
  };
  EXPECT_LE(bytes(2), 2 * bytes(1));
}

// A value without readers still belongs to its replica.
TEST(Plan, StatesLieWithTheirReplica) {
  const TrainingModel model = small_mlp(3, MomentumSgd{}, {.deferred = true});
  const Plan plan = plan_of(model, gpu_devices(3), 4);
  const Owners owners = model.owners();
  for (std::size_t i = 0; i < plan.states.size(); ++i)
    EXPECT_EQ(plan.state_workers[i], owners.at(plan.states[i])) << plan.states[i];
}

}  // namespace
}  // namespace lockstep::testing
