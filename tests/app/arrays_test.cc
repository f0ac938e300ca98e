// SPDX-License-Identifier: Apache-2.0
// The losses and metrics of a network on arrays.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "app/arrays/config.h"
#include "app/arrays/held_out.h"
#include "app/arrays/loss_terms.h"
#include "app/arrays/metrics.h"
#include "app/arrays/named_values.h"
#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(LossTerms, AreOutputsOrLossesOfOutputs) {
  const auto one = parse_loss_terms("loss");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].prediction, "loss");
  EXPECT_EQ(one[0].kind, nullptr);

  const auto weighted = parse_loss_terms("{loss: 1, auxiliary: 0.4}");
  ASSERT_EQ(weighted.size(), 2U);
  EXPECT_EQ(weighted[1].name, "auxiliary");
  EXPECT_EQ(weighted[1].weight, 0.4);

  const auto terms = parse_loss_terms(
      "[loss, {mse: [out, y]}, {mse: {of: z, to: y, weight: 2, mask: m}}, "
      "{cross_entropy: {of: s, to: l, ignore: 255, axis: -1}}, {huber: {of: a, to: b, delta: 2}}]");
  ASSERT_EQ(terms.size(), 5U);
  EXPECT_EQ(terms[1].kind->name, "mse");
  EXPECT_EQ(terms[1].target, "y");
  EXPECT_EQ(terms[2].name, "mse_2");
  EXPECT_EQ(terms[2].mask, "m");
  EXPECT_EQ(terms[2].weight, 2);
  EXPECT_EQ(terms[3].options.ignore, 255);
  EXPECT_EQ(terms[3].options.axis, -1);
  EXPECT_EQ(terms[4].options.delta, 2);
}

TEST(LossTerms, AreRefusedByName) {
  const auto refuse = [](const char* line, auto... parts) {
    expect_error([&] { parse_loss_terms(line); }, parts...);
  };
  refuse("mse", "mse needs an output and a target");
  refuse("{mae: [a, b]}", "'mae' is not known; known: mse, l1, huber, bce, cross_entropy");
  refuse("{mse: [a]}", "mse should be [OUTPUT, TARGET], is '[a]'");
  refuse("{mse: {of: a}}", "mse needs an output (of) and a target (to)");
  refuse("{mse: {of: a, to: b, delta: 1}}", "mse has no field 'delta'", "of, to, mask, weight");
  refuse("{huber: {of: a, to: b, delta: 0}}", "delta is 0");
  refuse("{loss: a}", "the weight of loss should be a number, is 'a'");
  refuse("{loss: 0}", "the weight of loss is 0");
  refuse("[]", "there is no loss in '[]'");
}

template <class T>
Literal values(std::initializer_list<T> list, const Dims& dims) {
  Literal literal(dtype_of<T>(), dims);
  std::memcpy(literal.bytes().data(), list.begin(), list.size() * sizeof(T));
  return literal;
}

double metric(const std::string& line, const Literal& output, const Literal& target,
              const Literal* mask = nullptr) {
  const auto metrics = parse_metrics(line);
  const Metric& metric = metrics.at(0);
  const auto sums = metric.kind->make(metric.options);
  sums->add(view_of(output), view_of(target), mask ? view_of(*mask) : Tensor{});
  return metric.kind->value(sums->sums());
}

TEST(Metrics, CountLabelsAmongTheBestScores) {
  const Literal scores = values<float>({1, 3, 2, 5, 4, 0, 1, 1, 1}, {3, 3});
  const Literal labels = values<int64_t>({1, 1, 2}, {3});
  EXPECT_DOUBLE_EQ(metric("{accuracy: [s, l]}", scores, labels), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metric("{top2: [s, l]}", scores, labels), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metric("{top3: [s, l]}", scores, labels), 1);
  const Literal some = values<int64_t>({1, -100, 2}, {3}), mask = values<float>({1, 1, 0}, {3});
  EXPECT_DOUBLE_EQ(metric("{accuracy: [s, l]}", scores, some), 0.5);
  EXPECT_DOUBLE_EQ(metric("{accuracy: {of: s, to: l, mask: m}}", scores, labels, &mask), 0.5);
  const Literal nan = values<float>({NAN, 0, 0}, {1, 3}), zero = values<int64_t>({0}, {1});
  EXPECT_DOUBLE_EQ(metric("{accuracy: [s, l]}", nan, zero), 0);
}

