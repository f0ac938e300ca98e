// SPDX-License-Identifier: Apache-2.0
// Compares TopK with a full sort in TopK's order: best first, ties by index, NaN last.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "lockstep/random.h"
#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kBoundless = std::numeric_limits<float>::infinity();

struct TopKSizes {
  int64_t outer = 1, size = 1, inner = 1;
};

OpCase top_k_case(Literal x, int64_t k, int64_t axis = -1, bool largest = true) {
  return {.name = "top_k",
          .type = "TopK",
          .attributes = {{"axis", axis}, {"largest", int64_t{largest}}},
          .inputs = {given(std::move(x)), fixed({k})},
          .outputs = 2,
          .gradient = false,
          .oracle = false};
}

// Compares the bits of values and indices with a stable sort.
template <class T>
void expect_as_sorted(const std::vector<T>& x, TopKSizes of, int64_t k, bool largest) {
  SCOPED_TRACE(join(of.outer, " x ", of.size, " x ", of.inner, ", k = ", k, ", largest ", largest));
  const OpCase c = top_k_case(Literal::of<T>(x, {of.outer, of.size, of.inner}), k, 1, largest);
  const std::vector<Literal> found = results_on_threads(c, 1);
  const auto values = found[0].values<T>();
  const auto indices = found[1].values<int64_t>();
  ASSERT_EQ(static_cast<int64_t>(values.size()), of.outer * k * of.inner);
  std::vector<int64_t> order(static_cast<std::size_t>(of.size));
  for (int64_t column = 0; column < of.outer * of.inner; ++column) {
    const int64_t outer = column / of.inner, inner = column % of.inner;
    auto value = [&](int64_t i) { return x[(outer * of.size + i) * of.inner + inner]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const bool no_a = !(value(a) == value(a)), no_b = !(value(b) == value(b));
      if (no_a || no_b) return !no_a && no_b;
      return largest ? value(a) > value(b) : value(a) < value(b);
    });
    for (int64_t rank = 0; rank < k; ++rank) {
      const int64_t at = (outer * k + rank) * of.inner + inner;
      using Bytes = std::array<std::byte, sizeof(T)>;
      ASSERT_EQ(order[rank], indices[at]) << "rank " << rank;
      ASSERT_EQ(std::bit_cast<Bytes>(T(value(order[rank]))), std::bit_cast<Bytes>(T(values[at])))
          << "rank " << rank;
    }
  }
}

template <class T>
std::vector<T> mixed_numbers(int64_t count, uint64_t seed) {
  PhiloxSequence random(seed, 5);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& value : x) {
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(random.uniform(-1, 1));
    else
      value = static_cast<T>((static_cast<int64_t>(random.below(1 << 30)) - (1 << 29)) *
                             (sizeof(T) == 8 ? 9876543210 : 1));
    // Half of the values have ties; some are the limits of their type.
    const auto kind = random.below(20);
    if (kind < 10) value = static_cast<T>(static_cast<int64_t>(random.below(9)) - 4);
    if (kind == 10) value = std::numeric_limits<T>::lowest();
    if (kind == 11) value = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
      if (kind == 12) value = std::numeric_limits<T>::quiet_NaN();
      if (kind == 13) value = -std::numeric_limits<T>::quiet_NaN();
      if (kind == 14) value = std::numeric_limits<T>::infinity();
      if (kind == 15) value = -std::numeric_limits<T>::infinity();
      if (kind == 16) value = -T(0);
      if (kind == 17) value = std::numeric_limits<T>::denorm_min();
    }
  }
  return x;
}

template <class T>
void expect_top_k_of_all_sizes() {
  uint64_t seed = 1;
  for (const TopKSizes& of :
       {TopKSizes{1, 1, 1}, {3, 7, 1}, {2, 5, 3}, {1, 512, 2}, {2, 513, 1}, {1, 1500, 3}})
    for (bool largest : {true, false}) {
      const auto x = mixed_numbers<T>(of.outer * of.size * of.inner, seed++);
      for (int64_t k : {int64_t{0}, int64_t{1}, of.size / 3, of.size - 1, of.size})
        expect_as_sorted(x, of, k, largest);
    }
}

