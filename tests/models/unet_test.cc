// SPDX-License-Identifier: Apache-2.0
// The built-in U-Net: its shapes, its initial weights, and the sizes that it refuses.
#include "models/unet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "builders/net/trained_initializers.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr UnetOptions kSmallUnet{.side = 16, .classes = 5, .width = 4, .depth = 2, .seed = 3};

TEST(Unet, ScoresEachPixel) {
  const LoadedModel file = unet(kSmallUnet);
  const Graph& graph = file.model.inference;
  ASSERT_EQ(graph.inputs().size(), 1U);
  EXPECT_EQ(graph.name(graph.inputs()[0]), "image");
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.name(graph.outputs()[0]), "scores");
  const Shape& scores = graph.shape(graph.outputs()[0]);
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_FALSE(scores[0].known());
  EXPECT_EQ(scores[1], Dim(5));
  EXPECT_EQ(scores[2], Dim(16));
  EXPECT_EQ(scores[3], Dim(16));
}

// Everything is trained except the running statistics, which each step updates.
TEST(Unet, TrainsItsWeights) {
  const LoadedModel file = unet(kSmallUnet);
  const InitializerChoices choices = choose_initializers(file, "scores", {});
  // Ten convolutions with norms, two that enlarge and the last one, both with biases.
  EXPECT_EQ(file.initializers.size(), 10U * 5 + 2 * 2 + 2);
  EXPECT_EQ(choices.trained().size(), 10U * 3 + 2 * 2 + 2);
  EXPECT_EQ(choices.fixed_batch_norms, 0);
  for (const InitializerChoice& choice : choices.all) {
    const bool is_statistic = choice.name.ends_with("_rm") || choice.name.ends_with("_riv");
    EXPECT_EQ(choice.role() == InitializerRole::statistic, is_statistic) << choice.name;
  }
}

TEST(Unet, BeginsWithTheWeightsOfItsSeed) {
  const auto weight = [](const LoadedModel& file, const char* name) {
    const auto values =
        file.model.inference.literal(file.model.inference.at(name))->values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  UnetOptions other = kSmallUnet;
  other.seed = 4;
  const char* name = "bottom_conv2_w";
  const std::vector<float> first = weight(unet(kSmallUnet), name);
  EXPECT_EQ(weight(unet(kSmallUnet), name), first);
  EXPECT_NE(weight(unet(other), name), first);
  double squares = 0;
  for (const float value : first) squares += double{value} * value;
  EXPECT_NEAR(squares / static_cast<double>(first.size()), 2.0 / (9 * 16), 0.1 * 2 / (9 * 16));
}

TEST(Unet, RefusesSizesThatCannotBeHalved) {
  UnetOptions odd = kSmallUnet;
  odd.side = 18;
  expect_error([&] { unet(odd); }, "halves its pictures 2 times", "18");
  odd = kSmallUnet;
  odd.classes = 1;
  expect_error([&] { unet(odd); }, "1 classes");
}

}  // namespace
}  // namespace lockstep::testing
