// SPDX-License-Identifier: Apache-2.0
// The arithmetic of nodes, against counts by hand.
#include "graph/flops.h"

#include <gtest/gtest.h>

#include <set>

#include "lockstep/operators.h"
#include "operators/function/function.h"
#include "tests/support/case_run.h"
#include "tests/support/op_case.h"
#include "tests/support/own_operators.h"

namespace lockstep::testing {
namespace {

struct Counted {
  const char* type;
  std::vector<Dims> in;  // float32
  Attributes attributes;
  double products, others;
  const char* domain = "";
  int outputs = 1;
};

Flops counted(const Counted& c) {
  Graph graph(all_ops());
  std::vector<Value> inputs;
  for (const Dims& dims : c.in)
    inputs.push_back(graph.input(join("x", inputs.size()), {DType::float32, to_shape(dims)}));
  const Node node = graph.add({.type = c.type,
                               .domain = c.domain,
                               .inputs = inputs,
                               .attributes = c.attributes,
                               .outputs = c.outputs},
                              Site("node"));
  const auto flops = flops_of(node);
  EXPECT_TRUE(flops) << c.type;
  return flops.value_or(Flops{});
}

using Ints = std::vector<int64_t>;

TEST(Flops, AreCountedByHand) {
  const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
  const Attributes kernel{{"kernel_shape", Ints{3, 3}}};
  for (const Counted& c : {
           // 2 images, 6 results of 4 x 5 each, from 3 channels of 3 x 3.
           Counted{"Conv", {{2, 3, 4, 5}, {6, 3, 3, 3}}, padded, 2. * 240 * 27, 0},
           Counted{"Conv", {{2, 3, 4, 5}, {6, 3, 3, 3}, {6}}, padded, 2. * 240 * 27, 240},
           Counted{"Conv", {{1, 4, 4, 4}, {4, 1, 1, 1}}, {{"group", int64_t{4}}}, 2. * 64, 0},
           // Each of 36 elements with 5 filters of 2 x 2.
           Counted{"ConvTranspose", {{1, 4, 3, 3}, {4, 5, 2, 2}}, {}, 2. * 36 * 20, 0},
           Counted{"Gemm", {{3, 7}, {7, 5}}, {}, 2. * 3 * 5 * 7, 0},
           Counted{"Gemm",
                   {{7, 3}, {5, 7}, {5}},
                   {{"transA", int64_t{1}}, {"transB", int64_t{1}}},
                   2. * 3 * 5 * 7,
                   15},
           Counted{"MatMul", {{4, 3, 7}, {4, 7, 5}}, {}, 2. * 4 * 3 * 5 * 7, 0},
           Counted{"MatMul", {{7}, {7, 5}}, {}, 2. * 5 * 7, 0},
           Counted{"MaxPool", {{1, 2, 5, 5}}, kernel, 0, 9. * 18},
           Counted{"AveragePool", {{1, 2, 5, 5}}, kernel, 0, 9. * 18},
           Counted{"GlobalAveragePool", {{1, 2, 5, 5}}, {}, 0, 50},
           Counted{"MaxPoolGrad", {{1, 2, 3, 3}, {1, 2, 5, 5}}, kernel, 0, 9. * 18, kOwnDomain},
           Counted{"LayerNormalization", {{4, 8}, {8}, {8}}, {}, 0, 7. * 32},
           Counted{"LRN", {{1, 8, 2, 2}}, {{"size", int64_t{5}}}, 0, 14. * 32},
           Counted{"Softmax", {{4, 8}}, {}, 0, 5. * 32},
           Counted{"ReduceMean", {{4, 8}}, {{"axes", Ints{1}}}, 0, 32},
           Counted{"Sum", {{4, 8}, {4, 8}, {4, 8}}, {}, 0, 64},
           Counted{"Add", {{4, 8}, {8}}, {}, 0, 32},
           Counted{"Transpose", {{4, 8}}, {}, 0, 0},
           Counted{"Identity", {{4, 8}}, {}, 0, 0},
           Counted{"Scale", {{4, 8}}, {{"scale", 2.0F}}, 0, 32, kOwnDomain},
           Counted{
               "BatchNormTrain", {{2, 3, 4, 4}, {3}, {3}, {3}, {3}}, {}, 0, 5. * 96, kOwnDomain, 5},
           Counted{"AllReduce", {{8}, {8}, {8}}, {}, 0, 16, kOwnDomain, 3},
           Counted{"MomentumSGDUpdate",
                   {{8}, {8}, {1}, {8}},
                   {{"momentum", 0.9F}},
                   0,
                   32,
                   kOwnDomain,
                   3},
           // Two gates' worth of products for 2 steps of 3 examples: x has 4 numbers, h has 5.
           Counted{"RNN",
                   {{2, 3, 4}, {1, 5, 4}, {1, 5, 5}},
                   {{"hidden_size", int64_t{5}}},
                   2. * 6 * (20 + 25),
                   2. * 6 * 5,
                   "",
                   2},
           Counted{"LSTM",
                   {{2, 3, 4}, {1, 20, 4}, {1, 20, 5}},
                   {{"hidden_size", int64_t{5}}},
                   2. * 6 * (80 + 100),
                   13. * 6 * 5,
                   "",
                   3},
       }) {
    const Flops flops = counted(c);
    EXPECT_EQ(flops.products, c.products) << c.type;
    EXPECT_EQ(flops.others, c.others) << c.type;
  }
}

TEST(Flops, OfAnInterpolationAreItsTaps) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {1, 2, 4, 4}});
  const auto resized = [&](const char* mode, const std::vector<int64_t>& sizes) {
    const Value to = graph.constant("sizes", Literal::vector(sizes));
    return flops_of(graph.add({.type = "Resize",
                               .inputs = {x, none, none, to},
                               .attributes = {{"mode", mode}}},
                              Site("resize")))
        ->others;
  };
  EXPECT_EQ(resized("nearest", {1, 2, 8, 8}), 0);
  EXPECT_EQ(resized("linear", {1, 2, 8, 8}), 2 * 4 * 128);
  EXPECT_EQ(resized("linear", {1, 2, 4, 8}), 2 * 2 * 64);
  EXPECT_EQ(resized("cubic", {1, 2, 8, 8}), 2 * 16 * 128);
}