// Classes in axis 1, as of images, and in the last axis, as of texts.
TEST(Metrics, FindTheAxisOfClasses) {
  const Literal images = values<float>({0, 9, 9, 0, 0, 9}, {1, 2, 3});
  EXPECT_DOUBLE_EQ(metric("{accuracy: [s, l]}", images, values<uint8_t>({1, 0, 1}, {1, 3})),
                   1.0 / 3);
  const Literal texts = values<float>({0, 9, 9, 0, 0, 9}, {1, 3, 2});
  EXPECT_DOUBLE_EQ(metric("{accuracy: [s, l]}", texts, values<int64_t>({1, 0, 1}, {1, 3})), 1);
  expect_error(
      [&] {
        metric("{accuracy: [s, l]}", texts, values<int64_t>({1, 0, 1, 0}, {1, 4}));
      },
      "labels [1,4] do not fit scores [1,3,2]");
  expect_error(
      [&] {
        metric("{accuracy: [s, l]}", texts, values<int64_t>({7, 0, 0}, {1, 3}));
      },
      "a label is 7, but there are scores of 2 classes");
}

TEST(Metrics, MeasureOverlaps) {
  // Guesses 0 1 1 2 of labels 0 1 2 2: class 0 1/1, class 1 1/2, class 2 1/2.
  const Literal scores = values<float>({9, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 9}, {1, 3, 4});
  const Literal labels = values<uint8_t>({0, 1, 2, 2}, {1, 4});
  EXPECT_DOUBLE_EQ(metric("{iou: [s, l]}", scores, labels), (1 + 0.5 + 0.5) / 3);
  const Literal some = values<uint8_t>({0, 1, 255, 2}, {1, 4});
  EXPECT_DOUBLE_EQ(metric("{iou: {of: s, to: l, ignore: 255}}", scores, some), 1);
  const Literal one = values<float>({0.2F, 0.9F, 0.6F, 0.1F}, {1, 1, 2, 2});
  const Literal binary = values<bool>({false, true, false, false}, {1, 2, 2});
  EXPECT_DOUBLE_EQ(metric("{iou: {of: s, to: l, above: 0.5}}", one, binary), (2.0 / 3 + 0.5) / 2);
}

TEST(Metrics, MeasureErrors) {
  const Literal out = values<float>({1, 2, 3, 5}, {4, 1}),
                target = values<double>({1, 4, 3, 4}, {4});
  EXPECT_DOUBLE_EQ(metric("{mean_error: [o, t]}", out, target), 0.75);
  EXPECT_DOUBLE_EQ(metric("{root_mean_square: [o, t]}", out, target), std::sqrt(5.0 / 4));
  EXPECT_DOUBLE_EQ(metric("{r2: [o, t]}", out, target), 1 - 5.0 / 6);
  const Literal scores = values<float>({0, 0, 0, 0}, {2, 2}), labels = values<int32_t>({0, 1}, {2});
  EXPECT_DOUBLE_EQ(metric("{perplexity: [s, l]}", scores, labels), 2);
}

