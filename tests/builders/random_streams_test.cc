// SPDX-License-Identifier: Apache-2.0
// The random numbers that a step draws.
#include "graph/random_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <set>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "operators/dropout/dropout.h"
#include "runtime/dist/agree.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TrainingModel dropping(DataParallelOptions options) {
  return build_data_parallel_model(all_ops(), small_network("dropout").model, MomentumSgd{},
                                   options);
}

// The streams of all nodes of this type, in both passes, by the node's name.
std::map<std::string, int64_t> streams(const Graph& graph, const std::string& type) {
  std::map<std::string, int64_t> found;
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).type() == type) found[graph.node(i).name()] = random_stream_of(graph.node(i));
  return found;
}

std::set<int64_t> numbers(const std::map<std::string, int64_t>& streams) {
  std::set<int64_t> found;
  for (const auto& [name, stream] : streams) found.insert(stream);
  return found;
}

TEST(Streams, EveryShareHasItsOwnAndTheReversePassDrawsThemAgain) {
  for (DType precision : {DType::float32, DType::float16}) {
    const TrainingModel model =
        dropping({.replicas = 3, .micro_batches = 2, .precision = precision});
    const auto forward = streams(model.step, "Dropout");
    EXPECT_EQ(forward.size(), 2u * 3 * 2);
    EXPECT_EQ(numbers(forward).size(), forward.size());
    const auto backward = streams(model.step, "DropoutGrad");
    EXPECT_EQ(backward.size(), forward.size());
    EXPECT_EQ(numbers(backward), numbers(forward));
  }
}

TEST(Streams, OfManySharesDoNotMeet) {
  const auto forward = streams(dropping({.replicas = 64, .micro_batches = 4}).step, "Dropout");
  EXPECT_EQ(numbers(forward).size(), 2u * 64 * 4);
}

// A replica's numbers do not depend on the number of replicas, their names or their devices.
TEST(Streams, BelongToTheReplicaOfAllAndNotToItsName) {
  const TrainingModel gpu = dropping({.replicas = 4});
  const auto on_gpu = streams(gpu.step, "Dropout");
  const auto on_cpu = streams(dropping({.replicas = 4, .scope = "cpu"}).step, "Dropout");
  EXPECT_EQ(on_gpu.at("gpu_2/drop1"), on_cpu.at("cpu_2/drop1"));
  EXPECT_EQ(on_gpu.at("gpu_1/drop2"),
            streams(dropping({.replicas = 2}).step, "Dropout").at("gpu_1/drop2"));
  const auto of_part = streams(partition(gpu, {1, 2}).step, "Dropout");
  EXPECT_EQ(of_part.size(), 4u);
  for (const auto& [name, stream] : of_part) EXPECT_EQ(stream, on_gpu.at(name)) << name;
  const auto again = streams(partition(gpu, {1, 2}).step, "DropoutGrad");
  EXPECT_EQ(numbers(again), numbers(of_part));
}

// Nodes that draw by example draw the same numbers for an example on any replica and in any part.
TEST(Streams, OfWhatDrawsByExampleAreThoseOfTheFirstShare) {
  std::vector<Op> changed = all_ops().ops();
  for (Op& op : changed) op.draws_by_example = op.type == "Dropout";
  const OpSet ops(std::move(changed));
  const auto forward = [&](DataParallelOptions options) {
    return streams(
        build_data_parallel_model(ops, small_network("dropout").model, MomentumSgd{}, options).step,
        "Dropout");
  };
  const auto many = forward({.replicas = 3, .micro_batches = 2});
  EXPECT_EQ(many.size(), 2u * 3 * 2);
  EXPECT_EQ(numbers(many).size(), 2u);
  EXPECT_EQ(numbers(many), numbers(forward({.replicas = 1})));
  EXPECT_EQ(many.at("gpu_2/drop1"), streams(dropping({}).step, "Dropout").at("gpu_0/drop1"));
}

TEST(Streams, AFilesSeedTakesThePlaceOfTheName) {
  auto with_seed = [](int64_t seed) {
    return build_data_parallel_model(
        all_ops(),
        [seed](Net& net) {
          Value w = net.param("w", {8}, constant(1));
          Value ratio = net.graph.constant("ratio", Literal::scalar(0.5F));
          Value training = net.graph.constant("training", Literal::scalar(true));
          Value y = net.graph.add_value(
              {.type = "Dropout", .inputs = {w, ratio, training}, .attributes = {{"seed", seed}}},
              Site(join("drop", seed % 10)));
          if (net.training()) net.loss("loss", reduce_sum(net.graph, y, {}, false, "loss"));
        },
        MomentumSgd{}, {.replicas = 2});
  };
  EXPECT_EQ(numbers(streams(with_seed(3).step, "Dropout")),
            numbers(streams(with_seed(3).step, "Dropout")));
  EXPECT_NE(numbers(streams(with_seed(3).step, "Dropout")),
            numbers(streams(with_seed(13).step, "Dropout")));
  EXPECT_EQ(numbers(streams(with_seed(3).step, "Dropout")).size(), 2u);
}

// loss = sum of dropout(w), so w * gradient adds up to the loss if both passes drop the same
// elements.
TEST(Streams, GradientsGoWhereValuesWentOnEveryRank) {
  const TrainingModel whole = build_data_parallel_model(
      all_ops(),
      [](Net& net) {
        Value w = net.param("w", {64}, gaussian(1));
        Value y = net.training() ? dropout(net.graph, w, 0.5F, true, "drop") : w;
        Value sum = reduce_sum(net.graph, y, {}, false, "sum");
        net.training() ? net.loss("loss", sum) : net.output("out", sum);
      },
      MomentumSgd{.momentum = 0}, {.replicas = 3, .scope = "cpu", .rules = {.weight_decay = 0}});
  run_ranks(3, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), 3});
    Session session(part, cpu_devices(1), all_kernels(), {5, 1, {}, &comm});
    session.initialise();
    float rate = 1;
    const Tensor feed{{DType::float32, {1}}, &rate};
    const std::string mine = join("cpu_", comm.rank(), "/w");
    const Literal before = states_of(session).read(mine);
    const double loss = *session.step().run({&feed, 1}, session.run_options(0))[0].as<float>();
    double all = 0;
    for (const auto& text : gather_texts(comm, join(loss), "losses")) all += std::stod(text);
    all = std::stod(share_text(comm, join(all), "the loss"));
    const Literal after = states_of(session).read(mine);
    double moved = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double w = before.values<float>()[i];
      moved += w * (w - after.values<float>()[i]);
    }
    EXPECT_NEAR(moved, all, 1e-4 * std::max(1.0, std::abs(all)));
  });
}

}  // namespace
}  // namespace lockstep::testing
