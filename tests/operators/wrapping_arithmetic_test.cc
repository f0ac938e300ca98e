// SPDX-License-Identifier: Apache-2.0
// Integers at the limits of their range wrap around on every device, and no division crashes the
// process.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/case_run.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

template <class T>
constexpr T kLeast = std::numeric_limits<T>::min();
template <class T>
constexpr T kMost = std::numeric_limits<T>::max();

template <class T>
CaseInput numbers(std::vector<T> values) {
  const auto count = static_cast<int64_t>(values.size());
  return given(Literal::of<T>(values, {count}));
}

template <class T>
std::vector<T> result_of(const std::string& type, std::vector<CaseInput> inputs,
                         Attributes attributes = {}) {
  const OpCase c{
      .name = type, .type = type, .attributes = std::move(attributes), .inputs = std::move(inputs)};
  const Built built = build(c);
  CaseRunner runner(built.graph, c, built.feeds, {"y0"}, guarded());
  const Literal y = runner.run(fed_values(c)).at(0);
  return {y.values<T>().begin(), y.values<T>().end()};
}

template <class T>
class WholeNumbers : public ::testing::Test {};
using OfEveryDevice = ::testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(WholeNumbers, OfEveryDevice);

TYPED_TEST(WholeNumbers, WrapAround) {
  using T = TypeParam;
  const auto pair = [](T a, T b) { return std::vector{numbers<T>({a}), numbers<T>({b})}; };
  EXPECT_EQ(result_of<T>("Add", pair(kMost<T>, 1)), std::vector{kLeast<T>});
  EXPECT_EQ(result_of<T>("Sum", pair(kMost<T>, 1)), std::vector{kLeast<T>});
  EXPECT_EQ(result_of<T>("Sub", pair(kLeast<T>, 1)), std::vector{kMost<T>});
  EXPECT_EQ(result_of<T>("Mul", pair(kMost<T>, 2)), std::vector{T(-2)});
  EXPECT_EQ(result_of<T>("Div", pair(kLeast<T>, -1)), std::vector{kLeast<T>});
  EXPECT_EQ(result_of<T>("Mod", pair(kLeast<T>, -1)), std::vector{T(0)});
  EXPECT_EQ(result_of<T>("Neg", {numbers<T>({kLeast<T>, 3})}), (std::vector{kLeast<T>, T(-3)}));
  EXPECT_EQ(result_of<T>("Abs", {numbers<T>({kLeast<T>, -3})}), (std::vector{kLeast<T>, T(3)}));
}

TYPED_TEST(WholeNumbers, ReducedOnesToo) {
  using T = TypeParam;
  const std::vector<CaseInput> x{numbers<T>({kMost<T>, 2, -1})};
  EXPECT_EQ(result_of<T>("ReduceSum", x), std::vector{T(kLeast<T>)});
  EXPECT_EQ(result_of<T>("ReduceProd", x), std::vector{T(2)});
  EXPECT_EQ(result_of<T>("ReduceSumSquare", x), std::vector{T(6)});
  EXPECT_EQ(result_of<T>("ReduceL1", {numbers<T>({kLeast<T>})}), std::vector{kLeast<T>});
  EXPECT_EQ(result_of<T>("ReduceMean", {numbers<T>({})}), std::vector{T(0)});
  EXPECT_EQ(result_of<T>("CumSum", {numbers<T>({kMost<T>, 1}), fixed({0})}),
            (std::vector{kMost<T>, kLeast<T>}));
}

TYPED_TEST(WholeNumbers, AreNotDividedByZero) {
  using T = TypeParam;
  const std::vector by_zero{numbers<T>({1, 2}), numbers<T>({1, 0})};
  expect_error([&] { result_of<T>("Div", by_zero); }, "an integer was divided by zero");
  EXPECT_EQ(result_of<T>("Mod", by_zero), (std::vector{T(0), T(0)}));
}

// A product of 16-bit numbers may overflow an int.
TEST(NarrowWholeNumbers, WrapAround) {
  EXPECT_EQ(result_of<uint16_t>("Mul", {numbers<uint16_t>({65535}), numbers<uint16_t>({65535})}),
            std::vector{uint16_t{1}});
  EXPECT_EQ(result_of<int8_t>("Div", {numbers<int8_t>({-128}), numbers<int8_t>({-1})}),
            std::vector{int8_t{-128}});
}

TEST(NarrowWholeNumbers, TheMeanOfTooManyIsRefused) {
  const std::vector<CaseInput> bytes(256, numbers<uint8_t>({1}));
  expect_error([&] { result_of<uint8_t>("Mean", bytes); },
               "the mean of 256 operands is not supported for uint8");
}

// The builder of a graph computes sizes with these operators.
TEST(KnownNumbers, WrapAroundToo) {
  const auto known = [](int64_t value) { return fixed({value}); };
  const auto of = [&](const char* type, int64_t a, int64_t b) {
    return build({.name = type, .type = type, .inputs = {known(a), known(b)}});
  };
  for (const char* type : {"Add", "Sub", "Mul", "Div", "Mod"})
    for (int64_t b : {int64_t{-1}, kLeast<int64_t>, kMost<int64_t>})
      EXPECT_EQ(of(type, kLeast<int64_t>, b).graph.node_count(), 1) << type << " " << b;
}

TEST(Softmax, OfNoClassesIsNothing) {
  const CaseInput none = given(Literal(DType::float32, {2, 0}));
  EXPECT_TRUE(result_of<float>("Softmax", {none}).empty());
  EXPECT_TRUE(result_of<float>("LogSoftmax", {none}).empty());
}

TEST(ElementwiseErrors, DividingAnIntegerByZeroIsAnErrorNotACrash) {
  OpCase c{.name = "zero",
           .type = "Div",
           .inputs = {given(Literal::vector({1, 2})), given(Literal::vector({1, 0}))},
           .gradient = false};
  try {
    check_case(c);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("divided by zero"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::testing
