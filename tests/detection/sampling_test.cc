// SPDX-License-Identifier: Apache-2.0
// The samples for an image do not depend on its replica.
#include <gtest/gtest.h>

#include "builders/detection/anchors.h"
#include "lockstep/data_parallel.h"
#include "lockstep/feeds.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/random.h"
#include "lockstep/session.h"
#include "operators/targets/targets.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kImages = 4, kObjects = 3, kProposals = 60, kCells = 12;

void sampling_model(Net& net) {
  Value w = net.param("w", {4}, constant(1));
  if (!net.training()) return net.output("out", w);
  const TrueBoxes truth{net.input("gt_boxes", {DType::float32, {"N", kObjects, 4}}),
                        net.input("gt_classes", {DType::int64, {"N", kObjects}}),
                        net.input("gt_crowd", {DType::int64, {"N", kObjects}})};
  const Value info = net.input("im_info", {DType::float32, {"N", 3}});
  const Value numbers = net.input("image_number", {DType::int64, {"N"}});
  AnchorTargetsAttrs anchors;
  anchors.levels = {{base_anchors(8, {24}, {0.5, 1, 2}), 8, kCells, kCells},
                    {base_anchors(16, {48}, {0.5, 1, 2}), 16, kCells / 2, kCells / 2}};
  anchors.positive_overlap = 0.4F;
  anchors.sample = 12;
  anchors.foreground = 3;
  const auto sampled =
      sampled_anchor_targets(net.graph, truth, info, numbers, anchors, "rpn_targets");
  ProposalTargetsAttrs proposals;
  proposals.sample = 10;
  proposals.foreground = 3;
  proposals.foreground_overlap = proposals.background_high = 0.2F;
  const auto rois = proposal_targets(
      net.graph, net.input("proposals", {DType::float32, {"N", kProposals, 4}}),
      net.input("sources", {DType::int64, {"N", kProposals}}), truth, numbers, proposals, "rois");
  Value loss = reduce_sum(net.graph, w, {}, false, "sum_of_w");
  for (Value each : {sampled[0].targets, sampled[1].targets, rois.rois, rois.targets})
    net.metric(net.graph.name(each) + "_sum", reduce_sum(net.graph, each, {}, false));
  net.loss("loss", loss);
}

struct SamplingFeeds {
  std::vector<float> boxes, info, proposals;
  std::vector<int64_t> classes, crowd, numbers, sources;

  SamplingFeeds() {
    PhiloxSequence random(11, 2);
    const auto box = [&](std::vector<float>& list) {
      const double x = random.uniform(0, 60), y = random.uniform(0, 60);
      for (const double corner : {x, y, x + random.uniform(8, 36), y + random.uniform(8, 36)})
        list.push_back(static_cast<float>(corner));
    };
    for (int64_t image = 0; image < kImages; ++image) {
      numbers.push_back(40 + 7 * image);
      info.insert(info.end(), {96, 96, 1});
      for (int64_t i = 0; i < kObjects; ++i) {
        box(boxes);
        classes.push_back(i + 1);
        crowd.push_back(0);
      }
      for (int64_t i = 0; i < kProposals; ++i) {
        box(proposals);
        sources.push_back(3 * i);
      }
    }
  }

  void set(Feeds& feeds) {
    feeds.set("gt_boxes", {{DType::float32, {kImages, kObjects, 4}}, boxes.data()});
    feeds.set("gt_classes", {{DType::int64, {kImages, kObjects}}, classes.data()});
    feeds.set("gt_crowd", {{DType::int64, {kImages, kObjects}}, crowd.data()});
    feeds.set("im_info", {{DType::float32, {kImages, 3}}, info.data()});
    feeds.set("image_number", {{DType::int64, {kImages}}, numbers.data()});
    feeds.set("proposals", {{DType::float32, {kImages, kProposals, 4}}, proposals.data()});
    feeds.set("sources", {{DType::int64, {kImages, kProposals}}, sources.data()});
    feeds.set(Role::rate, 0);
  }
};

// The bytes of every result for all images in order, in a step with this number of replicas and
// parts.
std::vector<std::vector<std::byte>> sampled_by(DataParallelOptions options, uint64_t step) {
  options.scope = "cpu";
  const TrainingModel model =
      build_data_parallel_model(all_ops(), sampling_model, MomentumSgd{}, options);
  Session session(model, cpu_devices(options.replicas), all_kernels(), {.seed = 5, .threads = 1});
  session.initialise();
  std::vector<std::string> feeds, fetches;
  for (const StepInput& input : model.inputs)
    feeds.insert(feeds.end(), input.values.begin(), input.values.end());
  const std::vector<std::string> results{
      "rpn_targets",   "rpn_targets_1", "rpn_targets_2", "rpn_targets_3", "rpn_targets_4",
      "rpn_targets_5", "rois",          "rois_1",        "rois_2",        "rois_3"};
  for (const std::string& result : results)
    for (int k = 0; k < options.replicas; ++k)
      for (int part = 0; part < options.micro_batches; ++part)
        fetches.push_back(join("cpu_", k, "/", name_in_part(part, result)));
  SamplingFeeds values;
  Feeds shared(model);
  values.set(shared);
  const auto program = session.program(model.step, feeds, fetches, {});
  const auto tensors = program->run(shared.tensors(), session.run_options(step));
  const std::size_t shares = fetches.size() / results.size();
  std::vector<std::vector<std::byte>> found(results.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* bytes = tensors[i].as<std::byte>();
    found[i / shares].insert(found[i / shares].end(), bytes, bytes + tensors[i].desc.bytes());
  }
  return found;
}

TEST(Sampling, IsAlikeForAnyNumberOfReplicasAndParts) {
  const auto one = sampled_by({.replicas = 1}, 3);
  EXPECT_TRUE(one == sampled_by({.replicas = 2}, 3));
  EXPECT_TRUE(one == sampled_by({.replicas = 4}, 3));
  EXPECT_TRUE(one == sampled_by({.replicas = 2, .micro_batches = 2}, 3));
}

TEST(Sampling, ChangesFromStepToStep) {
  const auto one = sampled_by({.replicas = 1}, 3), next = sampled_by({.replicas = 1}, 4);
  EXPECT_TRUE(one == sampled_by({.replicas = 1}, 3));
  EXPECT_FALSE(one[0] == next[0]);  // anchors
  EXPECT_FALSE(one[6] == next[6]);  // RoIs
}

}  // namespace
}  // namespace lockstep::testing
