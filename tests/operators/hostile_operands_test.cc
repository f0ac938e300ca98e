// SPDX-License-Identifier: Apache-2.0
// Contents of a step's file that the builders never write: Lockstep's operators with operands that
// do not fit together. Kernels rely on one operand; shape inference refuses the others with an
// error that names the defect.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "tests/operators/hostile.h"

namespace lockstep::testing {
namespace {

using namespace hostile;

class HostileOperands : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileOperands, AreRefusedByName) { expect_refused_by_name(GetParam()); }

// ONNX's operators for which ONNX infers shapes alone, although their kernels would read out of
// bounds or read a byte as a bool.
TEST(HostileTypes, AreRefusedByName) {
  const auto refused = [](const std::string& type, std::vector<CaseInput> inputs,
                          const std::string& why) {
    const OpCase c{.name = "bad", .type = type, .inputs = std::move(inputs)};
    expect_error([&] { run(c); }, "node (" + type, why);
  };
  const CaseInput x = random({2, 2});
  refused("Where", {given(Literal(DType::int64, {2, 2})), x, x},
          "its input 0, is int64[2,2], should be of bool");
  refused("Trilu", {x, given(Literal(DType::int8, {}))},
          "its input 1, is int8[], should be of int64");
  refused("Dropout", {x, given(Literal::scalar(0.5F)), given(Literal::scalar(int64_t{128}))},
          "its input 2, is int64[], should be of bool");
  for (const char* type : {"GlobalAveragePool", "GlobalMaxPool"})
    refused(type, {x}, "its input 0, is float32[2,2], should have at least 3 dimensions");
}

// A kernel gets sizes only when a plan is made, so a mismatch may appear only then.
TEST(HostileSizes, AreRefusedWhereAPlanFindsThem) {
  OpCase c = own_operator_case("ReluGrad");
  c.inputs[1] = random({4, 3});
  Built built;
  built.graph.input("dy", {DType::float32, {"N", 3}});
  built.graph.input("y", {DType::float32, {"M", 3}});
  const Value dx = built.graph.add_value({.type = "ReluGrad",
                                          .domain = kOwnDomain,
                                          .inputs = {built.graph.at("dy"), built.graph.at("y")}},
                                         "node");
  expect_error(
      [&] {
        CaseRunner(built.graph, c, {"dy", "y"}, {built.graph.name(dx)}, guarded())
            .run(fed_values(c));
      },
      "node (ReluGrad", "its input 1, y, is float32[4,3], its input 0, dy, float32[2,3]");
}

const std::vector<Hostile> kElements{
    {"ReluGrad", operand(1, random({3})),
     "its input 1, y, is float32[3], its input 0, dy, float32[2,3]"},
    {"SigmoidGrad", operand(1, random({2})), "its input 1, y, is float32[2]"},
    {"TanhGrad", operand(1, random({3, 2})), "its input 1, y, is float32[3,2]"},
    {"ClipGrad", operand(1, random({3, 2})), "its input 1, x, is float32[3,2]"},
    {"ClipGrad", operand(2, random({2})), "its input 2, low, is float32[2], should be one element"},
    {"ClipGrad", operand(3, empty(DType::int8, {})), "its input 3, high, is int8"},
    {"FunctionGrad", operand(1, random({5})), "its input 1, x, is float32[5]"},
    {"FunctionGrad", attribute("function", "Floor"), "no function 'Floor' has a gradient"},
    {"DropoutGrad", operand(1, random({0})),
     "its input 1, ratio, is float32[0], should be one element"},
    {"DropoutGrad", operand(1, empty(DType::int64, {})), "its input 1, ratio, is int64"},
    {"DropoutGrad", operand(2, labels({128}, {})), "its input 2, training_mode, is int64"},
    {"WeightedSum", operand(3, empty(DType::int8, {1})), "its input 3, terms, is int8"},
    {"WeightedSum", operand(2, random({3, 3})), "term 1 is float32[3,3]"},
    {"Casts", operand(1, labels({1}, {1})), "its input 1, x, is int64"},
    {"Casts", attribute("to", int64_t{1}), "casts to float16 or bfloat16, not to float32"},
    {"Casts", outputs(1), "has 2 inputs and 1 outputs"},
    {"ChannelSums", operand(0, random({3})), "its input 0, x, is float32[3]"},
    {"ChannelSums", operand(0, empty(DType::int64, {2, 3})),
     "its input 0, x, is int64[2,3], should be of float32, float16 or bfloat16"},
    {"ChannelSums", attribute("axis", int64_t{4}), "axis is 4, should be in [0, 4)"},
    {"ChannelSums", attribute("axis", int64_t{-1}), "axis is -1, should be in [0, 4)"},
    {"ByteTable", operand(0, random({2, 2})), "its input 0, x, is float32[2,2]"},
    {"ByteTable", operand(0, empty(DType::uint8, {3})), "its input 0, x, is uint8[3]"},
    {"ByteTable", operand(1, random({3, 256})), "its input 1, table, is float32[3,256]"},
    {"ByteTable", operand(1, random({1, 255})), "its input 1, table, is float32[1,255]"},
    {"ByteTable", operand(1, empty(DType::int64, {1, 256})), "its input 1, table, is int64"},
    {"FirstNonFinite", operand(1, empty(DType::int8, {4})), "its input 1, x, is int8"},
    {"SoftmaxGrad", operand(1, random({2})), "its input 1, y, is float32[2]"},
    {"SoftmaxGrad", attribute("axis", int64_t{2}), "axis 2 does not exist in 2 dimensions"},
    {"LogSoftmaxGrad", operand(1, random({1, 3})), "its input 1, y, is float32[1,3]"}};

const std::vector<Hostile> kLosses{
    {"SoftmaxCrossEntropyLossGrad", operand(0, random({0})),
     "its input 0, dloss, is float32[0], should be one element"},
    {"SoftmaxCrossEntropyLossGrad", operand(1, random({6})),
     "its input 1, log_prob, is float32[6]"},
    {"SoftmaxCrossEntropyLossGrad", operand(2, labels({0}, {1})),
     "its input 2, labels, is int64[1], should be [2]"},
    {"SoftmaxCrossEntropyLossGrad", operand(2, random({2})), "its input 2, labels, is float32[2]"},
    {"SoftmaxCrossEntropyLossGrad", operand(3, positive({2})),
     "its input 3, weights, is float32[2], should be [3]"},
    {"SoftmaxCrossEntropyLossGrad of each", operand(0, random({1})),
     "its input 0, dloss, is float32[1], should be [2]"},
    {"SigmoidFocalLoss", operand(0, random({1, 5, 1, 3})),
     "its input 0, logits, is float32[1,5,1,3], should have 2 planes for each anchor"},
    {"SigmoidFocalLoss", operand(0, random({12})), "float32[12], should have 4 dimensions"},
    {"SigmoidFocalLoss", operand(1, labels({0, 1, 2}, {1, 1, 1, 3})),
     "its input 1, labels, is int64[1,1,1,3], should be [1,2,1,3]"},
    {"SigmoidFocalLoss", operand(1, random({1, 2, 1, 3})), "its input 1, labels, is float32"},
    {"SigmoidFocalLoss", operand(2, random({0})),
     "its input 2, objects, is float32[0], should be one element"},
    {"SigmoidFocalLoss", attribute("classes", int64_t{0}), "classes is 0"},
    {"SigmoidFocalLoss", attribute("alpha", 2.0F), "alpha is 2, should be in 0..1"},
    {"SigmoidFocalLoss", attribute("gamma", -1.0F), "gamma is -1"},
    {"SigmoidFocalLossGrad", operand(0, random({2})), "its input 0, dloss, is float32[2]"},
    {"SigmoidFocalLossGrad", operand(1, random({2, 4, 1, 3})), "should be [2,2,1,3]"},
    {"SoftmaxFocalLoss", operand(0, random({1, 4, 1, 3})), "should have 3 planes for each anchor"},
    {"SoftmaxFocalLossGrad", operand(1, random({1, 4, 1, 3})),
     "should have 3 planes for each anchor"},
    {"SoftmaxFocalLossGrad", operand(3, random({2})), "its input 3, objects, is float32[2]"},
    {"NegativeLogLikelihoodLossGrad", operand(0, random({0})), "its input 0, dloss, is float32[0]"},
    {"NegativeLogLikelihoodLossGrad", operand(1, fixed({6})),
     "the scores are [6], should have at least 2"},
    {"NegativeLogLikelihoodLossGrad", operand(2, labels({0}, {1})),
     "its input 2, labels, is int64[1], should be [2]"},
    {"NegativeLogLikelihoodLossGrad", operand(3, positive({1})),
     "its input 3, weights, is float32[1], should be [3]"}};

const std::vector<Hostile> kPlaces{
    {"GatherGrad", operand(0, random({2})), "its input 0, dy, is float32[2], should be [2,3]"},
    {"GatherGrad", operand(1, random({2})), "its input 1, shape, is float32[2]"},
    {"GatherGrad", operand(2, labels({0, 1, 2}, {3})),
     "its input 0, dy, is float32[2,3], should be [3,3]"},
    {"GatherGrad", attribute("axis", int64_t{-3}), "axis -3 does not exist"},
    {"GatherElementsGrad", operand(0, random({2, 2})),
     "gradients are float32[2,2], should be [2,3]"},
    {"GatherNDGrad", operand(0, random({2, 2})), "gradients are float32[2,2], should be [2,3]"},
    {"SliceGrad", operand(0, random({3, 3})), "its input 0, dy, is float32[3,3], should be [2,3]"},
    {"SliceGrad", operand(0, random({6})), "its input 0, dy, is float32[6], should be [2,3]"},
    {"SliceGrad", operand(2, fixed({3})), "its input 0, dy, is float32[2,3], should be [0,3]"},
    {"SliceGrad", operand(3, fixed({3, 3})), "1 starts, 2 ends"},
    {"SliceGrad", operand(4, fixed({0, 1})), "1 starts, 1 ends, 2 axes"},
    {"SliceGrad", operand(5, fixed({})), "1 axes and 0 steps"},
    {"SliceGrad", operand(5, fixed({0})), "a step is 0"},
    {"SliceGrad", operand(5, fixed({INT64_MIN})),
     "its input 0, dy, is float32[2,3], should be [0,3]"},
    {"PadGrad", operand(0, random({4, 4})), "its input 0, dy, is float32[4,4], should be [4,5]"},
    {"PadGrad", operand(1, fixed({0, 3})), "dimension 0 has size 0: there is nothing to copy"},
    {"PadGrad", operand(2, fixed({1, 1})), "has 2 pads for 2 dimensions"},
    {"PadGrad", operand(2, fixed({-2, 2, -1, 0})),
     "pads dimension 0 of size 2 by -2 and -1: nothing is left"},
    {"PadGrad", operand(2, fixed({-(int64_t{1} << 50), 2, 1, 0})),
     "pads dimension 0 by -1125899906842624"},
    {"PadGrad", attribute("mode", "mirror"), "mode is 'mirror', should be constant"},
    {"GridSample", operand(0, random({2, 4})), "the data has 2 dimensions, should have 3 to 5"},
    {"GridSample", operand(1, random({1, 3, 2})),
     "its input 1, grid, is float32[1,3,2], should be [1,3,1]"},
    {"GridSample", operand(1, random({2, 3, 1})), "should be [1,3,1]"},
    {"GridSample", attribute("mode", "area"), "mode is 'area', should be nearest"},
    {"GridSample", attribute("padding_mode", "wrap"), "padding_mode is 'wrap', should be zeros"},
    {"GridSampleGradX", operand(0, random({1, 2, 3, 3})),
     "its input 0, dy, is float32[1,2,3,3], should be [1,2,2,3]"},
    {"GridSampleGradX", operand(2, random({1, 2, 3, 3})), "should be [1,2,3,2]"},
    {"GridSampleGradGrid", operand(0, random({1, 1, 2, 3})), "should be [1,2,2,3]"},
    {"GridSampleGradGrid", operand(1, random({1, 2, 4})), "should have 3 dimensions"},
    {"ResizeGrad", operand(0, random({1, 4, 4})),
     "its input 0, dy, is float32[1,4,4], should have 4 dimensions"},
    {"ResizeGrad", operand(1, fixed({1, 1, 2, 0})), "dimension 3 has size 0, cannot become 4"},
    {"ResizeGrad",
     [](OpCase& c) {
       c.inputs[3].value = Literal::of<float>(std::vector<float>{1, 1}, {2});
     },
     "2 scales for 4 dimensions"},
    {"ResizeGrad",
     [](OpCase& c) {
       c.inputs[3].value = Literal::of<float>(std::vector<float>{1, 1, 0, 2}, {4});
     },
     "scale 0"}};

const std::vector<Hostile> kResident{
    {"ResidentSlice", operand(0, random({})),
     "its input 0, held, is float32[], should have at least 1 dimensions"},
    {"ResidentSlice", operand(1, labels({0, 1}, {2})),
     "its input 1, index, is int64[2], should be one element"},
    {"ResidentSlice", operand(1, empty(DType::int32, {})),
     "its input 1, index, is int32[], should be of int64"},
    {"ResidentSlice", operand(2, random({2})),
     "its input 2, minibatch, is float32[2], should have 2 dimensions"},
    {"ResidentSlice", operand(2, random({2, 1})),
     "its input 2, minibatch, is float32[2,1], should be [2,0]"},
    {"ResidentSlice", operand(2, empty(DType::float32, {5, 0})),
     "its input 2, minibatch, is float32[5,0], more rows than the 4 of its input 0, held"},
    {"ResidentSlice", operand(1, labels({-1}, {})),
     "a minibatch of 2 rows at row -1 is not within the 4 rows of the batch"},
    {"ResidentSlice", operand(1, labels({3}, {})),
     "a minibatch of 2 rows at row 3 is not within the 4 rows of the batch"},
    {"ResidentSlice", operand(1, labels({INT64_MAX}, {})),
     "at row 9223372036854775807 is not within the 4 rows"}};

const std::vector<Hostile> kWindows{
    {"ConvGradX", operand(0, random({})),
     "its input 0, dy, is float32[], should have at least 3 dimensions"},
    {"FusedConvGradX", operand(2, random({1, 1, 3, 4})), "z is"},
    {"ConvGradX", operand(0, random({1, 2, 2, 3})),
     "its input 0, dy, is float32[1,2,2,3], should be [1,2,3,3]"},
    {"ConvGradX", operand(1, random({3, 1, 2, 2})),
     "its input 0, dy, is float32[1,2,3,3], should be [1,3,3,3]"},
    {"ConvGradX", attribute("group", int64_t{0}), "group is 0"},
    {"ConvGradX", attribute("x_shape", sizes({4})), "x_shape [4]"},
    {"ConvGradX", attribute("x_shape", sizes({-4, 4})), "x_shape [-4,4]"},
    {"ConvGradX", attribute("x_shape", sizes({1, 1})), "does not fit into 1"},
    {"ConvGradX", attribute("strides", sizes({2, 2})), "should be [1,2,2,2]"},
    {"ConvGradW", operand(0, random({})),
     "its input 0, x, is float32[], should have at least 3 dimensions"},
    {"ConvGradW", operand(1, random({2, 2, 3, 3})),
     "its input 1, dy, is float32[2,2,3,3], should be [1,2,3,3]"},
    {"ConvGradW", attribute("group", int64_t{2}), "1 channels do not divide into 2 groups"},
    {"ConvGradW", attribute("kernel_shape", sizes({3, 3})), "should be [1,2,2,2]"},
    {"ConvGradW", attribute("kernel_shape", sizes({2})), "kernel_shape [2] has the wrong length"},
    {"FusedConv", operand(2, random({1})), "bias is [1], should be [2]"},
    {"FusedConv", operand(3, random({1, 2, 3, 4})),
     "its input 3, z, is float32[1,2,3,4], should be [1,2,3,3]"},
    {"FusedConv", operand(3, random({2})), "its input 3, z, is float32[2], should be [1,2,3,3]"},
    {"FusedConv", operand(3, empty(DType::float16, {1, 2, 3, 3})), "z"},
    {"FusedConv", outputs(2), "sums and squares"},
    {"MaxPoolGrad", operand(0, random({1, 1, 4, 4})),
     "its input 0, dy, is float32[1,1,4,4], should be [1,1,2,2]"},
    {"MaxPoolGrad", operand(1, random({4})),
     "its input 1, x, is float32[4], should have at least 3 dimensions"},
    {"MaxPoolGrad", attribute("kernel_shape", sizes({2})), "kernel_shape has 1 entries"},
    {"MaxPoolPlaces", operand(0, random({4})),
     "its input 0, x, is float32[4], should have at least 3 dimensions"},
    {"MaxPoolPlaces",
     [](OpCase& c) {
       c.inputs[0] = random({1, 1, 16, 16});
       c.attributes[0].second = sizes({16, 16});
     },
     "a window has 256 places, more than a byte can tell apart"},
    {"MaxPoolPlacesGrad", operand(0, random({1, 1, 4, 4})),
     "its input 0, dy, is float32[1,1,4,4], should be [1,1,2,2]"},
    {"MaxPoolPlacesGrad", operand(1, empty(DType::uint8, {1, 1, 2, 1})),
     "its input 1, places, is uint8[1,1,2,1], should be [1,1,2,2]"},
    {"MaxPoolPlacesGrad", operand(1, random({1, 1, 2, 2})),
     "its input 1, places, is float32[1,1,2,2], should be of uint8"},
    {"MaxPoolPlacesGrad", attribute("x_shape", sizes({8, 8})), "should be [1,1,4,4]"},
    {"AveragePoolGrad", operand(0, random({})),
     "its input 0, dy, is float32[], should have at least 3 dimensions"},
    {"AveragePoolGrad", operand(0, random({1, 1, 3, 2})),
     "its input 0, dy, is float32[1,1,3,2], should be [1,1,2,2]"},
    {"AveragePoolGrad", attribute("x_shape", sizes({8, 8})), "should be [1,1,4,4]"},
    {"GlobalAveragePoolGrad", operand(0, random({1, 2, 2, 1})),
     "its input 0, dy, is float32[1,2,2,1], should be [1,2,1,1]"},
    {"GlobalAveragePoolGrad", operand(0, random({2})),
     "its input 0, dy, is float32[2], should have at least 3 dimensions"},
    {"GlobalAveragePoolGrad", attribute("x_shape", sizes({0, 3})), "x_shape [0,3]"}};

const std::vector<Hostile> kNorms{
    {"BatchNormTrain", operand(1, positive({2})),
     "its input 1, scale, is float32[2], should be [3]"},
    {"BatchNormTrain", operand(3, empty(DType::int8, {3})),
     "its input 4, variance, is float32[3], should be of int8"},
    {"BatchNormTrain",
     [](OpCase& c) {
       for (std::size_t i : {1, 2, 3, 4}) c.inputs[i] = empty(DType::int8, {3});
     },
     "takes float32, not int8 as operand 1"},
    {"BatchNormTrain in a plan", operand(5, random({2, 3, 2, 1})),
     "its input 5, z, is float32[2,3,2,1]"},
    {"BatchNormTrain in a plan", operand(6, random({2})),
     "its input 6, sums, is float32[2], should be [3]"},
    {"BatchNormTrain in a plan", operand(7, random({2})),
     "its input 7, squares, is float32[2], should be [3]"},
    {"BatchNormGrad", operand(0, random({2, 3})),
     "its input 1, x, is float32[2,3,2,2], its input 0, dy, float32[2,3]"},
    {"BatchNormGrad", operand(4, positive({1})),
     "its input 4, variance, is float32[1], should be [3]"},
    {"BatchNormGrad", attribute("relu", int64_t{1}), "relu"},
    {"BatchNormGrad", outputs(4), "dz"},
    {"BatchNormGrad in a plan", operand(5, random({2})),
     "its input 5, bias, is float32[2], should be [3]"},
    {"BatchNormGrad in a plan", operand(6, random({3})), "its input 6, y, is float32[3]"},
    {"BatchNormGrad in a plan", operand(6, left_out()), "y"},
    {"BatchNormGrad in a plan", operand(5, left_out()), "needs bias, its input 5"},
    {"BatchNormTrain", attribute("low", 0.0F), "needs both low and high"},
    {"BatchNormTrain with a Clip", attribute("relu", int64_t{1}), "either relu 1 or low and high"},
    {"BatchNormTrain with a Clip",
     [](OpCase& c) {
       c.inputs.push_back(random({2, 3, 2, 2}));
     },
     "takes no z"},
    {"BatchNormGrad with a Clip", operand(5, left_out()), "needs bias, its input 5"},
    {"InstanceNormGrad", operand(0, random({2, 3})),
     "its input 1, x, is float32[2,3,2,2], its input 0, dy, float32[2,3]"},
    {"InstanceNormGrad", operand(2, positive({2})), "scale is float32[2], should have 3 elements"},
    {"InstanceNormGrad", [](OpCase& c) { c.inputs[0] = c.inputs[1] = random({3}); },
     "normalises planes of [N, C, ..], not float32[3]"},
    {"LayerNormGrad", operand(0, random({2})),
     "its input 1, x, is float32[2,4], its input 0, dy, float32[2]"},
    {"LayerNormGrad", operand(2, positive({3})), "scale is float32[3], should have 4 elements"},
    {"LrnGrad", operand(1, random({2, 3})), "its input 1, x, is float32[2,3]"},
    {"LrnGrad", [](OpCase& c) { c.inputs[0] = c.inputs[1] = random({3}); },
     "normalises channels of [N, C, ..], not float32[3]"},
    {"LrnGrad", attribute("size", int64_t{INT64_MIN}), "size is -9223372036854775808"}};

const std::vector<Hostile> kRecurrences{
    {"RNNTrain", operand(0, random({3, 6})),
     "its input 0, x, is float32[3,6], should have 3 dimensions"},
    {"RNNTrain", operand(1, random({2, 2, 3})),
     "its input 1, w, is float32[2,2,3], should be [1,2,3]"},
    {"RNNTrain",
     [](OpCase& c) {
       c.inputs[2] = random({1, 2, 0});
     },
     "its hidden size is 0"},
    {"GRUTrain", operand(1, random({1, 8, 3})),
     "its input 1, w, is float32[1,8,3], should be [1,6,3]"},
    {"GRUTrain", operand(3, random({1, 6})), "its input 3, b, is float32[1,6], should be [1,12]"},
    {"GRUTrain", operand(3, empty(DType::int8, {1, 12})),
     "its input 3, b, is int8 and its input 0 float32"},
    {"LSTMTrain", operand(4, labels({3, 1}, {2})),
     "its input 4, lengths, is int64[2], should be of int32"},
    {"LSTMTrain", operand(4, given(Literal::of<int32_t>(std::vector<int32_t>{3, 4}, {2}))),
     "the sequence of example 1 has length 4, should be in 0..3"},
    {"LSTMTrain", operand(4, given(Literal::of<int32_t>(std::vector<int32_t>{-1, 3}, {2}))),
     "the sequence of example 0 has length -1, should be in 0..3"},
    {"LSTMTrain", operand(5, random({1, 2, 3})),
     "its input 5, h, is float32[1,2,3], should be [1,2,2]"},
    {"LSTMTrain", operand(6, random({2, 2})), "its input 6, c, is float32[2,2], should be [1,2,2]"},
    {"LSTMTrain", operand(7, random({1, 8})),
     "its input 7, peepholes, is float32[1,8], should be [1,6]"},
    {"LSTMTrain", attribute("hidden_size", int64_t{3}), "should be [1,12,3]"},
    {"LSTMTrain", attribute("activations", "Sigmoid,Tanh"), "it has 2 activations, should have 3"},
    {"LSTMTrain", attribute("activations", "Sigmoid,Tanh,Gelu"), "activation 'Gelu'"},
    {"RNNGrad", operand(6, random({3, 2, 2})),
     "its input 6, y, is float32[3,2,2], should be [3,1,2,2]"},
    {"RNNGrad", operand(7, random({1, 3, 2, 6})), "its input 7, sums, is float32[1,3,2,6]"},
    {"GRUGrad", operand(8, random({1, 2, 3, 2})), "its input 8, kept, is float32[1,2,3,2]"},
    {"GRUGrad", operand(9, random({3, 1, 2, 6})), "its input 9, dy, is float32[3,1,2,6]"},
    {"GRUGrad", operand(4, given(Literal::of<int32_t>(std::vector<int32_t>{9, 1}, {2}))),
     "the sequence of example 0 has length 9"},
    {"LSTMGrad", operand(12, random({1, 2, 1})), "its input 12, dlast_h, is float32[1,2,1]"},
    {"LSTMGrad", operand(13, random({2, 2})), "its input 13, dlast_c, is float32[2,2]"},
    {"LSTMGrad", operand(9, empty(DType::int8, {1, 3, 2, 8})),
     "its input 9, sums, is int8 and its input 0 float32"}};

const std::vector<Hostile> kUpdates{
    {"MomentumSGDUpdate", operand(1, random({3})), "slot 0 is float32[3]"},
    {"MomentumSGDUpdate", operand(3, random({3})), "parameter float32[3]"},
    {"MomentumSGDUpdate", operand(5, empty(DType::int32, {1})), "operand `unless` is int32[1]"},
    {"MomentumSGDUpdates", operand(0, random({3})), "operand 0 is float32[3]"},
    {"MomentumSGDUpdates", operand(3, random({2})), "the rate is float32[2]"},
    {"MomentumSGDUpdates", attribute("factors", std::vector<float>{1, 1}),
     "factors should be 1 numbers"},
    {"MomentumSGDUpdates", attribute("copies", sizes({0})), "not to undefined"},
    {"MomentumSGDUpdates and copies", outputs(2),
     "should have 1 slots and a new parameter for each parameter, has 1 results"},
    {"MomentumSGDUpdates and copies", attribute("copies", sizes({1})), "copies parameter 1 of 1"},
    {"MomentumSGDUpdates and copies", attribute("copies_to", int64_t{11}), "not to float64"},
    {"MomentumSGDUpdates and copies", operand(2, random({2})), "operand 2 should be left out"},
    {"AdamUpdate", operand(2, positive({2})), "slot 1 is float32[2]"},
    {"AdamUpdate", operand(5, random({0})), "the number is float32[0]"},
    {"AdamUpdates", operand(1, positive({2})), "operand 1 is float32[2]"},
    {"AdamUpdate", attribute("decay", 0.5F), "decay"},
    {"AdamWUpdate", attribute("decay", int64_t{1}), "decay"},
    {"AdamWUpdates", attribute("decay", 0.5F), "decay"},
    {"RMSPropUpdate", operand(2, random({3})), "slot 1 is float32[3]"},
    {"RMSPropUpdate", attribute("centred", int64_t{1}), "centred"},
    {"CentredRMSPropUpdate", operand(3, random({3})), "slot 2 is float32[3]"},
    {"CentredRMSPropUpdates", operand(2, random({3})), "operand 2 is float32[3]"},
    {"AdagradUpdate", operand(4, random({2})), "the number is float32[2]"},
    {"AdagradUpdates", attribute("decays", std::vector<float>{0, 0}), "decays should be 1 numbers"},
    {"LionUpdate", operand(1, random({3})), "slot 0 is float32[3]"},
    {"LionUpdates", operand(0, random({3})), "operand 0 is float32[3]"},
    {"AllReduce", outputs(2), "1 operands but 2 results"},
    {"Recv", attribute("dtype", int64_t{99}),
     "a tensor of element type undefined cannot be stored"},
    {"Recv", attribute("shape", sizes({-2})), "shape [-2]"},
    {"ProcessAllReduce", attribute("wire", "int8"), "wire format is 'int8'"},
    {"AllGather", attribute("of", int64_t{0}), "of is 0"},
    {"AllGather", outputs(2), "1 operands but 2 results"},
    {"AllGather", operand(0, random({})), "should have at least 1 dimensions"},
    {"ProcessAllGather", attribute("rank", int64_t{2}), "rank 2 has no entry in the shares [1,2]"},
    {"ProcessAllGather", attribute("rank", int64_t{-1}), "rank -1 has no entry in the shares"},
    {"ProcessAllGather", attribute("shares", sizes({1, 0})), "shares [1,0] has 0"},
    {"ProcessAllGather", attribute("shares", sizes({1, 3})),
     "should be a multiple of this process's 3 replicas"},
    {"ProcessAllGather", operand(0, random({})), "should have at least 1 dimensions"}};

INSTANTIATE_TEST_SUITE_P(Elements, HostileOperands, ::testing::ValuesIn(kElements));
INSTANTIATE_TEST_SUITE_P(Losses, HostileOperands, ::testing::ValuesIn(kLosses));
INSTANTIATE_TEST_SUITE_P(Places, HostileOperands, ::testing::ValuesIn(kPlaces));
INSTANTIATE_TEST_SUITE_P(Resident, HostileOperands, ::testing::ValuesIn(kResident));
INSTANTIATE_TEST_SUITE_P(Windows, HostileOperands, ::testing::ValuesIn(kWindows));
INSTANTIATE_TEST_SUITE_P(Norms, HostileOperands, ::testing::ValuesIn(kNorms));
INSTANTIATE_TEST_SUITE_P(Recurrences, HostileOperands, ::testing::ValuesIn(kRecurrences));
INSTANTIATE_TEST_SUITE_P(Updates, HostileOperands, ::testing::ValuesIn(kUpdates));

}  // namespace
}  // namespace lockstep::testing
