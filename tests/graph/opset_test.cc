// SPDX-License-Identifier: Apache-2.0
// Files of opset 18 and newer: features that stay unsupported, and refused files.
// tests/python/check_opsets.py checks the numbers against ONNX's cases.
#include <gtest/gtest.h>

#include "tests/graph/newer_opset.h"

namespace lockstep::testing {
namespace {

TEST_F(NewerOpset, EveryRewriteKeepsTheBatchOpen) {
  const Operand picture = floats("x", {"N", 4, 6, 6}), sequence = floats("x", {"N", 5, 8});
  const Operand scale = floats("s", {4}), bias = floats("b", {4});
  op("ReduceMean", {picture, given("axes", {2, 3})}, {{"keepdims", int64_t{0}}});
  EXPECT_EQ(type_of_y(), "float32[N,4]");
  op("Gelu", {picture});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,6]");
  op("Gelu", {picture}, {{"approximate", "tanh"}});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,6]");
  op("GroupNormalization", {picture, scale, bias}, {{"num_groups", int64_t{2}}});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,6]");
  op("Pad", {picture, given("pads", {1, 2}), {}, given("axes", {-1})});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,9]");
  op("Pad", {picture, given("pads", {1, 2}), {}, given("axes", {-1})}, {{"mode", "wrap"}});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,9]");
  op("Resize", {picture, {}, {}, given("sizes", {12, 9})},
     {{"axes", std::vector<int64_t>{2, 3}}, {"mode", "linear"}});
  EXPECT_EQ(type_of_y(), "float32[N,4,12,9]");
  op("AveragePool", {picture},
     {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"dilations", std::vector<int64_t>{2, 2}}});
  EXPECT_EQ(type_of_y(), "float32[N,4,4,4]");
  op("RMSNormalization", {sequence, floats("s", {8})});
  EXPECT_EQ(type_of_y(), "float32[N,5,8]");
  const Attributes heads{{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}};
  op("Attention", {sequence, floats("k", {"N", 5, 8}), floats("v", {"N", 5, 8})}, heads);
  EXPECT_EQ(type_of_y(), "float32[N,5,8]");
  op("RotaryEmbedding", {sequence, floats("c", {"N", 5, 2}), floats("s", {"N", 5, 2})},
     {{"num_heads", int64_t{2}}});
  EXPECT_EQ(type_of_y(), "float32[N,5,8]");
}

TEST_F(NewerOpset, OpsetAndIrVersionBeyondTheNewestAreNamed) {
  op("Relu", {floats("x", {2})});
  EXPECT_EQ(type_of_y(), "float32[2]");
  opset(kNewestOpset);
  EXPECT_EQ(type_of_y(), "float32[2]");
  opset(kNewestOpset + 1);
  refused("opset 29 is newer than 28");
  opset(kNewestOpset);
  proto_.set_ir_version(kNewestIrVersion + 1);
  refused("IR version 15 is newer than 14");
}

TEST_F(NewerOpset, WhatFitsNoOperatorIsNamed) {
  const Operand x = floats("x", {4, 6});
  op("Split", {x}, {{"num_outputs", int64_t{-1}}});
  refused("place (Split of opset 23)", "num_outputs should be positive, is -1");
  op("Split", {x}, {{"num_outputs", int64_t{1} << 45}});
  refused("place (Split", "4 elements cannot be split");
  op("Pad", {floats("x", {4, 0}), given("pads", {0, 1, 0, 1})}, {{"mode", "wrap"}});
  refused("place (Pad", "axis of size 0");
  op("AveragePool", {floats("x", {1, 2, 8, 8})},
     {{"kernel_shape", std::vector<int64_t>{2, 2}},
      {"dilations", std::vector<int64_t>{2, 2}},
      {"strides", std::vector<int64_t>{0, 0}},
      {"ceil_mode", int64_t{1}}});
  refused("place (AveragePool", "should be positive, one is 0");
  op("GroupNormalization", {floats("x", {}), floats("s", {2}), floats("b", {2})},
     {{"num_groups", int64_t{2}}});
  refused("place (GroupNormalization", "0 dimensions");
  op("Attention", {x, x, x});
  refused("place (Attention", "operand 0 has 2 dimensions");
  op("RotaryEmbedding", {x, x, x});
  refused("place (RotaryEmbedding", "2 dimensions");
  op("Gelu", {});
  refused("place (Gelu", "no operand");
  op("SequenceAt", {});
  refused("place (SequenceAt", "no operand");
}

