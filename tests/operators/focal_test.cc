// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/random.h"
#include "operators/kit/exponential.h"
#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

struct Focal {
  int64_t classes;
  double alpha, gamma;
  bool softmax;
};

// The published formulas.
Reference naive_focal(const Focal& of) {
  return [of](const std::vector<Doubles>& in) {
    const Doubles &logits = in[0], &label_of = in[1];
    const int64_t cells = label_of.dims[2] * label_of.dims[3];
    const int64_t planes = of.classes + (of.softmax ? 1 : 0);
    double total = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(label_of.values.size()); ++i) {
      const auto label = static_cast<int64_t>(label_of[i]);
      if (label < 0) continue;
      const int64_t first = i / cells * planes * cells + i % cells;
      if (of.softmax) {
        double sum = 0;
        for (int64_t c = 0; c < planes; ++c) sum += std::exp(logits[first + c * cells]);
        const double p = std::exp(logits[first + label * cells]) / sum;
        total -= (label == 0 ? 1 - of.alpha : of.alpha) * std::pow(1 - p, of.gamma) * std::log(p);
        continue;
      }
      for (int64_t d = 1; d <= of.classes; ++d) {
        const double p = 1 / (1 + std::exp(-logits[first + (d - 1) * cells]));
        total -= label == d ? of.alpha * std::pow(1 - p, of.gamma) * std::log(p)
                            : (1 - of.alpha) * std::pow(p, of.gamma) * std::log(1 - p);
      }
    }
    return std::vector<Doubles>{{{}, {total / std::max(1.0, in[2][0])}}};
  };
}

CaseInput some_labels(const Dims& dims, int64_t classes, bool none = false) {
  PhiloxSequence random(4, 9);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < element_count(dims); ++i)
    values.push_back(none ? -1 : static_cast<int64_t>(random.below(classes + 2)) - 1);
  return labels(values, dims);
}

CaseInput scaled(CaseInput input, float factor) {
  std::vector<float> values(input.value.values<float>().begin(), input.value.values<float>().end());
  for (float& value : values) value *= factor;
  input.value = Literal::of<float>(values, input.value.dims());
  return input;
}

OpCase focal_case(const std::string& name, const Focal& of, const Dims& anchors, float objects,
                  float spread = 3) {
  const int64_t planes = of.classes + (of.softmax ? 1 : 0);
  const Dims logits{anchors[0], anchors[1] * planes, anchors[2], anchors[3]};
  return {.name = name,
          .type = of.softmax ? "SoftmaxFocalLoss" : "SigmoidFocalLoss",
          .domain = kOwnDomain,
          .attributes = {{"classes", of.classes},
                         {"alpha", static_cast<float>(of.alpha)},
                         {"gamma", static_cast<float>(of.gamma)}},
          .inputs = {scaled(random(logits), spread), some_labels(anchors, of.classes),
                     given(Literal::scalar(objects))},
          .reference = naive_focal(of)};
}

std::vector<OpCase> focal_cases() {
  std::vector<OpCase> all;
  for (bool softmax : {false, true}) {
    const Focal usual{3, 0.25, 2, softmax};
    all.push_back(focal_case("usual", usual, {2, 3, 2, 5}, 7));
    all.push_back(focal_case("batch", usual, {2, 1, 1, 3}, 2));
    all.back().symbolic_batch = true;
    all.push_back(focal_case("several_chunks", {2, 0.25, 2, softmax}, {2, 2, 20, 31}, 400));
    all.push_back(focal_case("one_class", {1, 0.25, 2, softmax}, {1, 1, 1, 1}, 1));
    all.push_back(focal_case("no_objects", usual, {1, 2, 2, 2}, 0));
    all.push_back(focal_case("no_images", usual, {0, 2, 2, 2}, 3));
    all.push_back(focal_case("no_anchors", usual, {1, 0, 2, 2}, 3));
    all.push_back(focal_case("no_cells", usual, {1, 2, 0, 2}, 3));
    for (double gamma : {0.0, 0.5, 1.0, 1.5, 3.0})
      all.push_back(focal_case(join("gamma_", gamma), {3, 0.4, gamma, softmax}, {2, 2, 2, 3}, 5));
    for (double alpha : {0.0, 1.0})
      all.push_back(focal_case(join("alpha_", alpha), {3, alpha, 2, softmax}, {2, 2, 2, 3}, 5));
    all.push_back(focal_case("none_counts", usual, {1, 2, 2, 2}, 3));
    all.back().inputs[1] = some_labels({1, 2, 2, 2}, 3, true);
    all.push_back(focal_case("labels_of_32_bits", usual, {1, 1, 1, 3}, 3));
    all.back().inputs[1] =
        given(Literal::of<int32_t>(std::vector<int32_t>{0, 3, -1}, {1, 1, 1, 3}));
  }
  return all;
}

class Focals : public ::testing::TestWithParam<OpCase> {};
TEST_P(Focals, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Focals, ::testing::ValuesIn(focal_cases()));

// The gradient of a case's loss with respect to its logits.
std::vector<float> focal_slopes(const OpCase& c) {
  OpCase gradient = c;
  gradient.type += "Grad";
  gradient.inputs.insert(gradient.inputs.begin(), given(Literal::scalar(1.0F)));
  const Literal found = results_on_threads(gradient, 1)[0];
  return {found.values<float>().begin(), found.values<float>().end()};
}

