// SPDX-License-Identifier: Apache-2.0
// Data propagation through shapes with a symbolic batch.
#include <gtest/gtest.h>

#include "lockstep/graph.h"
#include "lockstep/operators.h"
#include "operators/kit/data_propagation.h"
#include "operators/kit/symbolic_size.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

std::string sum(const Dim& a, const Dim& b) {
  return text_of(Shape{(*OpenSize::of(a) + *OpenSize::of(b)).dim()});
}
std::string product(const Dim& a, const Dim& b) {
  return text_of(Shape{(*OpenSize::of(a) * *OpenSize::of(b)).dim()});
}
std::string quotient(const Dim& a, const Dim& b) {
  auto found = OpenSize::quotient(*OpenSize::of(a), *OpenSize::of(b));
  return found ? text_of(Shape{found->dim()}) : "none";
}

TEST(OpenSize, IsASumOfProductsHoweverItIsWritten) {
  EXPECT_EQ(sum("N", 0), "[N]");
  EXPECT_EQ(sum("N", "N"), "[2*N]");
  EXPECT_EQ(sum("1 + N", "2*N + M*N"), "[3*N + M*N + 1]");
  EXPECT_EQ(sum("N", "-1*N"), "[0]");
  EXPECT_EQ(product("N + 1", "M"), "[M*N + M]");
  EXPECT_EQ(product("N*2", 3), "[6*N]");
  EXPECT_EQ(product("a-b", 2), "[2*a-b]") << "a symbol, not a difference";
  EXPECT_EQ(product("floor(s0/2 + 1)", 2), "[2*floor(s0/2 + 1)]") << "also a symbol";
  EXPECT_FALSE(OpenSize::of(Dim("?")));
}

TEST(OpenSize, DividesOnlyWithoutRest) {
  EXPECT_EQ(quotient("6*N", 3), "[2*N]");
  EXPECT_EQ(quotient("6*N + 3", 3), "[2*N + 1]");
  EXPECT_EQ(quotient("6*M*N", "2*N"), "[3*M]");
  EXPECT_EQ(quotient("N + 1", "N + 1"), "[1]");
  EXPECT_EQ(quotient("N", 2), "none");
  EXPECT_EQ(quotient("6*M", "N"), "none");
  EXPECT_EQ(quotient("N", 0), "none");
  EXPECT_EQ(quotient(0, "N"), "[0]");
}

class Content : public ::testing::Test {
 protected:
  Value node(const char* type, const std::vector<Value>& inputs,
             const Attributes& attributes = {}) {
    return graph.add_value({.type = type, .inputs = inputs, .attributes = attributes},
                           Site(type, Where::here()));
  }
  Value numbers(const std::vector<int64_t>& values) {
    return graph.constant("numbers", Literal::vector(values));
  }
  Value scalar(int64_t value) { return graph.constant("scalar", Literal::scalar(value)); }
  // The nodes that exporters write for x.shape[axis].
  Value size(Value x, int64_t axis) {
    return node("Gather", {node("Shape", {x}), scalar(axis)}, {{"axis", int64_t{0}}});
  }
  Value vector(const std::vector<Value>& sizes) {
    std::vector<Value> parts;
    for (Value one : sizes) parts.push_back(node("Unsqueeze", {one, numbers({0})}));
    return node("Concat", parts, {{"axis", int64_t{0}}});
  }
  std::string held(Value value) {
    const Shape* content = graph.content(value);
    return content ? text_of(*content) : "nothing";
  }
  std::string shape(Value value) { return text_of(graph.shape(value)); }

  Graph graph{all_ops()};
  Value x = graph.input("x", {DType::float32, {"N", 7, 16}});
};

// torch.nn.MultiheadAttention: [7, N, 16] -> [7, N*4, 4] -> .. -> [7*N, 16] -> [7, N, 16].
TEST_F(Content, HeadsOfAttentionKeepTheBatchOpen) {
  Value turned = node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  Value batch = size(turned, 1), heads = node("Mul", {batch, scalar(4)});
  Value split = node("Reshape", {turned, vector({size(turned, 0), heads, scalar(4)})});
  EXPECT_EQ(shape(split), "[7,4*N,4]");
  Value rows = node("Mul", {size(turned, 0), batch});
  Value flat = node("Reshape", {split, vector({rows, scalar(16)})});
  EXPECT_EQ(shape(flat), "[7*N,16]");
  Value width = node("Div", {heads, batch});
  EXPECT_EQ(held(width), "[4]");
  Value back = node("Reshape", {flat, vector({scalar(7), batch, scalar(-1)})});
  EXPECT_EQ(shape(back), "[7,N,16]");
  EXPECT_EQ(shape(node("Reshape", {back, vector({scalar(-1), scalar(4)})})), "[28*N,4]");
}