TEST_F(NewerOpset, APositionOutsideOfASplitIsNamed) {
  for (const auto& [at, said] : {std::pair{std::vector<int64_t>{}, "0 positions"},
                                 {std::vector<int64_t>{9}, "position 9 is outside"}}) {
    op("SplitToSequence", {floats("x", {4, 6}), given("n", {2})});
    auto& graph = *proto_.mutable_graph();
    graph.mutable_initializer(0)->clear_dims();  // a single size for all parts
    node().set_output(0, "parts");
    auto& second = *graph.add_node();
    second.set_op_type("SequenceAt");
    second.add_input("parts");
    second.add_input("at");
    second.add_output("y");
    auto* tensor = graph.add_initializer();
    to_proto(Literal::vector(at), *tensor);
    tensor->set_name("at");
    refused("SequenceAt", said);
    graph.mutable_node()->RemoveLast();
    node().set_output(0, "y");
  }
}

TEST_F(NewerOpset, OperatorsBeyondAreNamedWithTheirNodeAndOpset) {
  op("TensorScatter", {floats("x", {2})});
  refused("the file is of opset 23", "TensorScatter (1 node: place)");
  opset(19);  // an operator of a later opset
  op("Gelu", {floats("x", {2})});
  refused("the file is of opset 19", "Gelu (1 node: place)");
}

TEST_F(NewerOpset, WhatARewriteMustKnowMustBeConstant) {
  op("ReduceMean", {floats("x", {2, 3}), fed("axes", 1)});
  refused("place (ReduceMean of opset 23)", "its axes, 'axes', are not constant");
  op("Pad", {floats("x", {2, 3}), fed("pads", 2), {}, given("axes", {0})});
  refused("place (Pad of opset 23)", "its pads, 'pads', are not constant");
  op("Resize", {floats("x", {2, 3}), {}, {}, fed("sizes", 1)}, {{"axes", std::vector<int64_t>{0}}});
  refused("place (Resize of opset 23)", "its sizes, 'sizes', are not constant");
  op("CenterCropPad", {floats("x", {2, 3}), fed("shape", 2)});
  refused("place (CenterCropPad of opset 23)", "its shape, 'shape', are not constant");
  op("Pad", {floats("x", {"N", 3}), given("pads", {1, 0, 1, 0})}, {{"mode", "wrap"}});
  refused("the size of 'x' float32[N,3] along axis 0 is not known");
}

TEST_F(NewerOpset, WhatOlderOperatorsCannotSayIsRefused) {
  op("Resize", {floats("x", {1, 1, 8, 8}), {}, {}, given("sizes", {1, 1, 4, 8})},
     {{"antialias", int64_t{1}}, {"mode", "linear"}});
  refused("antialias is not supported if axis 2 becomes smaller");
  op("Cast", {floats("x", {2})}, {{"to", int64_t{17}}});
  refused("place (Cast of opset 23)", "element type 17 is not supported");
  opset(24);
  const Operand sequence = floats("q", {1, 2, 5, 4});
  op("Attention", {sequence,
                   floats("k", {1, 2, 5, 4}),
                   floats("v", {1, 2, 5, 4}),
                   {},
                   {},
                   {},
                   fed("length", 1)});
  refused("place (Attention of opset 24)", "nonpad_kv_seqlen");
}

// A sequence of parts. `position` picks one part.
TEST_F(NewerOpset, PartsOfASplitSequenceAreSlices) {
  auto pick = [&](const std::vector<int64_t>& sizes, int64_t position) {
    op("SequenceAt", {floats("x", {"N", 7}), given("at", {position}), given("sizes", sizes)});
    node().mutable_input()->RemoveLast();
    node().set_input(0, "parts");
    auto& split = *proto_.mutable_graph()->add_node();
    split.set_op_type("SplitToSequence");
    for (const char* name : {"x", "sizes"}) split.add_input(name);
    split.add_output("parts");
    to_proto("axis", int64_t{1}, *split.add_attribute());
  };
  pick({3, 4}, -1);
  EXPECT_EQ(type_of_y(), "float32[N,4]");
  proto_.mutable_graph()->mutable_node()->RemoveLast();
  pick({3, 4}, 2);
  refused("place (SequenceAt of opset 23)", "position 2 is outside of 2 parts");
  proto_.mutable_graph()->mutable_node()->RemoveLast();
  op("SequenceAt", {floats("x", {"N", 7}), given("at", {0})});
  refused("place (SequenceAt of opset 23)", "its operand 'x' is not a sequence");
}

