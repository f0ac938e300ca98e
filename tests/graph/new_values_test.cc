// SPDX-License-Identifier: Apache-2.0
// New values in a network's file. All other parts of the file stay as they were.
#include "graph/new_values.h"

#include <filesystem>

#include "tests/graph/hostile_model.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

Literal floats(const std::vector<float>& values) {
  return Literal::of<float>(values, {static_cast<int64_t>(values.size())});
}

class NewValues : public HostileModel {
 protected:
  // A vector of two elements, each `value`.
  static void fill(onnx::TensorProto& tensor, const std::string& name, DType type, float value) {
    tensor.set_name(name);
    const std::vector<float> two(2, value);
    to_proto(Literal::rounded<float>(type, two, {2}), tensor);
  }
  void add(const std::string& name, DType type = DType::float32, float value = 1) {
    fill(*graph().add_initializer(), name, type, value);
  }
  // If without a condition, with `name` in both branches, or in one of them.
  void add_branches(const std::string& name, bool in_both) {
    auto& node = *graph().add_node();
    node.set_op_type("If");
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(branch);
      attribute.set_type(onnx::AttributeProto::GRAPH);
      if (in_both || attribute.name() == "then_branch")
        fill(*attribute.mutable_g()->add_initializer(), name, DType::float32, 1);
    }
  }
  // The file of the model, written without a check of its nodes.
  std::string source() {
    const std::string path = folder_ / "net.onnx";
    write_file(path, proto_.SerializeAsString());
    return path;
  }
  onnx::ModelProto written(const StateValues& values) {
    save_with_values(source(), values, folder_ / "new.onnx");
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(read_file(folder_ / "new.onnx")));
    return proto;
  }
  void expect_refused(const StateValues& values, const std::vector<std::string>& parts) {
    std::map<std::string, Dims> shapes;
    for (const auto& [name, value] : values) shapes.emplace(name, value.dims());
    for (const std::string& part : parts) {
      expect_error([&] { check_initializers(source(), shapes); }, part);
      expect_error([&] { save_with_values(source(), values, folder_ / "new.onnx"); }, part);
    }
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().filename(), "net.onnx");
  }
};

TEST_F(NewValues, AllElseStays) {
  opset(13);
  proto_.set_producer_name("somebody");
  proto_.set_producer_version("1.2");
  auto& entry = *proto_.add_metadata_props();
  entry.set_key("author");
  entry.set_value("me");
  add("w");
  add("b");
  graph().mutable_initializer(0)->set_doc_string("weights");
  onnx::ModelProto expected = proto_;
  const std::vector<float> two{3, -0.5F};
  expected.mutable_graph()->mutable_initializer(0)->set_raw_data(two.data(), 2 * sizeof(float));
  EXPECT_EQ(written({{"w", floats(two)}}).SerializeAsString(), expected.SerializeAsString());
  EXPECT_FALSE(fs::exists(folder_ / "new.onnx.data"));
}

// Fields that libonnx does not know, such as the exporter's kinds in younger versions.
TEST_F(NewValues, UnknownFieldsStay) {
  add("w");
  auto& value = *graph().add_value_info();
  value.set_name("w");
  const std::string unknown(
      "\x7a\x03"
      "any",
      5);  // the field 15, three bytes
  ASSERT_TRUE(value.ParseFromString(value.SerializeAsString() + unknown));
  const std::string info =
      written({{"w", floats({1, 2})}}).graph().value_info(0).SerializeAsString();
  EXPECT_NE(info.find(unknown), std::string::npos);
}

TEST_F(NewValues, GetTheTypeOfTheFile) {
  add("wide", DType::float64);
  add("short", DType::bfloat16);
  auto& typed = *graph().add_initializer();  // in the field of its type
  typed.set_name("typed");
  typed.set_data_type(onnx::TensorProto::FLOAT);
  typed.add_dims(2);
  typed.add_float_data(1);
  typed.add_float_data(1);
  const onnx::ModelProto proto = written(
      {{"wide", floats({0.1F, 2})}, {"short", floats({1.001F, 2})}, {"typed", floats({5, 6})}});
  const auto value = [&](int index) {
    return from_proto(proto.graph().initializer(index), {}, "tensor");
  };
  EXPECT_EQ(value(0).values<double>()[0], static_cast<double>(0.1F));
  EXPECT_EQ(static_cast<float>(value(1).values<BFloat16>()[0]), 1.0F);
  EXPECT_TRUE(value(2) == floats({5, 6}));
}