OpCase with_logits(OpCase c, const std::vector<float>& logits) {
  c.inputs[0] = given(Literal::of<float>(logits, c.inputs[0].value.dims()));
  return c;
}

// Logits for which exp() overflows or 1 - p is 0.
TEST(FocalLoss, IsExactForSureAndForWrongPredictions) {
  OpCase c = focal_case("sure", {1, 0.25, 2, false}, {1, 1, 1, 4}, 1);
  c.inputs[1] = labels({1, 0, 1, 0}, {1, 1, 1, 4});
  const auto loss = [&](const std::vector<float>& logits) {
    return results_on_threads(with_logits(c, logits), 1)[0].values<float>()[0];
  };
  EXPECT_FLOAT_EQ(0.25F * 200 + 0.75F * 300, loss({-200, 300, 500, -500}));
  EXPECT_EQ((std::vector<float>{-0.25F, 0.75F, 0, 0}),
            focal_slopes(with_logits(c, {-200, 300, 500, -500})));
  EXPECT_NEAR(2 * std::pow(std::exp(-10), 3), loss({10, -10, 10, -10}), 1e-16);

  OpCase soft = focal_case("sure", {1, 0.25, 2, true}, {1, 1, 1, 2}, 1);
  soft.inputs[1] = labels({1, 0}, {1, 1, 1, 2});
  const std::vector<float> wrong{100, -100, -100, 100}, sure{-100, 100, 100, -100};
  EXPECT_FLOAT_EQ(200, results_on_threads(with_logits(soft, wrong), 1)[0].values<float>()[0]);
  EXPECT_EQ((std::vector<float>{0.25F, -0.75F, -0.25F, 0.75F}),
            focal_slopes(with_logits(soft, wrong)));
  EXPECT_EQ(0, results_on_threads(with_logits(soft, sure), 1)[0].values<float>()[0]);
  EXPECT_EQ((std::vector<float>(4, 0)), focal_slopes(with_logits(soft, sure)));
}

// A NaN appears in the loss, unless its anchor is ignored.
TEST(FocalLoss, HidesNoNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (bool softmax : {false, true})
    for (std::size_t place : {0, 2, 4}) {
      OpCase c = focal_case("nan", {2, 0.25, 2, softmax}, {1, 1, 1, 2}, 1);
      std::vector<float> logits(static_cast<std::size_t>(c.inputs[0].value.count()), 0.5F);
      if (place >= logits.size()) continue;
      logits[place] = nan;
      c = with_logits(c, logits);
      c.inputs[1] = labels({1, 0}, {1, 1, 1, 2});
      EXPECT_TRUE(std::isnan(results_on_threads(c, 1)[0].values<float>()[0]));
      EXPECT_TRUE(std::isnan(focal_slopes(c)[place]));
      c.inputs[1] = labels({-1, 0}, {1, 1, 1, 2});
      EXPECT_FALSE(std::isnan(results_on_threads(c, 1)[0].values<float>()[0]));
      for (float slope : focal_slopes(c)) EXPECT_FALSE(std::isnan(slope));
    }
}

TEST(FocalLoss, ThreadsDoNotChangeIt) {
  for (bool softmax : {false, true}) {
    OpCase c = focal_case("many", {5, 0.25, 2, softmax}, {2, 3, 23, 29}, 100);
    expect_same_bits_on_any_threads(c);
    c.type += "Grad";
    c.inputs.insert(c.inputs.begin(), given(Literal::scalar(0.7F)));
    expect_same_bits_on_any_threads(c);
  }
}

TEST(FocalLoss, ALabelThatIsNoClassIsNamed) {
  for (bool softmax : {false, true})
    for (int64_t label : {int64_t{-2}, int64_t{4}, std::numeric_limits<int64_t>::max()}) {
      OpCase c = focal_case("bad", {3, 0.25, 2, softmax}, {1, 1, 1, 2}, 1);
      c.inputs[1] = labels({0, label}, {1, 1, 1, 2});
      const auto why = [&](const char* labels) {
        return join("label ", label, " at [0,0,0,1] of '", labels,
                    "' is outside 0..3 (and is not ignored)");
      };
      expect_error([&] { results_on_threads(c, 1); }, why("x1"));
      expect_error([&] { focal_slopes(c); }, why("x2"));  // from the loss's gradient
    }
}

TEST(Exponential, IsThatOfTheLibrary) {
  for (int i = 0; i < 200000; ++i) {
    const float a = static_cast<float>(i) * 4.4e-4F, e = static_cast<float>(i) / 200000;
    const double exact = std::exp(-static_cast<double>(a)), log = std::log1p(double(e));
    ASSERT_NEAR(a < 87 ? exact : 0, exp_of_minus(a), 2.5e-7 * exact) << a;
    ASSERT_NEAR(log, log_of_one_plus(e), 2.5e-7 * log) << e;
  }
  EXPECT_EQ(1, exp_of_minus(0));
  EXPECT_EQ(0, exp_of_minus(87));
  EXPECT_EQ(0, exp_of_minus(std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(std::isnan(exp_of_minus(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lockstep::testing
