// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/case_run.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

enum class How { sum, mean, max, min, l1, l2, sum_square, log_sum, log_sum_exp, prod };

// Reduces `axes` of any shape.
Reference naive(How how, std::vector<int64_t> axes, bool keep) {
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
          at += std::exp(x[i]);
          break;
        default:
          at += x[i];
      }
    }
    for (double& value : y.values) {
      if (how == How::mean) value /= static_cast<double>(count);
      if (how == How::l2) value = std::sqrt(value);
      if (how == How::log_sum || how == How::log_sum_exp) value = std::log(value);
    }
    return std::vector<Doubles>{y};
  };
}

OpCase by_operand(const std::string& name, const Dims& x, std::vector<int64_t> axes, bool keep) {
  OpCase c{.name = name,
           .type = "ReduceSum",
           .attributes = {{"keepdims", int64_t{keep}}},
           .inputs = {random(x)},
           .reference = naive(How::sum, axes, keep)};
  if (!axes.empty()) c.inputs.push_back(fixed(axes));
  return c;
}

OpCase by_attribute(const std::string& name, const std::string& type, How how, const Dims& x,
                    std::vector<int64_t> axes, bool keep) {
  OpCase c{.name = name,
           .type = type,
           .attributes = {{"keepdims", int64_t{keep}}},
           .inputs = {random(x)},
           .reference = naive(how, axes, keep)};
  if (!axes.empty()) c.attributes.push_back({"axes", axes});
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

}  // namespace
}  // namespace lockstep::testing
