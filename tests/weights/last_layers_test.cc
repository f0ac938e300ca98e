// SPDX-License-Identifier: Apache-2.0
// Last layers of masks and keypoints from weights with another number of classes or keypoints.
#include <gtest/gtest.h>

#include "app/weights/match.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

struct SizedTensor {
  std::string name, in_file;
  Dims theirs, ours;
};

SizedTensor resized(const std::string& name, const Dims& theirs, const Dims& ours) {
  return {name, name, theirs, ours};
}

MatchedWeights matched_tensors(const std::vector<SizedTensor>& tensors) {
  Safetensors file;
  std::vector<WeightSlot> slots;
  for (const SizedTensor& each : tensors) {
    file.tensors.emplace(each.in_file, Literal(DType::float32, each.theirs));
    slots.push_back({each.name, StateKind::weight, {DType::float32, to_shape(each.ours)}});
  }
  return matched_weights(slots, file,
                         {.path = "w.safetensors", .for_detector = true, .must_agree = false});
}

const SizedTensor kSharedStage{
    "_[pose]_res5_0_branch2a_w", "res5_0_branch2a_w", {4, 8, 1, 1}, {4, 8, 1, 1}};

// The number may be the first or the second size of a weight, or both.
TEST(LastLayers, OfMasksAndKeypointsAreRenewedForAnotherNumber) {
  const MatchedWeights result =
      matched_tensors({kSharedStage, resized("mask_fcn_logits_w", {81, 8, 1, 1}, {5, 8, 1, 1}),
                       resized("mask_fcn_logits_up_w", {81, 81, 4, 4}, {5, 5, 4, 4}),
                       resized("mask_fcn_logits_up_b", {81}, {5}),
                       resized("kps_score_lowres_w", {8, 17, 4, 4}, {8, 3, 4, 4}),
                       resized("kps_score_lowres_b", {17}, {3}),
                       resized("kps_score_w", {17, 17, 4, 4}, {3, 3, 4, 4})});
  EXPECT_EQ(result.values.size(), 1U);
  EXPECT_TRUE(result.values.contains(kSharedStage.name));
  EXPECT_TRUE(result.unused.empty());
  for (const WeightLine& line : result.lines)
    EXPECT_EQ(line.fate,
              line.name == kSharedStage.name ? WeightFate::matched : WeightFate::begins_anew)
        << line.name;
  const std::string said = listed(result.summary, "\n");
  EXPECT_NE(said.find("6 renewed, for another number of classes and keypoints: "),
            std::string::npos)
      << said;
}

TEST(LastLayers, OfOtherWidthsAreMisfits) {
  for (const SizedTensor& misfit : {resized("mask_fcn_logits_w", {81, 8, 1, 1}, {81, 9, 1, 1}),
                                    resized("kps_score_lowres_w", {8, 17, 4, 4}, {9, 3, 4, 4}),
                                    resized("kps_score_w", {17, 17, 4, 4}, {17, 17, 8, 8}),
                                    resized("conv_fcn1_w", {8, 8, 3, 3}, {9, 8, 3, 3})})
    expect_error([&] { matched_tensors({kSharedStage, misfit}); }, "shapes differ", misfit.name);
}

}  // namespace
}  // namespace lockstep::testing
