// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/gradient.h"
#include "tests/support/case_run.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

enum class How { sum, mean, max, min, l1, l2, sum_square, log_sum, log_sum_exp, prod };

// log(exp(a) + exp(b))
double log_of_exps(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(std::min(a, b) - top));
}

// Reduces `axes` of any shape.
Reference naive(How how, const std::vector<int64_t>& axes, bool keep) {
  return [=](const std::vector<Doubles>& in) {
    const Doubles& x = in[0];
    const std::size_t rank = x.dims.size();
    std::vector<bool> gone(rank, axes.empty());
    for (int64_t axis : axes) gone[axis < 0 ? axis + static_cast<int64_t>(rank) : axis] = true;
    Dims kept, shape;
    int64_t count = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      kept.push_back(gone[i] ? 1 : x.dims[i]);
      if (!gone[i]) shape.push_back(x.dims[i]);
      if (gone[i]) count *= x.dims[i];
    }
    double start = how == How::max ? -1e300 : how == How::min ? 1e300 : how == How::prod ? 1 : 0;
    if (how == How::log_sum_exp) start = -INFINITY;
    Doubles y{keep ? kept : shape, std::vector<double>(element_count(kept), start)};
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), to = 0, stride = 1;
      for (std::size_t k = rank; k-- > 0;) {
        if (!gone[k]) to += rest % x.dims[k] * stride;
        stride *= kept[k];
        rest /= x.dims[k];
      }
      double& at = y[to];
      switch (how) {
        case How::max:
          at = std::max(at, x[i]);
          break;
        case How::min:
          at = std::min(at, x[i]);
          break;
        case How::prod:
          at *= x[i];
          break;
        case How::l1:
          at += std::abs(x[i]);
          break;
        case How::l2:
        case How::sum_square:
          at += x[i] * x[i];
          break;
        case How::log_sum_exp:
          at = log_of_exps(at, x[i]);
          break;
        default:
          at += x[i];
      }
    }
    for (double& value : y.values) {
      if (how == How::mean) value /= static_cast<double>(count);
      if (how == How::l2) value = std::sqrt(value);
      if (how == How::log_sum) value = std::log(value);
    }
    return std::vector<Doubles>{y};
  };
}

OpCase by_operand(const std::string& name, const Dims& x, const std::vector<int64_t>& axes,
                  bool keep) {
  OpCase c{.name = name,
           .type = "ReduceSum",
           .attributes = {{"keepdims", int64_t{keep}}},
           .inputs = {random(x)},
           .reference = naive(How::sum, axes, keep)};
  if (!axes.empty()) c.inputs.push_back(fixed(axes));
  return c;
}

OpCase by_attribute(const std::string& name, const std::string& type, How how, const Dims& x,
                    const std::vector<int64_t>& axes, bool keep) {
  OpCase c{.name = name,
           .type = type,
           .attributes = {{"keepdims", int64_t{keep}}},
           .inputs = {random(x)},
           .reference = naive(how, axes, keep)};
  if (!axes.empty()) c.attributes.push_back({"axes", axes});
  return c;
}

// Numbers whose exponentials overflow, or are all 0.
OpCase far_from_zero(const std::string& name, double shift, const std::vector<int64_t>& axes) {
  OpCase c = by_attribute(name, "ReduceLogSumExp", How::log_sum_exp, {3, 11}, axes, false);
  std::vector<double> values = to_doubles(c.inputs[0].value).values;
  for (double& value : values) value += shift;
  c.inputs[0].value = of_doubles(values, {3, 11});
  c.tolerance = 2e-7;
  return c;
}

