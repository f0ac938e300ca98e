// SPDX-License-Identifier: Apache-2.0
// Compares a GPU's batch norms in every layout and variant with the CPU's batch norms of float32.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/operators.h"
#include "operators/batch_norm/operands.h"
#include "tests/emulated_gpu/node_run.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

using In = BatchNormIn;
using Out = BatchNormOut;

struct Kind {
  DType type = DType::float32;
  bool channels_last = true, relu = false, added = false;
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) {
    return out << kind.type << (kind.channels_last ? " channels last" : " row-major")
               << (kind.added ? ", added" : "") << (kind.relu ? ", ReLU" : "");
  }
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
    for (const bool last : {true, false})
      for (const auto& [relu, added] :
           {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}})
        all.push_back({type, last, relu, added});
  return all;
}

// Shapes that are smaller or much larger than a block's rows and columns of threads, and planes
// larger than a block; packs and single elements.
const std::vector<Dims> kShapes{{6, 16, 9, 7}, {3, 5, 4, 4},   {2, 3, 40, 40}, {2, 3, 41, 33},
                                {3, 7, 5, 5},  {1, 264, 2, 2}, {70, 2, 3, 3},  {33, 24},
                                {1, 1, 1, 1},  {2, 8, 6, 5, 3}};

std::vector<float> random_values(int64_t count, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

Literal widened(const Literal& literal) {
  return of_doubles(to_doubles(literal).values, literal.dims(), DType::float32);
}

// A batch norm on tensors of one type, and its gradient.
class Norm {
 public:
  Norm(const Kind& kind, const Dims& dims, DType type) {
    const Shape shape = to_shape(dims);
    const auto image = [&](const char* name) { return graph_.input(name, {type, shape}); };
    const auto vector = [&](const char* name) {
      return graph_.input(name, {DType::float32, {shape[1]}});
    };
    const Value x = image("x"), scale = vector("scale"), bias = vector("bias"),
                mean = vector("mean"), variance = vector("variance");
    std::vector<Value> operands{x, scale, bias, mean, variance};
    if (kind.added) operands.push_back(image("z"));
    forward_ = graph_
                   .add({.type = "BatchNormTrain",
                         .domain = kOwnDomain,
                         .inputs = operands,
                         .attributes = {{"momentum", 0.75F}, {"relu", int64_t{kind.relu}}},
                         .outputs = 5},
                        "forward")
                   .index();
    std::vector<Value> back{image("dy"), x, scale, mean, variance};
    if (kind.relu) back.insert(back.end(), {bias, image("y")});
    backward_ =
        graph_
            .add({.type = "BatchNormGrad",
                  .domain = kOwnDomain,
                  .inputs = back,
                  .attributes = {{"relu", int64_t{kind.relu}}, {"added", int64_t{kind.added}}},
                  .outputs = kind.relu ? 4 : 3},
                 "backward")
            .index();
  }
  Node forward() const { return graph_.node(forward_); }
  Node backward() const { return graph_.node(backward_); }

 private:
  Graph graph_{all_ops(), "norm"};
  int forward_ = 0, backward_ = 0;
};

class EmulatedBatchNorm : public ::testing::TestWithParam<Kind> {
 protected:
  double tolerance() const {
    return GetParam().type == DType::float32   ? 2e-5
           : GetParam().type == DType::float16 ? 2e-3
                                               : 1e-2;
  }
  void expect_near_all(const std::vector<Literal>& expected, const std::vector<Literal>& found) {
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_near(to_doubles(expected[i]), found[i], i == 0 || i == 3 ? tolerance() : 2e-4,
                  join("result ", i));
  }
  static std::vector<Literal> all_widened(std::vector<Literal> literals) {
    for (Literal& literal : literals) literal = widened(literal);
    return literals;
  }
};

TEST_P(EmulatedBatchNorm, IsThatOfTheCpu) {
  const Kind& kind = GetParam();
  const NodeRun gpu{DeviceKind::gpu, kind.channels_last}, cpu{DeviceKind::cpu, false};
  for (const Dims& dims : kShapes) {
    SCOPED_TRACE(text_of(dims));
    const Norm norm(kind, dims, kind.type), wide(kind, dims, DType::float32);
    const auto images = [&](unsigned seed, float mean = 0) {
      return numbers(kind.type, dims, random_values(element_count(dims), seed, mean));
    };
    const auto vector = [&](unsigned seed) {
      std::vector<float> values = random_values(dims[1], seed);
      for (float& value : values) value = std::abs(value) + 0.5F;
      return numbers(DType::float32, {dims[1]}, values);
    };
    std::vector<Literal> operands{images(1, 5), vector(2), vector(3), vector(4), vector(5)};
    if (kind.added) operands.push_back(images(6));
    const auto found = gpu.results(norm.forward(), operands);
    expect_near_all(cpu.results(wide.forward(), all_widened(operands)), found);
    EXPECT_EQ(gpu.results(norm.forward(), operands), found) << "two runs give different bits";

    std::vector<Literal> back{images(7), operands[In::x], operands[In::scale],
                              found[Out::saved_mean], found[Out::saved_variance]};
    if (kind.relu) back.insert(back.end(), {operands[In::bias], found[Out::y]});
    const auto gradients = gpu.results(norm.backward(), back);
    auto expected = cpu.results(wide.backward(), all_widened(back));
    expect_near_all(expected, gradients);
    EXPECT_EQ(gpu.results(norm.backward(), back), gradients) << "two runs give different bits";
  }
}

// An empty batch has no statistics, and an empty image has no channels.
TEST_P(EmulatedBatchNorm, TakesEmptyImages) {
  const Kind& kind = GetParam();
  const NodeRun gpu{DeviceKind::gpu, kind.channels_last};
  for (const Dims& dims : {Dims{0, 8, 3, 3}, Dims{2, 0, 3, 3}, Dims{2, 3, 0, 3}, Dims{0, 5}}) {
    SCOPED_TRACE(text_of(dims));
    const Norm norm(kind, dims, kind.type);
    const Literal images(kind.type, dims), vector(DType::float32, {dims[1]});
    std::vector<Literal> operands{images, vector, vector, vector, vector};
    if (kind.added) operands.push_back(images);
    EXPECT_EQ(gpu.results(norm.forward(), operands)[0], images);
    std::vector<Literal> back{images, images, vector, vector, vector};
    if (kind.relu) back.insert(back.end(), {vector, images});
    const auto gradients = gpu.results(norm.backward(), back);
    EXPECT_EQ(gradients[0], images);
    EXPECT_EQ(gradients[1], vector);
    EXPECT_EQ(gradients[2], vector);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EmulatedBatchNorm, ::testing::ValuesIn(kinds()));

}  // namespace
}  // namespace lockstep::testing