TEST(Flops, OfOpenShapesAreUnknown) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {"N", 4}});
  const Value w = graph.input("w", {DType::float32, {4, 5}});
  for (const char* type : {"Relu", "MatMul", "Softmax"}) {
    std::vector<Value> inputs{x};
    if (type == std::string("MatMul")) inputs.push_back(w);
    EXPECT_FALSE(flops_of(graph.add({.type = type, .inputs = inputs}, Site(type)))) << type;
  }
  const Node view = graph.add({.type = "Identity", .inputs = {x}}, Site("view"));
  EXPECT_EQ(flops_of(view)->all(), 0);
}

// Each operator of Lockstep's domain: its rule reads its own node's attributes and operands.
TEST(Flops, OfOwnOperatorsAreKnown) {
  for (const OpCase& c : own_operator_cases()) {
    const Built built = build(c);
    for (int i = 0; i < built.graph.node_count(); ++i) {
      const auto flops = flops_of(built.graph.node(i));
      ASSERT_TRUE(flops) << c;
      EXPECT_GE(flops->products, 0) << c;
      EXPECT_GE(flops->others, 0) << c;
    }
  }
}

// A new operator either costs one operation for each element of its result, and is listed here, or
// says what it costs.
TEST(Flops, EveryOperatorHasARuleOrOneOperationPerResult) {
  std::set<std::string> expected{
      "Relu", "Sigmoid", "Tanh", "Add", "Sub", "Mul", "Div", "Pow", "Neg", "Exp", "Log", "Sqrt",
      "Reciprocal", "Abs", "Sign", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual",
      "And", "Or", "Xor", "Not", "IsNaN", "IsInf", "Mod", "BitShift", "PRelu", "Dropout",
      "DropoutGrad", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
      "Bernoulli", "Multinomial", "CumSum", "Hardmax", "Scale", "ProcessAllReduce",
      "GlobalAveragePoolGrad",
      // Their work depends on boxes and scores, and is small beside a detector's convolutions.
      "BoxSuppression", "DetectionResults", "RefinedDetections", "NonMaxSuppression", "NonZero",
      "MaxRoiPool", "PSRoIPool", "AnchorTargets", "ProposalTargets", "MaskTargets",
      "KeypointTargets"};
  for (const FunctionEntry& entry : function_entries()) expected.insert(entry.type);
  for (const Op& op : all_ops().ops())
    EXPECT_EQ(!op.flops && !op.view && !op.copies, expected.count(op.type) > 0) << op.type;
}

}  // namespace
}  // namespace lockstep::testing
