// SPDX-License-Identifier: Apache-2.0
// Einsum in a file: the operators that it becomes, sizes that stay open, refused equations.
// tests/python/check_opsets.py checks the numbers against ONNX's reference, check_pytorch.py the
// gradients against PyTorch.
#include <gtest/gtest.h>

#include <map>

#include "graph/attribute_reader.h"
#include "graph/file.h"
#include "graph/onnx.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

class Einsum : public ::testing::Test {
 protected:
  // y = Einsum(operands) as a file of opset 13.
  LoadedModel load(const std::string& equation, const std::vector<Shape>& operands,
                   DType type = DType::float32) {
    onnx::ModelProto proto;
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(13);
    auto& graph = *proto.mutable_graph();
    graph.set_name("g");
    graph.add_output()->set_name("y");
    auto& node = *graph.add_node();
    node.set_name("place");
    node.set_op_type("Einsum");
    node.add_output("y");
    to_proto("equation", equation, *node.add_attribute());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string name = join("x", i);
      node.add_input(name);
      auto* input = graph.add_input();
      input->set_name(name);
      to_proto(TensorType{type, operands[i]}, *input->mutable_type());
    }
    write_file(folder_ / "net.onnx", proto.SerializeAsString());
    return load_model(all_ops(), folder_ / "net.onnx");
  }

  std::string type_of(const std::string& equation, const std::vector<Shape>& operands,
                      DType type = DType::float32) {
    const LoadedModel loaded = load(equation, operands, type);
    return text_of(loaded.model.inference.type(loaded.model.inference.at("y")));
  }

  // "2 MatMul, 1 Transpose"
  std::string operators_of(const std::string& equation, const std::vector<Shape>& operands,
                           DType type = DType::float32) {
    const LoadedModel loaded = load(equation, operands, type);
    std::map<std::string, int> counts;
    for (int i = 0; i < loaded.model.inference.node_count(); ++i)
      ++counts[loaded.model.inference.node(i).type()];
    std::string text;
    for (const auto& [name, count] : counts)
      text += join(text.empty() ? "" : ", ", count, " ", name);
    return text;
  }

  template <class... Parts>
  void refused(const std::string& equation, const std::vector<Shape>& operands,
               const Parts&... parts) {
    SCOPED_TRACE(equation);
    expect_error([&] { load(equation, operands); }, "net.onnx", "place (Einsum of opset 17)",
                 parts...);
  }

  TemporaryFolder folder_;
};

TEST_F(Einsum, AttentionIsTwoProducts) {
  const Shape heads{"N", 4, 16, 8};
  EXPECT_EQ(operators_of("bhqd,bhkd->bhqk", {heads, heads}), "1 Identity, 1 MatMul, 1 Transpose");
  EXPECT_EQ(operators_of("bhqk,bhkd->bhqd", {{"N", 4, 16, 16}, heads}), "1 Identity, 1 MatMul");
  const Shape positions{"N", 16, 4, 8};
  EXPECT_EQ(operators_of("bqhd,bkhd->bhqk", {positions, positions}),
            "1 Identity, 1 MatMul, 2 Transpose");
  EXPECT_EQ(operators_of("...i,ij->...j", {{"N", 7, 16}, {16, 3}}), "1 Identity, 1 MatMul");
}

TEST_F(Einsum, OpenSizesStayOpen) {
  EXPECT_EQ(type_of("bhqd,bhkd->bhqk", {{"N", 4, "T", 8}, {"N", 4, "S", 8}}), "float32[N,4,T,S]");
  EXPECT_EQ(type_of("bij,jk->bik", {{"N", 5, 6}, {6, 7}}), "float32[N,5,7]");
  EXPECT_EQ(type_of("bij,bjk", {{"N", 5, 6}, {"N", 6, 7}}), "float32[5,7]");
  EXPECT_EQ(type_of("bci,cio->bo", {{"N", 5, 6}, {5, 6, 7}}), "float32[N,7]");
  EXPECT_EQ(type_of("bsc,cd->bsd", {{"N", "T", 6}, {6, 7}}), "float32[N,T,7]");
  EXPECT_EQ(type_of("gbsc,gcde->gbsde", {{2, "N", "T", 6}, {2, 6, 7, 3}}), "float32[2,N,T,7,3]");
  EXPECT_EQ(type_of("b...->b", {{"N", 5, 6}}), "float32[N]");
  EXPECT_EQ(type_of("bii->bi", {{"N", 5, 5}}), "float32[N,5]");
  EXPECT_EQ(type_of("...,...", {{"N", 5}, {5}}), "float32[N,5]");
  EXPECT_EQ(type_of(" b i , b j -> b i j ", {{"N", 5}, {"N", 6}}), "float32[N,5,6]");
}

TEST_F(Einsum, LettersOfAnyKind) {
  EXPECT_EQ(type_of("ii", {{3, 3}}), "float32[]");
  EXPECT_EQ(type_of("bA", {{2, 3}}), "float32[3,2]");  // upper case comes first
  EXPECT_EQ(type_of("i,i->", {{3}, {3}}), "float32[]");
  EXPECT_EQ(type_of(",i->i", {{}, {3}}), "float32[3]");
  EXPECT_EQ(type_of("ij,ij->ij", {{1, 3}, {2, 1}}), "float32[2,3]");
  EXPECT_EQ(type_of("ij,jk", {{2, 1}, {3, 4}}), "float32[2,4]");
  EXPECT_EQ(type_of("iiji->ij", {{3, 3, 4, 3}}), "float32[3,4]");
  EXPECT_EQ(type_of("...ij->...ji", {{2, 3, 4}}), "float32[2,4,3]");
  EXPECT_EQ(type_of("ij,jk,kl->li", {{2, 3}, {3, 4}, {4, 5}}), "float32[5,2]");
  EXPECT_EQ(type_of("ij,jk->ik", {{2, 0}, {0, 4}}), "float32[2,4]");
  EXPECT_EQ(type_of("ij,jk->ik", {{2, 3}, {3, 4}}, DType::int32), "int32[2,4]");
  EXPECT_EQ(operators_of("ij,jk->ik", {{2, 3}, {3, 4}}, DType::int32),
            "1 Identity, 1 Mul, 1 ReduceSum, 1 Transpose, 2 Unsqueeze");
}

TEST_F(Einsum, AnEquationThatDoesNotFitIsNamed) {
  refused("ij,jk->ik", {{2, 3}, {4, 5}}, "letter j has the sizes 3 and 4");
  refused("...i,...i", {{2, 3}, {4, 3}}, "dimension -1 of the ellipsis has the sizes 2 and 4");
  refused("ij->ij", {{2, 3}, {2, 3}}, "is for 1 operands, the node has 2");
  refused("ijk->i", {{2, 3}}, "has 3 letters for operand 0, which has 2 dimensions");
  refused("...ijk", {{2, 3}}, "has 3 letters for operand 0, which has 2 dimensions");
  refused("ij->ik", {{2, 3}}, "the result has letter k, which no operand has");
  refused("ij->ii", {{2, 3}}, "the result has letter i twice");
  refused("i1->i", {{2, 3}}, "the term 'i1' has '1', should have letters");
  refused("i..->i", {{2, 3}}, "the term 'i..' has '.'");
  refused("...i...->i", {{2, 3}}, "has two ellipses");
  refused("ii->i", {{2, 3}}, "letter i has the sizes 2 and 3");
  refused("ii->i", {{1, 3}}, "a diagonal along letter i of sizes 1 and 3");
  refused("ii->i", {{"N", "N"}}, "a diagonal along letter i, whose size is not known");
}

}  // namespace
}  // namespace lockstep::testing
