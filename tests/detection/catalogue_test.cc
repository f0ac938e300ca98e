// SPDX-License-Identifier: Apache-2.0
// A Detectron name describes its function, and the catalogue's row must agree.
#include "models/detection/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::testing {
namespace {

bool holds(const std::string& name, const std::string& part) {
  return name.find(part) != name.npos;
}

TEST(Catalogue, RowsOfBodiesAgreeWithTheirNames) {
  EXPECT_EQ(body_functions().size(), 19U);
  for (const BodyFunction& body : body_functions()) {
    SCOPED_TRACE(body.name);
    EXPECT_NE(body.build, nullptr);
    EXPECT_EQ(body.is_residual(), !body.name.starts_with("VGG"));
    EXPECT_EQ(body.top == Top::finest_of_pyramid, holds(body.name, "P2only"));
    EXPECT_EQ(body.top == Top::stage, !body.name.starts_with("FPN."));
    EXPECT_EQ(body.has_stage_5(), body.is_residual() && holds(body.name, "conv5"));
    int64_t blocks = 0;
    for (const int64_t of_stage : body.residual.blocks) blocks += of_stage;
    // Two or three convolutions per block, plus the stem and the classifier.
    if (body.is_residual()) {
      EXPECT_TRUE(holds(body.name, "ResNet" + std::to_string(3 * blocks + 2) + "_") ||
                  holds(body.name, "ResNet" + std::to_string(2 * blocks + 2) + "_"));
    }
  }
}

TEST(Catalogue, RowsOfHeadsAndBlocksAgreeWithTheirNames) {
  for (const BoxHeadFunction& head : box_head_functions()) {
    EXPECT_NE(head.build, nullptr) << head.name;
    EXPECT_EQ(head.resolution > 0, head.name.starts_with("VGG")) << head.name;
    EXPECT_EQ(head.normed, holds(head.name, "_gn_")) << head.name;
    EXPECT_EQ(head.is_stage_5, holds(head.name, "conv5")) << head.name;
  }
  for (const MaskHeadFunction& head : mask_head_functions()) {
    EXPECT_EQ(head.normed, head.name.ends_with("_gn")) << head.name;
    EXPECT_EQ(head.is_stage_5, holds(head.name, "_v0up")) << head.name;
    EXPECT_EQ(head.shares_stage_5, head.name.ends_with("share")) << head.name;
    EXPECT_EQ(head.convs, head.is_stage_5 ? 0 : holds(head.name, "4convs") ? 4 : 2) << head.name;
  }
  EXPECT_EQ(mask_head_functions().size(), 5U);
  for (const KeypointHeadFunction& head : keypoint_head_functions())
    EXPECT_EQ(head.is_stage_5, holds(head.name, "conv5")) << head.name;
  for (const auto* functions :
       {&stem_functions(), &transformation_functions(), &shortcut_functions()})
    for (const BlockFunction& block : *functions) {
      EXPECT_EQ(block.normed, holds(block.name, "_gn_")) << block.name;
      EXPECT_EQ(block.bottleneck, holds(block.name, "bottleneck")) << block.name;
    }
}

template <class Function>
void expect_names_apart(const std::vector<Function>& functions) {
  std::set<std::string> names;
  for (const Function& function : functions) {
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
    if (!function.former.empty()) {
      EXPECT_TRUE(names.insert(function.former).second) << function.former;
    }
    EXPECT_EQ(function_in(functions, function.name), &function);
    EXPECT_EQ(function_in(functions, function.former), nullptr);
  }
}

TEST(Catalogue, NamesEachFunctionOnce) {
  expect_names_apart(body_functions());
  expect_names_apart(box_head_functions());
  expect_names_apart(mask_head_functions());
  expect_names_apart(keypoint_head_functions());
  expect_names_apart(stem_functions());
  expect_names_apart(transformation_functions());
  expect_names_apart(shortcut_functions());
}

}  // namespace
}  // namespace lockstep::testing
