// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

// Softmax (or its logarithm) along axis 1 of [N, C, inner].
Doubles softmax_of(const Doubles& x, bool log) {
  int64_t n = x.dims[0], c = x.dims[1], inner = static_cast<int64_t>(x.values.size()) / (n * c);
  Doubles y = x;
  for (int64_t b = 0; b < n; ++b)
    for (int64_t i = 0; i < inner; ++i) {
      double total = 0;
      for (int64_t k = 0; k < c; ++k) total += std::exp(x[(b * c + k) * inner + i]);
      for (int64_t k = 0; k < c; ++k) {
        double& at = y[(b * c + k) * inner + i];
        at = log ? at - std::log(total) : std::exp(at) / total;
      }
    }
  return y;
}

Reference softmax_reference(bool log) {
  return [log](const std::vector<Doubles>& in) {
    return std::vector<Doubles>{softmax_of(in[0], log)};
  };
}

Reference cross_entropy(const std::string& reduction, double ignored = NAN) {
  return [=](const std::vector<Doubles>& in) {
    Doubles log_prob = softmax_of(in[0], true);
    int64_t c = in[0].dims[1], count = static_cast<int64_t>(in[1].values.size());
    int64_t inner = count / in[0].dims[0];
    Doubles each{in[1].dims, std::vector<double>(count)};
    double total = 0, weight_total = 0;
    for (int64_t i = 0; i < count; ++i) {
      double label = in[1][i];
      if (label == ignored) continue;
      double weight = in.size() > 2 ? in[2][static_cast<int64_t>(label)] : 1;
      each[i] =
          -weight * log_prob[(i / inner * c + static_cast<int64_t>(label)) * inner + i % inner];
      total += each[i];
      weight_total += weight;
    }
    if (reduction == "mean" && weight_total > 0) total /= weight_total;  // 0 without labels
    Doubles loss{{}, {total}};
    return std::vector<Doubles>{reduction == "none" ? each : loss, log_prob};
  };
}

OpCase loss(const std::string& name, const Dims& scores, std::vector<int64_t> label_values,
            const Dims& label_dims, const std::string& reduction, bool weighted = false,
            bool ignores = false) {
  OpCase c{.name = name,
           .type = "SoftmaxCrossEntropyLoss",
           .attributes = {{"reduction", reduction}},
           .inputs = {random(scores), labels(std::move(label_values), label_dims)},
           .outputs = 2,
           .reference = cross_entropy(reduction, ignores ? -1 : NAN)};
  if (weighted) {
    c.inputs.push_back(positive({scores[1]}, 3));
    c.inputs.back().differentiable = false;
  }
  if (ignores) c.attributes.push_back({"ignore_index", int64_t{-1}});
  return c;
}

// The log-probabilities of the labels, without a softmax.
Reference likelihood(const std::string& reduction, double ignored = NAN) {
  return [=](const std::vector<Doubles>& in) {
    const int64_t c = in[0].dims[1];
    Doubles each{in[1].dims, {}};
    double total = 0, weights = 0;
    for (std::size_t i = 0; i < in[1].values.size(); ++i) {
      const double label = in[1].values[i];
      const auto at = static_cast<int64_t>(label == ignored ? 0 : label);
      const double weight = label == ignored ? 0 : in.size() > 2 ? in[2][at] : 1;
      each.values.push_back(-weight * in[0][static_cast<int64_t>(i) * c + at]);
      total += each.values.back();
      weights += weight;
    }
    if (reduction == "none") return std::vector<Doubles>{each};
    return std::vector<Doubles>{
        {{}, {reduction == "mean" && weights > 0 ? total / weights : total}}};
  };
}

OpCase as_likelihood(OpCase c, const std::string& reduction, double ignored = NAN) {
  c.type = "NegativeLogLikelihoodLoss";
  c.outputs = 1;
  c.reference = likelihood(reduction, ignored);
  return c;
}

// Losses without any contributing label: all are ignored, or their classes have weight 0. Other
// engines divide 0 by 0.
std::vector<OpCase> of_no_labels() {
  std::vector<OpCase> all;
  for (const char* reduction : {"mean", "sum", "none"})
    for (bool weighted : {false, true}) {
      const std::string name = join("all_ignored", weighted ? "_weighted_" : "_", reduction);
      all.push_back(loss(name, {3, 4}, {-1, -1, -1}, {3}, reduction, weighted, true));
      all.push_back(as_likelihood(all.back(), reduction, -1));
    }
  OpCase weightless = loss("weightless", {3, 4}, {0, 3, 0}, {3}, "mean");
  const float weights[] = {0, 1, 1, 0};
  weightless.inputs.push_back(given(Literal::of<float>(weights, {4})));
  all.push_back(weightless);
  all.push_back(as_likelihood(weightless, "mean"));
  for (OpCase& c : all) c.oracle = false;
  return all;
}

