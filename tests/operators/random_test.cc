// SPDX-License-Identifier: Apache-2.0
// Random operators: their distributions, and the facts that a number depends on.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/random_stream.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kStream = 77;
const std::pair<std::string, AttributeValue> kFixed{"__fixed_stream", kStream};

double number_at(uint64_t i) { return uniform_of(philox(0, kStream, i / 4)[i % 4]); }

Reference numbers(double low, double high) {
  return [=](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i)
      y.values[i] = low + (high - low) * number_at(i);
    return std::vector<Doubles>{y};
  };
}

std::vector<OpCase> random_cases() {
  const Attributes int32{{"dtype", static_cast<int64_t>(DType::int32)}, kFixed};
  const CaseInput shares = given(Literal::of<float>(
      std::vector<float>{0, 1, 0.25F, 0.5F, 0.75F, 0.9F, 0.1F, 0.5F, 1, 0}, {2, 5}));
  const Reference truths = [](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] = number_at(i) < in[0].values[i];
    return std::vector<Doubles>{y};
  };
  const Reference normals = [](const std::vector<Doubles>& in) {
    Doubles y = in[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const PhiloxBlock words = philox(0, kStream, i / 4);
      y.values[i] = 2 + 3 * normal_of(words[i % 4 / 2 * 2], words[i % 4 / 2 * 2 + 1])[i % 2];
    }
    return std::vector<Doubles>{y};
  };
  const Reference classes = [](const std::vector<Doubles>& in) {
    Doubles y{{in[0].dims[0], 3}, {}};
    for (int64_t i = 0; i < y.dims[0] * 3; ++i) {
      double total = 0, sum = 0;
      const double* row = in[0].values.data() + i / 3 * in[0].dims[1];
      for (int64_t k = 0; k < in[0].dims[1]; ++k) total += std::exp(row[k]);
      int64_t k = 0;
      while ((sum += std::exp(row[k])) <= total * number_at(static_cast<uint64_t>(i))) ++k;
      y.values.push_back(static_cast<double>(k));
    }
    return std::vector<Doubles>{y};
  };
  const auto named = [](const char* name, const char* type, Attributes attributes, CaseInput x,
                        const Reference& reference) {
    attributes.push_back(kFixed);
    return OpCase{.name = name,
                  .type = type,
                  .attributes = std::move(attributes),
                  .inputs = {std::move(x)},
                  .reference = reference,
                  .gradient = false,
                  .oracle = false};
  };
  const auto type = [](DType dtype) {
    return std::pair<std::string, AttributeValue>{"dtype", static_cast<int64_t>(dtype)};
  };
  std::vector<OpCase> cases{
      named("uniform", "RandomUniformLike", {}, random({3, 7}), numbers(0, 1)),
      named("uniform_within", "RandomUniformLike", {{"low", -2.0F}, {"high", 3.0F}}, random({5}),
            numbers(-2, 3)),
      named("uniform_double", "RandomUniformLike", {type(DType::float64)}, random({2, 3}),
            numbers(0, 1)),
      named("uniform_of_none", "RandomUniformLike", {}, random({0, 3}), numbers(0, 1)),
      named("normal", "RandomNormalLike", {{"mean", 2.0F}, {"scale", 3.0F}}, random({3, 7}),
            normals),
      named("normal_double", "RandomNormalLike",
            {{"mean", 2.0F}, {"scale", 3.0F}, type(DType::float64)}, random({9}), normals),
      named("bernoulli", "Bernoulli", {}, shares, truths),
      named("bernoulli_bool", "Bernoulli", {type(DType::boolean)}, shares, truths),
      named("bernoulli_int64", "Bernoulli", {type(DType::int64)}, shares, truths),
      named("bernoulli_double", "Bernoulli", {type(DType::float64)}, shares, truths),
      named("classes", "Multinomial", {{"sample_size", int64_t{3}}}, random({4, 5}), classes),
      named("classes_int64", "Multinomial", {{"sample_size", int64_t{3}}, type(DType::int64)},
            random({2, 3}), classes),
      named("one_class", "Multinomial", {{"sample_size", int64_t{3}}}, random({2, 1}), classes)};
  OpCase open = named("open_batch", "RandomUniformLike", {}, random({3, 2}), numbers(0, 1));
  open.symbolic_batch = true;
  cases.push_back(open);
  return cases;
}

class Random : public ::testing::TestWithParam<OpCase> {};
TEST_P(Random, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Random, ::testing::ValuesIn(random_cases()));

struct Draw {
  const char* type;
  Attributes attributes = {};
  Literal operand = Literal(DType::float32, {20000});
  uint64_t seed = 1, step = 0;
  int threads = 1;
};