// Swin: windows are a separate dimension that is merged with the batch.
TEST_F(Content, WindowsJoinTheBatch) {
  Value picture = graph.input("p", {DType::float32, {"N", 8, 8, 6}});
  Value tall = node("Div", {size(picture, 1), scalar(4)});
  Value apart = node(
      "Reshape",
      {picture, vector({size(picture, 0), tall, scalar(4), tall, scalar(4), size(picture, 3)})});
  EXPECT_EQ(shape(apart), "[N,2,4,2,4,6]");
  Value all = node("Mul", {node("Mul", {size(picture, 0), tall}), tall});
  Value windows = node("Reshape", {apart, vector({all, scalar(16), scalar(6)})});
  EXPECT_EQ(shape(windows), "[4*N,16,6]");
  EXPECT_EQ(held(node("Mod", {all, scalar(4)})), "[0]");
  EXPECT_EQ(held(node("Mod", {all, scalar(3)})), "[?]");
  EXPECT_EQ(shape(node("Reshape", {windows, vector({node("Div", {all, scalar(4)}), scalar(-1)})})),
            "[N,384]");
}

// A class token for every example: where(shape == -1, 1, shape).
TEST_F(Content, ATokenIsExpandedToTheOpenBatch) {
  Value token = graph.input("token", {DType::float32, {1, 1, 16}});
  Value wanted = vector({size(x, 0), scalar(-1), scalar(-1)});
  Value ones = node("ConstantOfShape", {numbers({3})},
                    {{"value", Literal::of<int64_t>(std::vector<int64_t>{1}, {1})}});
  EXPECT_EQ(held(ones), "[1,1,1]");
  Value stays = node("Equal", {wanted, node("Mul", {ones, scalar(-1)})});
  EXPECT_EQ(held(stays), "[0,1,1]");
  Value to = node("Where", {stays, ones, wanted});
  EXPECT_EQ(shape(node("Expand", {token, to})), "[N,1,16]");
}

// repeat(N, 2, 1) of one token.
TEST_F(Content, ATokenIsRepeatedToTheOpenBatch) {
  Value token = graph.input("token", {DType::float32, {1, 1, 16}});
  EXPECT_EQ(shape(node("Tile", {token, vector({size(x, 0), scalar(2), scalar(1)})})), "[N,2,16]");
  EXPECT_EQ(shape(node("Tile", {x, numbers({2, 1, 3})})), "[2*N,7,48]");
}

// Pads as the TorchScript exporter computes them: a table with reversed rows.
TEST_F(Content, PadsArePutIntoOrder) {
  Value more = node("ConstantOfShape", {numbers({4})},
                    {{"value", Literal::of<int64_t>(std::vector<int64_t>{0}, {1})}});
  Value all = node("Concat", {numbers({0, 3, 0, 5}), more}, {{"axis", int64_t{0}}});
  Value table = node("Reshape", {all, numbers({-1, 2})});
  Value reversed =
      node("Slice", {table, numbers({-1}), numbers({INT64_MIN + 1}), numbers({0}), numbers({-1})});
  Value row =
      node("Reshape",
           {node("Transpose", {reversed}, {{"perm", std::vector<int64_t>{1, 0}}}), numbers({-1})});
  EXPECT_EQ(held(row), "[0,0,0,0,0,0,5,3]");
}

TEST_F(Content, ALengthMayBeOpen) {
  Value batch = size(x, 0);
  EXPECT_EQ(shape(node("Range", {scalar(0), batch, scalar(1)})), "[N]");
  EXPECT_EQ(shape(node("Range", {scalar(2), node("Add", {batch, scalar(3)}), scalar(1)})),
            "[N + 1]");
  EXPECT_EQ(held(node("Range", {scalar(1), scalar(7), scalar(2)})), "[1,3,5]");
  EXPECT_EQ(shape(node("ConstantOfShape", {vector({batch, scalar(2)})})), "[N,2]");
  EXPECT_EQ(held(node("Size", {x})), "[112*N]");
  EXPECT_EQ(held(node("ReduceProd", {node("Shape", {x})})), "[112*N]");
  EXPECT_EQ(held(node("Expand", {batch, numbers({2})})), "[N,N]");
  EXPECT_EQ(held(node("Max", {node("Add", {batch, scalar(1)}), batch})), "[N + 1]");
  EXPECT_EQ(held(node("Max", {batch, scalar(5)})), "[?]");
}

TEST_F(Content, WhatIsNotKnownHasAtLeastItsRank) {
  Value to = graph.input("to", {DType::int64, {2}});
  EXPECT_EQ(shape(node("Reshape", {x, to})), "[?,?]");
  Value one = node("Gather", {to, scalar(0)}, {{"axis", int64_t{0}}});
  EXPECT_EQ(shape(node("Reshape", {x, vector({size(x, 0), one, scalar(4)})})), "[N,28,4]")
      << "the count determines the size";
  Value batch = size(x, 0);
  expect_error(
      [&] {
        node("Reshape", {x, vector({batch, scalar(-1), scalar(-1)})});
      },
      "[N,-1,-1] has more than one -1");
  Value fixed = graph.input("fixed", {DType::float32, {6, 4}});
  expect_error([&] { node("Reshape", {fixed, numbers({5, 5})}); }, "cannot reshape [6,4] to [5,5]");
}

}  // namespace
}  // namespace lockstep::testing
