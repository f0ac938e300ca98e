// SPDX-License-Identifier: Apache-2.0
// A model for tests to damage.
#pragma once

#include <gtest/gtest.h>

#include "graph/attribute_reader.h"
#include "graph/file.h"
#include "graph/onnx.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

// y = OP(x) of opset 17, for a test to change.
class HostileModel : public ::testing::Test {
 protected:
  HostileModel() {
    proto_.set_ir_version(kIrVersion);
    opset(kOpset);
    graph().set_name("g");
    auto* input = graph().add_input();
    input->set_name("x");
    to_proto(TensorType{DType::float32, {1, 2, 4, 4}}, *input->mutable_type());
    graph().add_output()->set_name("y");
    node("Relu").add_input("x");
    graph().mutable_node(0)->add_output("y");
  }

  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  void opset(int64_t version) {
    proto_.clear_opset_import();
    proto_.add_opset_import()->set_version(version);
  }
  onnx::NodeProto& node(const std::string& type) {
    if (graph().node_size() == 0) graph().add_node();
    graph().mutable_node(0)->set_op_type(type);
    return *graph().mutable_node(0);
  }
  void attribute(const std::string& name, const AttributeValue& value) {
    to_proto(name, value, *graph().mutable_node(0)->add_attribute());
  }
  // Adds an int64 initializer with two elements.
  onnx::TensorProto& initializer(const std::string& name, const std::string& raw = "") {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(2);
    if (!raw.empty()) tensor.set_raw_data(raw);
    return tensor;
  }
  static void external(onnx::TensorProto& tensor, const std::string& location,
                       const std::string& offset = "0", const std::string& length = "16") {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    tensor.clear_external_data();
    for (auto& [key, value] :
         {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }

  LoadedModel load(const std::string& name = "net.onnx") {
    write_file(folder_ / name, proto_.SerializeAsString());
    return load_model(all_ops(), folder_ / name);
  }
  template <class... Parts>
  void refused(const Parts&... parts) {
    expect_error([&] { load(); }, "net.onnx: ", parts...);
  }

  onnx::ModelProto proto_;
  TemporaryFolder folder_;
};

}  // namespace lockstep::testing
