// SPDX-License-Identifier: Apache-2.0
// Malicious models, and models of broken programs. An error names each defect before any code
// relies on the model. Most of these models once crashed the process.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "graph/graph_members.h"
#include "graph/limits.h"
#include "graph/parsed_size.h"
#include "lockstep/operators.h"
#include "tests/graph/hostile_model.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

TEST(HostileNode, IsNamedByItsResultIfItHasNoName) {
  Graph graph(all_ops());
  onnx::NodeProto node;
  node.set_op_type("Det");  // a matrix operator of opset 17
  node.add_output("y");
  expect_error([&] { adopt(graph, node); }, "no operator Det is known (used by y)");
  node.set_name("determinant");
  expect_error([&] { adopt(graph, node); }, "no operator Det is known (used by determinant)");
}

TEST_F(HostileModel, IsRefusedByItsFileAndNode) {
  node("Relu").set_name("act");
  attribute("axis", int64_t{1});
  try {
    load();
    ADD_FAILURE() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.subject().place, folder_ / "net.onnx");
    EXPECT_EQ(error.subject().node, "act");
  }
}

TEST_F(HostileModel, TensorsHoldWhatTheirShapesSay) {
  for (int64_t version : {7, 13, 17}) {
    opset(version);
    node("Softmax");  // changed in opset 13, so the converter runs
    initializer("s", "thirteenbytes");
    refused("s: has 13 bytes of data for int64[2]");
    graph().mutable_initializer(0)->clear_raw_data();
    refused("s: holds 0 values");
    graph().mutable_initializer(0)->add_int64_data(1);
    graph().mutable_initializer(0)->add_float_data(1);
    refused("s: holds 2 values, 1 of them in the field of its type, for int64[2]");
    graph().mutable_initializer(0)->set_raw_data(std::string(16, '\0'));
    refused("s: has its data in two fields");
    graph().clear_initializer();
  }
  auto& tensor = initializer("s");
  tensor.set_data_type(onnx::TensorProto::UINT8);
  tensor.add_int32_data(255);
  tensor.add_int32_data(256);
  refused("s: holds 256, which is not between 0 and 255");
  tensor.set_dims(0, int64_t{1} << 62);
  refused("shape [4611686018427387904] has more elements than memory can hold");
  tensor.set_dims(0, -2);
  refused("negative dimension in shape [-2]");
  tensor.set_dims(0, 2);
  tensor.set_data_type(99);
  refused("s: element type 99 is not supported");
}

TEST_F(HostileModel, TensorsOfAttributesToo) {
  opset(12);
  node("Constant").clear_input();
  attribute("value", Literal::vector({1, 2}));
  onnx::TensorProto& tensor = *graph().mutable_node(0)->mutable_attribute(0)->mutable_t();
  tensor.set_raw_data("seven b");
  refused("y (Constant): attribute 'value': tensor: has 7 bytes of data for int64[2]");
  tensor.clear_raw_data();
  external(tensor, "absent");
  refused("y (Constant): attribute 'value': tensor: cannot read", "absent");
  graph().mutable_node(0)->mutable_attribute(0)->clear_t();
  refused("y (Constant): attribute 'value': holds no tensor");
}

TEST_F(HostileModel, EveryOutputHasAMakerAndEveryNodeAnOutput) {
  for (int64_t version : {12, 17}) {
    opset(version);
    node("Softmax");
    graph().add_output()->set_name("z");
    refused("output 'z' is not computed by any node");
    graph().mutable_output()->RemoveLast();
  }
  graph().mutable_node(0)->clear_output();
  refused("(Softmax): has no outputs");
  graph().mutable_node(0)->add_output("");
  refused("(Softmax): has no outputs");
}

TEST_F(HostileModel, WindowsAreMoreThanNothing) {
  for (int64_t version : {8, 17})
    for (const char* name : {"strides", "dilations", "kernel_shape"}) {
      opset(version);
      node("MaxPool").clear_attribute();
      if (name != std::string("kernel_shape"))
        attribute("kernel_shape", std::vector<int64_t>{2, 2});
      attribute(name, std::vector<int64_t>{1, 0});
      refused("y (MaxPool): attribute '", name, "should be positive, one is 0");
    }
}