// Keeps one dimension of images, rows or neither, for numbers of a type.
std::vector<OpCase> sums_by_channel() {
  const std::vector<std::pair<Dims, int64_t>> sums{
      {{5, 3, 3, 7}, 1}, {{3, 8, 4, 4}, 1}, {{9, 4, 12}, 1},   {{2, 1, 3, 3}, 1},
      {{3, 5}, 1},       {{70, 16}, 1},     {{2, 3, 4}, 2},    {{2, 3, 4}, 0},
      {{600, 8}, 1},     {{0, 3, 2, 2}, 1}, {{2, 3, 0, 4}, 1}, {{2, 0, 3}, 1}};
  std::vector<OpCase> all;
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const auto& [dims, axis] : sums) {
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
        if (i != axis) axes.push_back(i);
      const std::vector<double> values = to_doubles(random(dims).value).values;
      all.push_back({.name = join(type, "_", text_of(dims), "_leaving_", axis),
                     .type = "ChannelSums",
                     .domain = kOwnDomain,
                     .attributes = {{"axis", axis}},
                     .inputs = {given(of_doubles(values, dims, type))},
                     .reference = naive(How::sum, axes, false),
                     .gradient = false,
                     .oracle = false});
    }
  return all;
}

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> all{
      by_operand("all", {2, 3, 4}, {}, false),
      by_operand("all_kept", {2, 3, 4}, {}, true),
      by_operand("last", {3, 5}, {1}, false),
      by_operand("last_kept", {3, 5}, {-1}, true),
      by_operand("first", {3, 5}, {0}, false),
      by_operand("wide_first", {3, 150}, {0}, false),
      by_operand("channels", {2, 3, 2, 2}, {0, 2, 3}, false),
      by_operand("channels_odd", {5, 3, 3, 7}, {0, 2, 3}, false),
      by_operand("channels_kept", {9, 4, 12}, {0, 2}, true),
      by_operand("channels_large", {3, 2, 37, 36}, {0, 2, 3}, false),
      by_operand("middle", {2, 3, 4}, {1}, true),
      by_operand("outer_and_inner", {2, 3, 4}, {0, 2}, false),
      by_operand("long_row", {2, 37}, {1}, false),
      by_operand("empty", {0}, {}, false),
      by_operand("no_columns", {3, 0}, {1}, true),
      by_operand("no_rows", {0, 3}, {0}, false),
      by_attribute("empty", "ReduceSumSquare", How::sum_square, {0}, {}, false),
      by_attribute("all", "ReduceMean", How::mean, {2, 3}, {}, false),
      by_attribute("rows", "ReduceMean", How::mean, {2, 3, 2}, {1, 2}, true),
      by_attribute("first", "ReduceMean", How::mean, {4, 3}, {0}, false),
      by_attribute("all", "ReduceMax", How::max, {2, 3}, {}, false),
      by_attribute("rows", "ReduceMax", How::max, {2, 5}, {1}, true),
      by_attribute("columns", "ReduceMax", How::max, {3, 2, 2}, {0}, false),
      by_attribute("rows", "ReduceL1", How::l1, {2, 5}, {1}, true),
      by_attribute("all", "ReduceL1", How::l1, {2, 5}, {}, false),
      by_attribute("rows", "ReduceL2", How::l2, {2, 5}, {1}, false),
      by_attribute("columns", "ReduceL2", How::l2, {2, 5}, {0}, true),
      by_attribute("columns", "ReduceSumSquare", How::sum_square, {3, 2, 2}, {0, 2}, false),
      by_attribute("rows", "ReduceLogSumExp", How::log_sum_exp, {2, 5}, {1}, false),
      by_attribute("kept", "ReduceLogSumExp", How::log_sum_exp, {2, 3, 2}, {1}, true),
      far_from_zero("rows_far_below", -1000, {1}),
      far_from_zero("rows_far_above", 1000, {1}),
      far_from_zero("columns_far_below", -1000, {0}),
      far_from_zero("columns_far_above", 1000, {0}),
      far_from_zero("all_far_below", -1000, {}),
      by_attribute("long_rows", "ReduceLogSumExp", How::log_sum_exp, {2, 300}, {1}, true),
      by_attribute("wide_columns", "ReduceLogSumExp", How::log_sum_exp, {3, 150}, {0}, true),
      by_attribute("no_columns", "ReduceLogSumExp", How::log_sum_exp, {3, 0}, {1}, true),
      by_attribute("rows", "ReduceProd", How::prod, {2, 3}, {1}, false),
      by_attribute("rows", "ReduceMin", How::min, {2, 5}, {1}, false),
      by_attribute("columns", "ReduceMin", How::min, {3, 4}, {0}, true),
  };
  all.push_back({.name = "positive",
                 .type = "ReduceLogSum",
                 .attributes = {{"axes", std::vector<int64_t>{1}}},
                 .inputs = {positive({3, 4})},
                 .reference = naive(How::log_sum, {1}, true)});
  for (const OpCase& c : sums_by_channel()) all.push_back(c);
  for (OpCase& c : all) {
    if (c.type == "ChannelSums") continue;
    c.gradient = c.type != "ReduceProd";
    for (int64_t size : c.inputs[0].value.dims()) c.gradient = c.gradient && size > 0;
  }
  OpCase batch = by_operand("batch", {3, 5}, {0}, false);
  batch.symbolic_batch = true;
  all.push_back(batch);
  batch = by_attribute("batch", "ReduceMean", How::mean, {3, 4}, {}, false);
  batch.symbolic_batch = true;
  all.push_back(batch);
  Reference best = [](const std::vector<Doubles>& in) {
    Doubles y{{3}, {}};
    for (int i = 0; i < 3; ++i)
      y.values.push_back(
          std::max_element(in[0].values.begin() + i * 4, in[0].values.begin() + i * 4 + 4) -
          (in[0].values.begin() + i * 4));
    return std::vector<Doubles>{y};
  };
  all.push_back({.name = "rows",
                 .type = "ArgMax",
                 .attributes = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}},
                 .inputs = {random({3, 4})},
                 .reference = best,
                 .gradient = false});
  all.push_back({.name = "columns",
                 .type = "ArgMax",
                 .attributes = {{"axis", int64_t{0}}},
                 .inputs = {random({3, 4})},
                 .gradient = false});
  for (int64_t reverse : {0, 1})
    for (int64_t exclusive : {0, 1})
      all.push_back({.name = join("reverse", reverse, "_exclusive", exclusive),
                     .type = "CumSum",
                     .attributes = {{"reverse", reverse}, {"exclusive", exclusive}},
                     .inputs = {random({2, 4}), {Literal::scalar(int64_t{1}), false, true, false}},
                     .reference = [=](const std::vector<Doubles>& in) {
                       Doubles y{{2, 4}, std::vector<double>(8)};
                       for (int i = 0; i < 8; ++i)
                         for (int k = 0; k < 4; ++k) {
                           int at = i % 4;
                           bool counts = (reverse ? k > at : k < at) || (k == at && !exclusive);
                           if (counts) y[i] += in[0][i / 4 * 4 + k];
                         }
                       return std::vector<Doubles>{y};
                     }});
  all.push_back({.name = "of_more_than_a_block_takes_at_once",
                 .type = "CumSum",
                 .inputs = {random({2, 300, 3}), {Literal::scalar(int64_t{1}), false, true, false}},
                 .reference =
                     [](const std::vector<Doubles>& in) {
                       Doubles y{{2, 300, 3}, in[0].values};
                       for (int i = 0; i < 2; ++i)
                         for (int k = 3; k < 900; ++k) y[i * 900 + k] += y[i * 900 + k - 3];
                       return std::vector<Doubles>{y};
                     },
                 .gradient = false});
  all.push_back({.name = "rows", .type = "Hardmax", .inputs = {random({3, 4})}, .gradient = false});
  all.push_back({.name = "columns",
                 .type = "Hardmax",
                 .attributes = {{"axis", int64_t{0}}},
                 .inputs = {random({3, 4})},
                 .gradient = false});
  float ties[] = {1, 3, 3, 0};
  all.push_back({.name = "last_tie",
                 .type = "ArgMax",
                 .attributes = {{"select_last_index", int64_t{1}}},
                 .inputs = {given(Literal::of<float>(ties, {4}))},
                 .reference =
                     [](const std::vector<Doubles>&) {
                       return std::vector<Doubles>{{{1}, {2}}};
                     },
                 .gradient = false});
  return all;
}

