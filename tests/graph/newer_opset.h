// SPDX-License-Identifier: Apache-2.0
// Files of one node, at any opset.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "graph/attribute_reader.h"
#include "graph/file.h"
#include "graph/onnx.h"
#include "graph/opset/newer_opsets.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

struct Operand {
  std::string name;
  TensorType type;
  std::optional<Literal> value = std::nullopt;  // an initializer
};

// y = TYPE(operands) as a file.
class NewerOpset : public ::testing::Test {
 protected:
  NewerOpset() {
    proto_.set_ir_version(kNewestIrVersion);
    proto_.add_opset_import()->set_version(23);
    proto_.mutable_graph()->set_name("g");
    proto_.mutable_graph()->add_output()->set_name("y");
    proto_.mutable_graph()->add_node()->set_name("place");
    node().add_output("y");
  }

  onnx::NodeProto& node() { return *proto_.mutable_graph()->mutable_node(0); }
  void opset(int64_t version) { proto_.mutable_opset_import(0)->set_version(version); }
  void op(const std::string& type, const std::vector<Operand>& operands,
          const Attributes& attributes = {}) {
    node().set_op_type(type);
    node().clear_attribute();
    node().clear_input();
    auto& graph = *proto_.mutable_graph();
    graph.clear_input();
    graph.clear_initializer();
    std::set<std::string> made;
    for (const Operand& operand : operands) {
      node().add_input(operand.name);
      if (!made.insert(operand.name).second) continue;
      if (operand.value) {
        auto* tensor = graph.add_initializer();
        to_proto(*operand.value, *tensor);
        tensor->set_name(operand.name);
      } else if (!operand.name.empty()) {
        auto* input = graph.add_input();
        input->set_name(operand.name);
        to_proto(operand.type, *input->mutable_type());
      }
    }
    for (const auto& [name, value] : attributes) to_proto(name, value, *node().add_attribute());
  }

  LoadedModel load() {
    write_file(folder_ / "net.onnx", proto_.SerializeAsString());
    return load_model(all_ops(), folder_ / "net.onnx");
  }
  std::string type_of_y() {
    LoadedModel loaded = load();
    const Graph& graph = loaded.model.inference;
    return text_of(graph.type(graph.at("y")));
  }
  template <class... Parts>
  void refused(const Parts&... parts) {
    expect_error([&] { load(); }, "net.onnx", parts...);
  }

  static Operand floats(const std::string& name, const Shape& shape) {
    return {name, {DType::float32, shape}};
  }
  static Operand given(const std::string& name, const std::vector<int64_t>& values) {
    return {name, {}, Literal::vector(values)};
  }
  static Operand fed(const std::string& name, int64_t size) {
    return {name, {DType::int64, {size}}};
  }

  onnx::ModelProto proto_;
  TemporaryFolder folder_;
};

}  // namespace lockstep::testing