// The gradient once used axes that did not exist.
TEST_F(HostileModel, AnOrderOfAxesHasThemAll) {
  for (int64_t version : {8, 17}) {
    opset(version);
    node("Transpose").clear_attribute();
    attribute("perm", std::vector<int64_t>{0, 3, 1});
    refused("y (Transpose): perm has 3 axes, its input 4");
  }
}

// Checked before the conversion, too: ONNX's converter infers shapes of an older opset.
TEST_F(HostileModel, AConvolutionOfOlderOpsetsIsLookedAt) {
  for (int64_t version : {8, 12, 17}) {
    opset(version);
    node("Conv").clear_input();
    graph().mutable_node(0)->add_input("x");
    graph().mutable_node(0)->add_input("w");
    graph().clear_initializer();
    onnx::TensorProto& weight = initializer("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.clear_dims();
    for (int64_t size : {1, 2, 1, 1, 1}) weight.add_dims(size);
    weight.set_raw_data(std::string(8, '\0'));
    refused("data has 4 dimensions, weight has 5");
  }
}

// ONNX's inference used the attribute before the sizes of the data.
TEST_F(HostileModel, BatchDimensionsAreTheDatas) {
  for (int64_t version : {12, 17})
    for (int64_t dims : {int64_t{-3}, int64_t{5}, std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<int64_t>::max()}) {
      opset(version);
      node("GatherND").clear_input();
      graph().mutable_node(0)->add_input("x");
      graph().mutable_node(0)->add_input("i");
      graph().mutable_node(0)->clear_attribute();
      attribute("batch_dims", dims);
      graph().clear_initializer();
      initializer("i", std::string(16, '\0'));
      refused(join("batch_dims is ", dims, ", should be 0 to 4"));
    }
}

// Inference once gave the result 2^31 sizes, at 24 bytes each.
TEST_F(HostileModel, AShapeHasFewElements) {
  for (const std::string type : {"ConstantOfShape", "Expand"}) {
    node(type).clear_input();
    if (type == "Expand") graph().mutable_node(0)->add_input("x");
    graph().mutable_node(0)->add_input("sizes");
    graph().mutable_node(0)->clear_attribute();
    graph().clear_initializer();
    onnx::ValueInfoProto& sizes = *graph().add_input();
    sizes.set_name("sizes");
    auto& tensor = *sizes.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::INT64);
    tensor.mutable_shape()->add_dim()->set_dim_value(int64_t{1} << 31);
    refused(join("its input ", type == "Expand" ? 1 : 0,
                 ", a shape, has 2147483648 elements, the most is 1024"));
    graph().mutable_input()->RemoveLast();
  }
}

// ONNX's inference used the axis unchecked, too.
TEST_F(HostileModel, TheAxisOfLayerNormalizationIsTheDatas) {
  for (int64_t axis : {int64_t{-5}, int64_t{4}, std::numeric_limits<int64_t>::min()}) {
    opset(17);
    node("LayerNormalization").clear_input();
    graph().mutable_node(0)->add_input("x");
    graph().mutable_node(0)->add_input("x");
    graph().mutable_node(0)->clear_attribute();
    attribute("axis", axis);
    refused(join("axis is ", axis, ", should be -4 to 3"));
  }
}

TEST_F(HostileModel, NamesAreThereOnce) {
  initializer("s", std::string(16, 'a'));
  initializer("s", std::string(16, 'b'));
  refused("two initializers are called 's'");
  graph().clear_initializer();
  *graph().add_input() = graph().input(0);
  refused("two inputs are called 'x'");
  graph().mutable_input()->RemoveLast();
  attribute("axis", int64_t{0});
  attribute("axis", int64_t{1});
  refused("attribute 'axis' occurs twice");
}

TEST_F(HostileModel, AFunctionTakesNoOperatorsPlace) {
  opset(12);
  auto* function = proto_.add_functions();
  function->set_name("Relu");
  function->add_node()->set_op_type("Relu");  // recursive
  refused("defines a function 'Relu'");
  function->set_name("NobodyCallsIt");
  EXPECT_EQ(load().model.inference.node_count(), 1);
}