class Reduce : public ::testing::TestWithParam<OpCase> {};
TEST_P(Reduce, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Reduce, ::testing::ValuesIn(reduce_cases()));

// -- log-sum-exp of extreme numbers

// Numbers, their log-sum-exp and its gradient in PyTorch 2.15. PyTorch has one other result: its
// gradient of the row of -inf is not a number.
struct ExtremeRow {
  std::vector<double> x;
  double y;
  std::vector<double> gradient;
};
constexpr double kInf = INFINITY;
const std::vector<ExtremeRow> kExtremes{
    {{-1000, -1001, -1002, -1003}, -999.559814453, {0.643917, 0.236884, 0.087145, 0.032059}},
    {{1000, 1001, 1002, 1003}, 1003.440185547, {0.032059, 0.087145, 0.236884, 0.643917}},
    {{-1e4, -1e4, -10008, -1e4}, -9998.9013672, {0.333326, 0.333326, 0.000112, 0.333326}},
    {{-1e30, -1e30, -1e30, -1e30}, -1e30, {1, 1, 1, 1}},
    {{3e38, -3e38, 0, 3e38}, 3e38, {1, 0, 0, 1}},
    {{-kInf, -kInf, -kInf, -kInf}, -kInf, {0, 0, 0, 0}},
    {{-kInf, -2, -kInf, -3}, -1.68673837, {0, 0.731059, 0, 0.268941}},
    {{kInf, 0, -kInf, 1}, kInf, {NAN, 0, 0, 0}},
    {{kInf, kInf, 1, 2}, kInf, {NAN, NAN, 0, 0}},
    {{NAN, 1, kInf, -kInf}, NAN, {NAN, NAN, NAN, NAN}}};
constexpr int64_t kInRow = 4;

enum class Along { rows, columns };

// All values of the rows; along columns each row becomes a column.
Doubles table_of(const std::vector<std::vector<double>>& rows, Along along) {
  const auto height = static_cast<int64_t>(rows.size());
  const auto width = static_cast<int64_t>(rows[0].size());
  Doubles table{{height, width}, {}};
  if (along == Along::columns) std::swap(table.dims[0], table.dims[1]);
  for (int64_t i = 0; i < height * width; ++i)
    table.values.push_back(along == Along::rows ? rows[i / width][i % width]
                                                : rows[i % height][i / height]);
  return table;
}