// The results as doubles.
std::vector<double> draw(const Draw& asked) {
  Graph graph(all_ops());
  const bool like =
      std::string(asked.type) != "RandomUniform" && std::string(asked.type) != "RandomNormal";
  std::vector<Value> inputs;
  if (like) inputs.push_back(graph.input("x", asked.operand.type()));
  const Value y = graph.add_value(
      {.type = asked.type, .inputs = inputs, .attributes = asked.attributes}, "drawn");
  const Value wide = cast(graph, y, DType::float64, "wide");
  States store({}, {});
  Workers workers(1, asked.threads);
  CompileRequest request{.graph = graph,
                         .fetches = {graph.name(wide)},
                         .devices = cpu_devices(1),
                         .kernels = all_kernels(),
                         .options = {.threads = asked.threads}};
  std::vector<Tensor> feeds;
  if (like) {
    request.feeds = {"x"};
    request.feed_dims = {asked.operand.dims()};
    feeds.push_back(view_of(asked.operand));
  }
  auto executor = make_executor(compile(request), store, workers);
  executor->run(feeds, {{asked.seed, asked.step}});
  const Tensor& found = executor->fetches()[0];
  return {found.as<double>(), found.as<double>() + found.count()};
}

Attributes in_step(int64_t stream, Attributes more = {}) {
  more.push_back(random_stream_attribute(stream));
  return more;
}
std::pair<std::string, AttributeValue> of(DType type) {
  return {"dtype", static_cast<int64_t>(type)};
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}
double deviation_of(const std::vector<double>& values) {
  double sum = 0;
  const double mean = mean_of(values);
  for (double x : values) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Chi square of counts with equal expectations. Expects it within four deviations of its mean.
void expect_even(const std::vector<int>& counts, double expected, const std::string& what) {
  double chi = 0;
  for (int count : counts) chi += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  EXPECT_NEAR(chi, freedom, 4 * std::sqrt(2 * freedom)) << what;
}

TEST(RandomNumbers, UniformOnesFillTheirRangeEvenly) {
  for (DType type : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    const auto values = draw({"RandomUniformLike", in_step(3, {of(type)})});
    std::vector<int> counts(16, 0);
    for (double x : values) {
      ASSERT_GE(x, 0) << type;
      ASSERT_LT(x, 1) << type;
      ++counts[static_cast<std::size_t>(x * 16)];
    }
    expect_even(counts, 20000 / 16.0, join(type));
  }
}

TEST(RandomNumbers, NormalOnesHaveTheirMoments) {
  for (DType type : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    const auto values =
        draw({"RandomNormalLike", in_step(4, {of(type), {"mean", 1.0F}, {"scale", 2.0F}})});
    EXPECT_NEAR(mean_of(values), 1, 4 * 2 / std::sqrt(20000)) << type;
    EXPECT_NEAR(deviation_of(values), 2, 4 * 2 / std::sqrt(2 * 20000)) << type;
    std::vector<int> quarters(4, 0);  // by the quartiles of the normal distribution
    for (double x : values) {
      const double z = (x - 1) / 2;
      ++quarters[z < -0.67449 ? 0 : z < 0 ? 1 : z < 0.67449 ? 2 : 3];
    }
    if (type != DType::bfloat16) expect_even(quarters, 5000, join(type));  // 8 bits are coarse
  }
}

TEST(RandomNumbers, BernoulliIsTrueAsOftenAsAsked) {
  for (double p : {0.0, 0.2, 0.5, 0.95, 1.0})
    for (DType type :
         {DType::float32, DType::boolean, DType::uint8, DType::int32, DType::float16}) {
      const auto operand =
          Literal::rounded<double>(DType::float64, std::vector<double>(20000, p), {20000});
      const auto values = draw({"Bernoulli", in_step(5, {of(type)}), operand});
      for (double x : values) ASSERT_TRUE(x == 0 || x == 1) << x;
      EXPECT_NEAR(mean_of(values), p, 4 * std::sqrt(p * (1 - p) / 20000)) << type;
    }
}

TEST(RandomNumbers, AProbabilityThatIsNotANumberStaysSo) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Literal p = Literal::of<float>(std::vector<float>{nan, 1}, {2});
  for (DType type : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const auto values = draw({"Bernoulli", in_step(5, {of(type)}), p});
    EXPECT_TRUE(std::isnan(values[0])) << type;
    EXPECT_EQ(values[1], 1) << type;
  }
  EXPECT_EQ(draw({"Bernoulli", in_step(5, {of(DType::int32)}), p}), (std::vector<double>{0, 1}));
}