// The remains of a batch normalisation that an exporter folded into a convolution.
TEST_F(NewerOpset, WhatAnExporterOptimisedAwayIsTold) {
  const std::vector<float> values(8, 1);
  auto convolution = [&](const std::string& weight) {
    op("Conv",
       {floats("x", {"N", 2, 4, 4}), {weight, {}, Literal::of<float>(values, {4, 2, 1, 1})}});
  };
  proto_.set_producer_name("pytorch");
  convolution("conv.weight");
  EXPECT_EQ(load().warning, "");
  convolution("onnx::Conv_65");
  EXPECT_NE(load().warning.find(
                "1 batch normalisations are folded into other layers, 1 parameters or buffers"),
            std::string::npos)
      << load().warning;
  convolution("conv.weight");
  // metadata_props, added in IR version 10: {key "rule", value "FuseBatchNormIntoConv"}
  onnx::StringStringEntryProto rule;
  rule.set_key("rule");
  rule.set_value("FuseBatchNormIntoConv");
  const std::string entry = rule.SerializeAsString();
  std::string bytes =
      node().SerializeAsString() + std::string("\x4a") + static_cast<char>(entry.size()) + entry;
  ASSERT_TRUE(node().ParseFromString(bytes));
  EXPECT_NE(load().warning.find("optimize=False"), std::string::npos) << load().warning;
  proto_.set_producer_name("another");
  EXPECT_EQ(load().warning, "");
}

// An exporter merges fresh biases, which are all zero. A layer that is used twice has one bias
// anyway.
TEST_F(NewerOpset, MergedBiasesAreTold) {
  const std::vector<float> weights{1, 2, 3, 4}, zeros{0, 0};
  const auto matrix = Literal::of<float>(weights, {2, 2});
  op("Gemm",
     {floats("x", {"N", 2}), {"first", {}, matrix}, {"bias", {}, Literal::of<float>(zeros, {2})}});
  auto& graph = *proto_.mutable_graph();
  auto* other = graph.add_initializer();
  to_proto(matrix, *other);
  other->set_name("second");
  const auto add = [&](const char* type, const std::vector<std::string>& inputs, const char* made) {
    auto& added = *graph.add_node();
    added.set_op_type(type);
    for (const std::string& name : inputs) added.add_input(name);
    added.add_output(made);
  };
  proto_.set_producer_name("pytorch");
  add("Gemm", {"y", "first", "bias"}, "again");
  EXPECT_EQ(load().warning, "");
  add("Transpose", {"second"}, "turned");
  add("MatMul", {"again", "turned"}, "product");
  add("Add", {"bias", "product"}, "last");
  EXPECT_NE(load().warning.find(" 1 biases are merged with others of the same values"),
            std::string::npos)
      << load().warning;
}

TEST_F(NewerOpset, NonsenseIsNamed) {
  op("Gelu", {floats("x", {2})}, {{"approximate", "roughly"}});
  refused("place (Gelu of opset 23)", "approximate is 'roughly'");
  op("Pad", {floats("x", {2, 3}), given("pads", {1}), {}, given("axes", {0})});
  refused("has 1 pads for 1 axes");
  op("Pad", {floats("x", {2, 3}), given("pads", {1, 1}), {}, given("axes", {5})});
  refused("axis 5 is outside of 2 dimensions");
  op("Split", {floats("x", {2})}, {{"num_outputs", int64_t{4}}});
  refused("2 elements cannot be split into 4 parts");
  op("GroupNormalization", {floats("x", {1, 4, 2}), floats("s", {4}), floats("b", {4})});
  refused("num_groups should be positive, is 0");
  op("Attention", {floats("q", {1, 5, 4}), floats("k", {1, 5, 4}), floats("v", {1, 5, 4})});
  refused("q_num_heads and kv_num_heads should be positive, are 0 and 0");
  op("RotaryEmbedding", {floats("x", {1, 2, 5, 4}), floats("c", {1, 5, 2}), floats("s", {1, 5, 2})},
     {{"rotary_embedding_dim", int64_t{6}}});
  refused("rotary_embedding_dim should be even and at most the width of a head, is 6 of 4");
  op("AveragePool", {floats("x", {1, 1, 4, 4})},
     {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"dilations", std::vector<int64_t>{2}}});
  refused("have 2, 2, 4 and 1 entries for data with 4 dimensions");
  opset(28);
  op("SpaceToDepth", {floats("x", {1, 1, 4, 4})}, {{"blocksize", int64_t{3}}, {"mode", "CRD"}});
  refused("4 x 4 is not made of blocks of 3");
}

}  // namespace
}  // namespace lockstep::testing