struct Extremes {
  Doubles x, y, gradient;
  Literal fed;

  Extremes(Along along, DType type) {
    std::vector<std::vector<double>> numbers, results, gradients;
    for (const ExtremeRow& row : kExtremes) {
      numbers.push_back(row.x);
      results.push_back({row.y});
      gradients.push_back(row.gradient);
    }
    x = table_of(numbers, along);
    y = table_of(results, along);
    gradient = table_of(gradients, along);
    fed = Literal::rounded<double>(type, x.values, x.dims);
  }
};

// Returns y, and the gradient of the sum of y.
std::vector<Literal> log_sum_exp_of(const Literal& x, Along along) {
  const OpCase c{.name = "extremes",
                 .type = "ReduceLogSumExp",
                 .attributes = {{"axes", std::vector<int64_t>{along == Along::rows ? 1 : 0}}},
                 .inputs = {{x, true, false, false}}};
  Built built = build(c);
  Graph& graph = built.graph;
  const Value ones = graph.constant(
      "ones", Literal::rounded<double>(x.dtype(), std::vector<double>(kExtremes.size(), 1),
                                       to_dims(graph.shape(built.outputs[0]))));
  const Value gradient = add_gradients(graph, {{built.outputs[0], ones}}, built.inputs).values[0];
  return CaseRunner(graph, c, built.feeds, {graph.name(built.outputs[0]), graph.name(gradient)},
                    guarded())
      .run({x});
}

TEST(LogSumExp, OfExtremeNumbersIsPyTorchs) {
  for (const Along along : {Along::rows, Along::columns})
    for (const DType type : {DType::float32, DType::float64}) {
      SCOPED_TRACE(join(along == Along::rows ? "rows of " : "columns of ", type));
      const Extremes of(along, type);
      const std::vector<Literal> found = log_sum_exp_of(of.fed, along);
      expect_near(of.y, found[0], 1e-7, "y");
      // In float64 a y of -9998.9 is not rounded, and the shares of -1e4 are 3e-5 smaller.
      expect_near(of.gradient, found[1], type == DType::float32 ? device_tolerance() + 2e-6 : 5e-5,
                  "gradient");
    }
}

// The kernels of 16-bit floats round results once.
TEST(LogSumExp, OfExtremeNumbersIn16BitsIsRounded) {
  if (!runs_on_the_cpu())
    GTEST_SKIP() << "needs the kernels of a CPU: a GPU has none for 16-bit floats here";
  for (const Along along : {Along::rows, Along::columns})
    for (const DType type : {DType::float16, DType::bfloat16}) {
      SCOPED_TRACE(join(along == Along::rows ? "rows of " : "columns of ", type));
      const Extremes of(along, type);
      const Doubles x = to_doubles(of.fed);
      const std::vector<Literal> found = log_sum_exp_of(of.fed, along);
      const Doubles y = to_doubles(found[0]);
      Doubles exact{y.dims, std::vector<double>(kExtremes.size(), -kInf)}, gradient{x.dims, {}};
      const auto row_of = [&](std::size_t i) {
        return along == Along::rows ? i / kInRow : i % kExtremes.size();
      };
      for (std::size_t i = 0; i < x.values.size(); ++i) {
        double& at = exact.values[row_of(i)];
        at = std::isnan(at) || std::isnan(x.values[i]) ? NAN : log_of_exps(at, x.values[i]);
        const double least = y.values[row_of(i)];
        gradient.values.push_back(least == -kInf ? 0 : std::exp(x.values[i] - least));
      }
      expect_near(exact, found[0], 0x1p-8, "y");
      expect_near(gradient, found[1], 0x1p-7, "gradient");
    }
}

TEST(LogSumExp, OfIntegersIsRoundedTowardsZero) {
  for (const DType type : {DType::int32, DType::int64}) {
    const auto case_of = [&](std::vector<int64_t> values, double result) {
      const Dims dims{static_cast<int64_t>(values.size())};
      std::vector<int32_t> narrow(values.begin(), values.end());
      return OpCase{.name = "integers",
                    .type = "ReduceLogSumExp",
                    .inputs = {given(type == DType::int64 ? Literal::of<int64_t>(values, dims)
                                                          : Literal::of<int32_t>(narrow, dims))},
                    .reference =
                        [=](const std::vector<Doubles>&) {
                          return std::vector<Doubles>{{{1}, {result}}};
                        },
                    .gradient = false};
    };
    check_case(case_of({1, 2, 3}, 3));
    check_case(case_of({1000, 1000, 1000}, 1001));
    check_case(case_of({-1000, -1000, -1000}, -998));
  }
}

}  // namespace
}  // namespace lockstep::testing