TEST_F(HostileModel, LargeDimensionsAreNotLostInConversion) {
  opset(9);
  node("Softmax");
  auto* dims = graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims->mutable_dim(0)->set_dim_value(int64_t{1} << 40);
  refused("'x' has 1099511627776 elements along a dimension");
  dims->mutable_dim(0)->set_dim_value(-5);
  refused("'x' has a dimension of -5");
  dims->mutable_dim(0)->set_dim_value(-1);  // unknown, as in some exporters
  EXPECT_EQ(load().model.inference.inputs().size(), 1U);
}

TEST_F(HostileModel, AFewBytesTakeNoGigabytes) {
  // 4,000,000 empty nodes: 8 MB in the file, and two hundred bytes of memory each.
  std::string nodes;
  for (int i = 0; i < 4000000; ++i) nodes += std::string("\x0a\x00", 2);
  const std::string text = proto_.SerializeAsString();
  proto_.clear_graph();
  auto varint = [](std::size_t number) {
    std::string bytes;
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(0x80 | (number & 0x7f));
    return bytes + static_cast<char>(number);
  };
  write_file(folder_ / "net.onnx",
             proto_.SerializeAsString() + "\x3a" + varint(nodes.size()) + nodes);
  expect_error([&] { load_model(all_ops(), folder_ / "net.onnx"); }, "net.onnx: its 7.63 MiB",
               "more than a model of that size needs");
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(text));
  const std::size_t guess = parsed_size(text, *onnx::ModelProto::descriptor());
  EXPECT_GT(guess, parsed.SpaceUsedLong());
  EXPECT_LT(guess, 3 * parsed.SpaceUsedLong());
}

// An untrained step needs no data file for its zeros.
TEST(HostileStep, NeedsNoDataThatNobodyReads) {
  TemporaryFolder folder;
  save_model(small_mlp(2), folder / "step.onnx", {.inline_limit = 0});
  fs::remove(folder / "step.onnx.data");
  EXPECT_EQ(load_model(all_ops(), folder / "step.onnx").model.replicas, 2);
}

TEST(HostileStep, MetadataHold) {
  TemporaryFolder folder;
  save_model(small_mlp(2), folder / "step.onnx");
  const std::string good = read_file(folder / "step.onnx");
  auto refused = [&](const std::string& key, const std::string& value, const std::string& why) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(good));
    bool found = false;
    for (auto& entry : *proto.mutable_metadata_props())
      if (!found && entry.key().starts_with("lockstep." + key)) {
        entry.set_value(value);
        found = true;
      }
    ASSERT_TRUE(found) << key;
    write_file(folder / "bad.onnx", proto.SerializeAsString());
    expect_error([&] { load_model(all_ops(), folder / "bad.onnx"); }, "bad.onnx: metadata", why);
  };
  for (const char* key : {"input.", "loss.", "state.", "replicas", "initialised"}) {
    refused(key, std::string("a\0b", 3), "metadata 'lockstep." + std::string(key));
    refused(key, "\x1b[2J", "contains the control character \\x1b");
  }
  refused("input.", "", "has 0 values for 2 replicas");
  refused("input.", "a\nb", "is 'a', which the step does not have");
  refused("loss.", "nothing\nnothing", "which the step does not have");
  refused("replicas", "1000000000", "is for 1000000000 replicas; 1 to 4096 are possible");
  refused("replicas", "-1", "is for -1 replicas");
  refused("replicas", "2x", "'2x' is not a number of replicas");
}

// Kernels read the second operand with the first operand's type.
TEST_F(HostileModel, OperandsOfOneLetterHaveOneType) {
  node("Clip").add_input("");
  graph().mutable_node(0)->add_input("most");
  auto& most = *graph().add_initializer();
  most.set_name("most");
  most.set_data_type(onnx::TensorProto::INT64);
  most.add_int64_data(3);
  expect_error([&] { load(); }, "y (Clip", "its input 2, max, is int64 and its input 0 float32",
               "they should have the same type");
}

TEST_F(HostileModel, AnyByteOfABoolIsTrueOrFalse) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.add_dims(3);
  tensor.set_raw_data(std::string("\x80\x00\x01", 3));
  const Literal literal = from_proto(tensor, {}, "flags");
  const std::vector<std::byte> expected{std::byte{1}, std::byte{0}, std::byte{1}};
  EXPECT_TRUE(std::ranges::equal(literal.bytes(), expected));
}

}  // namespace
}  // namespace lockstep::testing