TEST(TopK, IsThePrefixOfAStableSort) {
  expect_top_k_of_all_sizes<float>();
  expect_top_k_of_all_sizes<double>();
  expect_top_k_of_all_sizes<int32_t>();
  expect_top_k_of_all_sizes<int64_t>();
}

TEST(TopK, FindsFewOfMany) {
  expect_as_sorted(mixed_numbers<float>(50000, 3), {1, 50000, 1}, 2000, true);
}

TEST(TopK, TakesEqualValuesInOrder) {
  expect_as_sorted(std::vector<float>(5000, 0.25F), {1, 5000, 1}, 700, true);
  std::vector<float> zeros(5000);
  for (std::size_t i = 0; i < zeros.size(); i += 3) zeros[i] = -0.0F;
  expect_as_sorted(zeros, {1, 5000, 1}, 1234, true);
  expect_as_sorted(zeros, {1, 5000, 1}, 1234, false);
}

// The search for the next element after a NaN once read index -1.
TEST(TopK, WhatIsNoNumberComesLast) {
  for (bool largest : {true, false}) {
    expect_as_sorted<float>({kNotANumber, 1, kNotANumber, 2}, {1, 4, 1}, 2, largest);
    expect_as_sorted<float>({kNotANumber, kBoundless, kNotANumber, -kBoundless}, {1, 4, 1}, 4,
                            largest);
    expect_as_sorted(std::vector<float>(4, kNotANumber), {1, 4, 1}, 3, largest);
    std::vector<float> few(2000, kNotANumber);
    few[7] = few[900] = -kBoundless;
    few[1999] = kBoundless;
    expect_as_sorted(few, {1, 2000, 1}, 1000, largest);
  }
}

TEST(TopK, OfNothingIsNothing) {
  for (const Dims& dims : {Dims{0, 3}, Dims{3, 0}, Dims{3, 4}}) {
    const std::vector<Literal> found =
        results_on_threads(top_k_case(Literal(DType::float32, dims), dims[0] == 0 ? 2 : 0), 1);
    EXPECT_EQ(0, found[0].count());
    EXPECT_EQ(0, found[1].count());
  }
}

TEST(TopK, TakesNoMoreThanThereAre) {
  expect_error(
      [] {
        results_on_threads(top_k_case(Literal(DType::float32, {3, 4}), 5), 1);
      },
      "TopK");
}

TEST(TopK, ThreadsDoNotChangeIt) {
  for (int64_t k : {3, 300}) {
    expect_same_bits_on_any_threads(
        top_k_case(Literal::of<float>(mixed_numbers<float>(7 * 900 * 3, 9), {7, 900, 3}), k, 1));
    expect_same_bits_on_any_threads(
        top_k_case(Literal::of<float>(mixed_numbers<float>(5000, 9), {1, 5000}), k, 1, false));
  }
}

// The number of elements may be computed from a size that a graph does not know yet.
TEST(TopK, KeepsSizesIfTheirNumberIsComputed) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {2, "N", 3}});
  const Attributes second{{"start", int64_t{1}}, {"end", int64_t{2}}};
  const Value all = graph.add_value({.type = "Shape", .inputs = {x}, .attributes = second}, "all");
  const Value most = graph.constant("most", Literal::vector({5}));
  const Value some = graph.add_value({.type = "Min", .inputs = {all, most}}, "some");
  for (const auto& [count, shape] : {std::pair{all, "[2,N,3]"}, {some, "[2,?,3]"}}) {
    const Node node = graph.add(
        {.type = "TopK", .inputs = {x, count}, .attributes = {{"axis", int64_t{1}}}, .outputs = 2},
        "best");
    for (const Value output : node.outputs()) EXPECT_EQ(shape, text_of(graph.shape(output)));
    EXPECT_EQ(DType::int64, graph.dtype(node.outputs()[1]));
  }
}

}  // namespace
}  // namespace lockstep::testing