TEST(RandomNumbers, ClassesComeInProportionToTheirProbabilities) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> scores{std::log(0.1), -inf,          std::log(0.4),
                                   std::log(0.2), std::log(0.3), -inf};
  for (DType type : {DType::float32, DType::float64, DType::float16}) {
    const auto values = draw({"Multinomial", in_step(6, {{"sample_size", int64_t{20000}}}),
                              Literal::rounded<double>(type, scores, {1, 6})});
    std::vector<double> counts(6, 0);
    for (double x : values) ++counts[static_cast<std::size_t>(x)];
    double chi = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      const double expected = 20000 * std::exp(scores[k]);
      if (expected == 0)
        EXPECT_EQ(counts[k], 0);
      else
        chi += (counts[k] - expected) * (counts[k] - expected) / expected;
    }
    EXPECT_LT(chi, 16.3) << type << ": three degrees of freedom, one case in a thousand";
  }
  // The scale of the exponentials does not matter, and rows differ.
  const auto high =
      draw({"Multinomial", in_step(6, {{"sample_size", int64_t{4}}}),
            Literal::of<float>(std::vector<float>{1e30F, 0, 0, -1e30F, 5, -1e30F}, {2, 3})});
  EXPECT_EQ(high, (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(RandomNumbers, OfAStepDependOnSeedStepAndStream) {
  const Literal halves = Literal::of<float>(std::vector<float>(20000, 0.5F), {20000});
  const Literal rows(DType::float32, {5000, 8});
  for (const auto& [type, operand] : {std::pair{"RandomUniformLike", halves},
                                      {"RandomNormalLike", halves},
                                      {"Bernoulli", halves},
                                      {"Multinomial", rows}}) {
    const auto first = draw({type, in_step(1), operand, 1, 5});
    EXPECT_EQ(first, draw({type, in_step(1), operand, 1, 5, usable_threads(3)})) << type;
    EXPECT_NE(first, draw({type, in_step(1), operand, 2, 5})) << type;
    EXPECT_NE(first, draw({type, in_step(1), operand, 1, 6})) << type;
    EXPECT_NE(first, draw({type, in_step(2), operand, 1, 5})) << type;
  }
  const Attributes shape{{"shape", Dims{20000}}};
  EXPECT_EQ(draw({"RandomUniform", in_step(1, shape)}),
            draw({"RandomUniformLike", in_step(1), halves}));
  EXPECT_EQ(draw({"RandomNormal", in_step(1, shape)}),
            draw({"RandomNormalLike", in_step(1), halves}));
}

TEST(RandomNumbers, OfAPredictionDependOnTheFixedStreamAlone) {
  for (const char* type : {"RandomUniformLike", "RandomNormalLike"}) {
    const auto first = draw({.type = type, .attributes = {kFixed}});
    EXPECT_EQ(first, draw({.type = type, .attributes = {kFixed}, .seed = 9, .step = 4})) << type;
    EXPECT_NE(first, draw({.type = type, .attributes = {{"__fixed_stream", int64_t{78}}}})) << type;
  }
}

TEST(RandomNumbers, WrongOperandsAreNamed) {
  const auto refused = [](const Draw& asked, const std::string& why) {
    expect_error([&] { draw(asked); }, "drawn", why);
  };
  const auto floats = [](std::vector<float> values, Dims dims) {
    return Literal::of<float>(values, std::move(dims));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  refused({"Bernoulli", {}, floats({0, 1, 1.5F, 0}, {2, 2})},
          "probability 1.5 at [1,0] of 'x' is outside 0..1");
  refused({"Bernoulli", {}, floats({-0.5F}, {1})}, "probability -0.5 at [0] of 'x'");
  refused({"Bernoulli", {}, Literal(DType::int64, {2})}, "should be of a float type");
  for (const float bad : {nan, inf})
    refused({"Multinomial", {}, floats({0, 1, bad, 0}, {2, 2})}, "row 1 of 'x'");
  refused({"Multinomial", {}, floats({-inf, -inf}, {1, 2})}, "no probability above 0");
  refused({"Multinomial", {}, floats({0, 1}, {2})}, "must have rank 2");
  refused({"Multinomial", {{"sample_size", int64_t{0}}}, floats({0, 1}, {1, 2})},
          "sample_size is 0");
  refused({"Multinomial", {of(DType::float32)}, floats({0, 1}, {1, 2})}, "must be int32 or int64");
  refused({"Multinomial", {}, Literal(DType::float32, {2, 0})}, "without a class");
  refused({"RandomUniformLike", {{"low", 2.0F}, {"high", 1.0F}}}, "low is 2");
  refused({"RandomUniformLike", {{"low", nan}}}, "low is nan");
  refused({"RandomNormalLike", {{"scale", -1.0F}}}, "scale, the standard deviation, is -1");
  refused({"RandomNormalLike", {of(DType::int64)}}, "makes numbers of int64");
  refused({"RandomNormalLike", {}, Literal(DType::int64, {2})}, "int64");
}

}  // namespace
}  // namespace lockstep::testing
