// SPDX-License-Identifier: Apache-2.0
// RandomUniform RandomNormal () -> y   of the attribute `shape`
// RandomUniformLike RandomNormalLike (x) -> y   of x's shape
// Bernoulli (p) -> y   1 with probability p, else 0
// Multinomial (x [rows, classes]) -> y [rows, sample_size]   class k with a probability in
//   proportion to exp(x[row, k]), with replacement
#include "operators/random/random.h"

#include <cmath>

#include "graph/random_stream.h"
#include "operators/kit/operator_helpers.h"
#include "operators/kit/saturating_cast.h"
#include "operators/random/source.h"
#include "runtime/finite.h"

namespace lockstep {
namespace {

void demand_floats(const Inference& inference) {
  check(is_floating(inference.outputs[0].dtype), "makes numbers of ", inference.outputs[0].dtype,
        ", should make a float type; set its attribute dtype, or give it an operand of a float "
        "type");
}

double number(const Inference& inference, const char* name, float fallback) {
  AttributeReader attributes = inference.attributes;
  const double value = attributes.number(name, fallback);
  check(std::isfinite(value), "its attribute ", name, " is ", value, ", should be a number");
  return value;
}

void uniform_law(Inference& inference) {
  demand_floats(inference);
  const double low = number(inference, "low", 0), high = number(inference, "high", 1);
  check(low <= high, "its attribute low is ", low, ", above its attribute high, ", high);
}

void normal_law(Inference& inference) {
  demand_floats(inference);
  number(inference, "mean", 0);
  const double scale = number(inference, "scale", 1);
  check(scale >= 0, "its attribute scale, the standard deviation, is ", scale,
        ", should be 0 or more");
}

void bernoulli_law(Inference& inference) {
  check(is_floating(inference.input(0).dtype), "its probabilities are ", inference.input(0),
        ", should be of a float type");
  AttributeReader attributes = inference.attributes;
  const int64_t type = attributes.integer("dtype", static_cast<int64_t>(inference.input(0).dtype));
  inference.outputs[0] = {static_cast<DType>(type), inference.input(0).shape,
                          inference.input(0).ranked};
}

void multinomial_law(Inference& inference) {
  const TensorType& x = inference.input(0);
  check(is_floating(x.dtype), "its logarithms of probabilities are ", x,
        ", should be of a float type");
  check(!x.ranked || !x.shape[1].known() || x.shape[1].size() > 0, "its operand is ", x,
        ", without a class to draw");
  AttributeReader attributes = inference.attributes;
  const int64_t samples = attributes.integer("sample_size", 1);
  check(samples > 0, "its attribute sample_size is ", samples, ", should be 1 or more");
}

}  // namespace

RandomSource random_source_of(const Node& node) {
  if (has_random_stream(node))
    return {RandomSource::Kind::step, static_cast<uint64_t>(random_stream_of(node))};
  if (const auto fixed = fixed_random_stream_of(node))
    return {RandomSource::Kind::fixed, static_cast<uint64_t>(*fixed)};
  return {RandomSource::Kind::initial, converted<uint64_t>(node.attributes().number("seed", 0))};
}

std::string text_of_probability(const std::string& operand, const Dims& dims, double value,
                                int64_t place) {
  return join("probability ", value, " at ", text_of_place(dims, place), " of '", operand,
              "' is outside 0..1");
}

std::string text_of_row(const std::string& operand, int64_t row) {
  return join("row ", row, " of '", operand,
              "', logarithms of probabilities, has no probability above 0, or a value that is "
              "infinite or not a number");
}

std::vector<Op> random_ops() {
  const auto op = [](const char* type, ShapeLaw law) {
    return Op{.type = type,
              .domain = "",
              .law = law,
              .differentiable = Differentiable::zero,
              .random = true};
  };
  return {op("RandomNormal", normal_law),   op("RandomNormalLike", normal_law),
          op("RandomUniform", uniform_law), op("RandomUniformLike", uniform_law),
          op("Bernoulli", bernoulli_law),   op("Multinomial", multinomial_law)};
}

}  // namespace lockstep
