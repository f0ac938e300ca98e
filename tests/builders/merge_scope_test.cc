// SPDX-License-Identifier: Apache-2.0
// Nodes that sum consecutive gradients under one scope of names.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "graph/print.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TrainingModel merged(int scope, int replicas, AllReduceOptions options = {},
                     DType precision = DType::float32) {
  options.merge_scope = scope;
  return small_mlp(replicas, MomentumSgd{}, {.precision = precision, .all_reduce = options});
}

std::string without_scopes(const std::string& names) {
  static const std::regex scope("allreduce_[0-9]+/");
  return std::regex_replace(names, scope, "");
}

TEST(MergeScope, OneIsNone) {
  EXPECT_EQ(text_of(merged(1, 4)), text_of(small_mlp(4)));
  EXPECT_EQ(names_of(merged(1, 4)), names_of(small_mlp(4)));
  EXPECT_EQ(text_of(merged(3, 1)), text_of(small_mlp(1))) << "one replica sums nothing";
}

// pred_b, pred_w, fc2_b, fc2_w, fc1_b, fc1_w: the order of the backward pass.
TEST(MergeScope, HoldsSoManyConsecutiveSums) {
  const TrainingModel model = merged(4, 2);
  std::map<std::string, std::vector<std::string>> held;
  for (int i = 0; i < model.step.node_count(); ++i)
    if (const Node node = model.step.node(i); node.type() == "AllReduce")
      held[node.name().substr(0, node.name().find('/'))].push_back(
          node.name().substr(node.name().find('/') + 1));
  const std::string sum = "_grad_all_reduce";
  const std::map<std::string, std::vector<std::string>> expected{
      {"allreduce_0", {"pred_w" + sum, "pred_b" + sum, "fc2_w" + sum, "fc2_b" + sum}},
      {"allreduce_1", {"fc1_w" + sum, "fc1_b" + sum}}};
  EXPECT_EQ(held, expected);
  EXPECT_TRUE(model.step.find("cpu_1/allreduce_0/fc2_w_grad_sum")) << "within the replica's scope";
}

TEST(MergeScope, ChangesNoBit) {
  for (const char* spec : {"collective", "mean:xring", "simple:100:rechd"})
    for (const char* packing : {"none", "ready:100:1000", "tf_cnn:64:2"})
      for (int replicas : {2, 4})
        for (DType precision : {DType::float32, DType::bfloat16}) {
          SCOPED_TRACE(join(spec, " ", packing, " ", replicas, " ", precision));
          AllReduceOptions options;
          options.spec = parse_all_reduce(spec);
          options.packing = parse_packing(packing);
          options.pieces = replicas / 2;
          const TrainingModel plain = merged(1, replicas, options, precision);
          const TrainingModel scoped = merged(2, replicas, options, precision);
          verify(scoped);
          EXPECT_NE(names_of(scoped), names_of(plain));
          EXPECT_EQ(without_scopes(names_of(scoped)), names_of(plain)) << "up to scopes";
          EXPECT_EQ(scoped.bucket_plan, plain.bucket_plan);
          EXPECT_TRUE(train(scoped, 8, 3, kSmall) == train(plain, 8, 3, kSmall));
        }
}

TEST(MergeScope, TrainsOverProcesses) {
  const StateValues expected = train(merged(1, 2), 8, 3, kSmall);
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel part = partition(merged(3, 2), {comm.rank(), comm.size()});
    Session session(part, cpu_devices(1), all_kernels(), {.seed = 5, .threads = 1, .comm = &comm});
    session.initialise();
    StepFeeds feeds(part, 8, 5, kSmall, 2);
    for (int64_t step = 0; step < 3; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    for (const auto& [name, value] : session.save()) EXPECT_EQ(value, expected.at(name)) << name;
  });
}

TEST(MergeScope, BelowOneIsRefused) {
  for (int scope : {0, -3})
    expect_error([&] { merged(scope, 2); }, "under one scope should be at least 1",
                 join("is ", scope));
}

}  // namespace
}  // namespace lockstep::testing