TEST(Metrics, ReadTargetsOfAnyNumbers) {
  const auto targets = [](auto... numbers) {
    return std::vector<Literal>{
        Literal::of<decltype(numbers)>(std::vector<decltype(numbers)>(4, numbers), {4})...};
  };
  for (const Literal& two :
       targets(2.0F, 2.0, Half(2.0F), BFloat16(2.0F), int64_t{2}, int32_t{2}, int16_t{2}, int8_t{2},
               uint64_t{2}, uint32_t{2}, uint16_t{2}, uint8_t{2}))
    EXPECT_DOUBLE_EQ(metric("{mean_error: [o, t]}", values<float>({1, 2, 2, 2}, {4}), two), 0.25)
        << two.type();
}

// The sums of two parts, added, give the metric of the whole, also if a part has fewer classes.
TEST(Metrics, AddUp) {
  const Metric iou = parse_metrics("{iou: [s, l]}").at(0);
  std::vector<double> sums;
  for (int part = 0; part < 2; ++part) {
    const auto of_part = iou.kind->make({});
    of_part->add(view_of(values<float>({9, 0, 0, 9}, {2, 2})),
                 view_of(values<int64_t>({0, part}, {2})), {});
    add_sums(sums, of_part->sums());
  }
  EXPECT_DOUBLE_EQ(iou.kind->value(sums), (2.0 / 3 + 1.0 / 2) / 2);
  std::vector<double> longer{1};
  add_sums(longer, {1, 2, 3});
  EXPECT_EQ(longer, (std::vector<double>{2, 2, 3}));
}

TEST(Metrics, AreRefusedByName) {
  const auto refuse = [](const char* line, auto... parts) {
    expect_error([&] { parse_metrics(line); }, parts...);
  };
  EXPECT_TRUE(parse_metrics("").empty());
  refuse("accuracy", "metrics should be {NAME: [OUTPUT, TARGET], ..}");
  refuse("{auc: [a, b]}", "'auc' is not known", "accuracy");
  refuse("{top: [a, b]}", "'top' is not known", "top5");
  refuse("{top0: [a, b]}", "top0 counts nothing");
  refuse("{iou: [a]}", "iou should be [OUTPUT, TARGET]");
  refuse("{iou: {of: a, over: b}}", "iou has no field 'over'");
}

// Ranks order results from worst to best between 0 and 1, and give back the number.
TEST(Ranks, OrderResults) {
  double last = 1;
  for (const double loss : {-1e9, -3.0, -0.25, 0.0, 1e-6, 0.5, 40.0, 3.5e8}) {
    const double rank = rank_of({.loss = loss}, {});
    EXPECT_GT(rank, 0) << loss;
    EXPECT_LT(rank, last) << loss;
    EXPECT_NEAR(value_of_rank(rank, {}), loss, 1e-6 * std::max(1.0, std::abs(loss))) << loss;
    last = rank;
  }
  const auto accuracy = parse_metrics("{accuracy: [a, b]}"), r2 = parse_metrics("{r2: [a, b]}");
  EXPECT_EQ(rank_of({.metrics = {0.75}}, accuracy), 0.75);
  EXPECT_LT(rank_of({.metrics = {-2}}, r2), rank_of({.metrics = {0.5}}, r2));
  EXPECT_NEAR(value_of_rank(rank_of({.metrics = {0.9}}, r2), r2), 0.9, 1e-12);
}

TEST(NamedValues, AreRead) {
  EXPECT_EQ(numbers_of("{labels: -100, x: 0.5}").at("labels"), -100);
  EXPECT_EQ(texts_of("{attention_mask: tokens.mask}").at("attention_mask"), "tokens.mask");
  const auto columns = columns_of("{x: [a, 'b c'], y: price}");
  EXPECT_EQ(columns.at("x"), (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(columns.at("y"), (std::vector<std::string>{"price"}));
  EXPECT_TRUE(texts_of("").empty());
  expect_error([] { numbers_of("{x: a}"); }, "the value of x should be a number, is 'a'");
  expect_error([] { texts_of("x"); }, "should be {NAME: VALUE, ..}, is 'x'");
  expect_error([] { columns_of("{x: []}"); }, "x has no columns");
}

}  // namespace
}  // namespace lockstep::testing