TEST_F(NewValues, BeyondTheTypeAreRefused) {
  add("half", DType::float16);
  expect_error(
      [&] {
        written({{"half", floats({1, -70000})}});
      },
      "'half' is float16", "beyond 65504");
  const onnx::ModelProto proto = written({{"half", floats({1, -65504})}});
  EXPECT_EQ(static_cast<float>(from_proto(proto.graph().initializer(0), {}, "t").values<Half>()[1]),
            -65504);
}

TEST_F(NewValues, DataBesideTheFileGoBesideTheNewFile) {
  add("kept", DType::float32, 7);
  add("w");
  add("inside", DType::float32, 9);
  const std::vector<float> data{7, 7, 1, 1};
  write_file(folder_ / "blob", std::string(reinterpret_cast<const char*>(data.data()), 16));
  for (int index : {0, 1}) {
    graph().mutable_initializer(index)->clear_raw_data();
    external(*graph().mutable_initializer(index), "blob", index == 0 ? "0" : "8", "8");
  }
  fs::create_directory(folder_ / "there");
  const std::string path = folder_ / "there/new.onnx";
  save_with_values(source(), {{"w", floats({2, 3})}, {"inside", floats({4, 5})}}, path);
  fs::remove(folder_ / "blob");
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(read_file(path)));
  const DataPlace place = data_place_of(path);
  const std::vector<Literal> expected{floats({7, 7}), floats({2, 3}), floats({4, 5})};
  for (int index : {0, 1, 2})
    EXPECT_TRUE(from_proto(proto.graph().initializer(index), place, "tensor") == expected[index])
        << index;
  EXPECT_EQ(proto.graph().initializer(0).external_data(0).value(), "new.onnx.data");
  EXPECT_FALSE(proto.graph().initializer(0).has_raw_data());
  EXPECT_TRUE(proto.graph().initializer(2).has_raw_data());
  EXPECT_EQ(fs::file_size(folder_ / "there/new.onnx.data"), 128u);
}

TEST_F(NewValues, ReachBranches) {
  add_branches("inner", false);
  const onnx::ModelProto proto = written({{"inner", floats({8, 9})}});
  const auto& tensor = proto.graph().node(1).attribute(0).g().initializer(0);
  EXPECT_TRUE(from_proto(tensor, {}, "inner") == floats({8, 9}));
}

TEST_F(NewValues, AreRefusedWithoutAPlace) {
  add("w");
  add_branches("inner", true);
  expect_refused({{"v", floats({1, 2})}}, {"net.onnx", "'v'", "no initializer has this name"});
  expect_refused({{"inner", floats({1, 2})}}, {"'inner'", "2 branches or bodies"});
  expect_refused({{"w", floats({1, 2, 3})}},
                 {"net.onnx: 'w' has the shape [2]", "its new value has [3]"});
  write_file(folder_ / "net.onnx", "no model");
  expect_error([&] { save_with_values(folder_ / "net.onnx", {}, folder_ / "new.onnx"); },
               "not an ONNX model");
}

TEST_F(NewValues, ReplaceNothingIfDataAreMissing) {
  add("w");
  graph().mutable_initializer(0)->clear_raw_data();
  external(*graph().mutable_initializer(0), "blob", "0", "8");
  add("b");
  write_file(folder_ / "new.onnx", "old");
  expect_error(
      [&] {
        save_with_values(source(), {{"b", floats({1, 2})}}, folder_ / "new.onnx");
      },
      "cannot read", "blob");
  EXPECT_EQ(read_file(folder_ / "new.onnx"), "old");
  for (const char* file : {"new.onnx.data", "new.onnx.tmp", "new.onnx.data.tmp"})
    EXPECT_FALSE(fs::exists(folder_ / file)) << file;
}

}  // namespace
}  // namespace lockstep::testing