std::vector<OpCase> loss_cases() {
  std::vector<OpCase> all{
      {.name = "rows",
       .type = "Softmax",
       .inputs = {random({3, 4})},
       .reference = softmax_reference(false)},
      {.name = "channels",
       .type = "Softmax",
       .attributes = {{"axis", int64_t{1}}},
       .inputs = {random({2, 3, 4})},
       .reference = softmax_reference(false)},
      {.name = "batch",
       .type = "Softmax",
       .inputs = {random({3, 4})},
       .reference = softmax_reference(false),
       .symbolic_batch = true},
      {.name = "rows",
       .type = "LogSoftmax",
       .inputs = {random({3, 4})},
       .reference = softmax_reference(true)},
      {.name = "channels",
       .type = "LogSoftmax",
       .attributes = {{"axis", int64_t{1}}},
       .inputs = {random({2, 3, 4})},
       .reference = softmax_reference(true)},
      loss("mean", {3, 4}, {0, 3, 1}, {3}, "mean"),
      loss("sum", {3, 4}, {0, 3, 1}, {3}, "sum"),
      loss("none", {3, 4}, {0, 3, 1}, {3}, "none"),
      loss("weighted", {3, 4}, {0, 3, 1}, {3}, "mean", true),
      loss("weighted_sum", {3, 4}, {2, 2, 1}, {3}, "sum", true),
      loss("weighted_none", {3, 4}, {2, 0, 1}, {3}, "none", true),
      loss("ignored", {4, 3}, {0, -1, 2, -1}, {4}, "mean", false, true),
      loss("ignored_weighted", {4, 3}, {0, -1, 2, 1}, {4}, "mean", true, true),
      loss("ignored_none", {4, 3}, {0, -1, 2, 1}, {4}, "none", false, true),
      loss("pixels", {2, 3, 2, 2}, {0, 1, 2, 0, 1, 1, 2, 2}, {2, 2, 2}, "mean"),
  };
  for (const char* reduction : {"mean", "sum", "none"})
    all.push_back(
        as_likelihood(loss(reduction, {3, 4}, {0, 3, 1}, {3}, reduction, true), reduction));
  OpCase narrow = as_likelihood(loss("int32", {3, 4}, {0, 3, 1}, {3}, "mean", true), "mean");
  narrow.inputs[1] = given(Literal::of<int32_t>(std::vector<int32_t>{0, 3, 1}, {3}));
  all.push_back(narrow);
  OpCase pixels =
      loss("pixels", {2, 3, 2, 2}, {0, 1, 2, 0, 1, -1, 2, 2}, {2, 2, 2}, "mean", false, true);
  pixels.type = "NegativeLogLikelihoodLoss";
  pixels.outputs = 1;
  pixels.reference = nullptr;
  all.push_back(pixels);
  OpCase single = loss("loss_only", {3, 4}, {0, 3, 1}, {3}, "mean");
  single.outputs = 1;
  single.reference = nullptr;
  all.push_back(single);
  for (OpCase& c : of_no_labels()) all.push_back(std::move(c));
  return all;
}

class Losses : public ::testing::TestWithParam<OpCase> {};
TEST_P(Losses, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Losses, ::testing::ValuesIn(loss_cases()));

// The error names the first wrong label on any device.
TEST(LossErrors, LabelOutsideTheClassesIsNamed) {
  for (const char* type : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"})
    for (const char* reduction : {"mean", "sum", "none"}) {
      SCOPED_TRACE(join(type, " ", reduction));
      OpCase row = loss("bad", {4, 3}, {0, 2, 3, -1}, {4}, reduction);
      OpCase place = loss("bad", {2, 3, 1, 2}, {0, 1, 2, 7}, {2, 1, 2}, reduction);
      for (OpCase* c : {&row, &place}) {
        c->type = type;
        c->outputs = 1;
        c->reference = nullptr;
      }
      expect_error([&] { check_case(row); }, type,
                   "label 3 of row 2 of 'x1' is outside 0..2 (and is not ignored)");
      expect_error([&] { check_case(place); }, type,
                   "label 7 at [1,0,1] of 'x1' is outside 0..2 (and is not ignored)");
    }
}

TEST(Softmax, DoesNotOverflow) {
  float big[] = {1000, 1001, -1000};
  check_case({.name = "big",
              .type = "Softmax",
              .inputs = {given(Literal::of<float>(big, {1, 3}))},
              .reference =
                  [](const std::vector<Doubles>&) {
                    double e = std::exp(-1.0);
                    return std::vector<Doubles>{{{1, 3}, {e / (1 + e), 1 / (1 + e), 0}}};
                  },
              .gradient = false});
}

}  // namespace
}  // namespace lockstep::testing
