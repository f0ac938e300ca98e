// SPDX-License-Identifier: Apache-2.0
#include "builders/net/known_tables.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace lockstep {
namespace {

constexpr std::size_t kFewest = 4;  // fewer numbers agree by chance
constexpr double kRounding = 1e-3;  // of float32 angles of a few thousand positions

// A matrix of positions and columns.
struct Table {
  std::span<const float> values;
  std::size_t rows, columns;

  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

// A sinusoid of angle w: s(p + 1) + s(p - 1) = 2 cos(w) s(p). Its factor is measured where s is
// largest.
bool is_sinusoid(const Table& table, std::size_t column) {
  std::size_t largest = 1;
  double height = 0;
  for (std::size_t row = 0; row < table.rows; ++row)
    height = std::max(height, std::abs(table.at(row, column)));
  if (height == 0) return true;
  for (std::size_t row = 1; row + 1 < table.rows; ++row)
    if (std::abs(table.at(row, column)) > std::abs(table.at(largest, column))) largest = row;
  const auto neighbours = [&](std::size_t row) {
    return table.at(row - 1, column) + table.at(row + 1, column);
  };
  const double factor = neighbours(largest) / table.at(largest, column);
  if (!(std::abs(factor) <= 2 + kRounding)) return false;
  for (std::size_t row = 1; row + 1 < table.rows; ++row)
    if (!(std::abs(neighbours(row) - factor * table.at(row, column)) <= kRounding * height))
      return false;
  return true;
}

// The squares of a sine and a cosine add up to 1, so a row of pairs adds up to half its columns.
// Rows of zeros belong to positions without a place, such as a class token's.
bool has_rows_of_pairs(const Table& table) {
  std::size_t full = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    double squares = 0;
    for (std::size_t column = 0; column < table.columns; ++column)
      squares += table.at(row, column) * table.at(row, column);
    if (squares == 0) continue;
    const double pairs = static_cast<double>(table.columns) / 2;
    if (!(std::abs(squares - pairs) <= kRounding * pairs)) return false;
    ++full;
  }
  return full >= kFewest && table.columns % 2 == 0;
}

bool varies(std::span<const float> values) {
  return std::any_of(values.begin(), values.end(),
                     [&](float number) { return number != values[0]; });
}

}  // namespace

bool is_counting(const Literal& literal) {
  const auto values = literal.values<float>();
  if (values.size() < kFewest || (values[0] != 0 && values[0] != 1)) return false;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] != values[i - 1] + 1) return false;
  return true;
}

bool is_geometric(const Literal& literal) {
  const auto values = literal.values<float>();
  if (values.size() < kFewest || !(values[0] > 0) || !(values[1] > 0)) return false;
  const double ratio = std::pow(static_cast<double>(values.back()) / values[0],
                                1.0 / static_cast<double>(values.size() - 1));
  if (!(ratio > 0) || std::abs(ratio - 1) < kRounding) return false;
  double expected = values[0];
  for (const float number : values) {
    if (!(std::abs(number - expected) <= kRounding * expected)) return false;
    expected *= ratio;
  }
  return true;
}

bool is_sine_table(const Literal& literal) {
  const Dims& dims = literal.dims();
  const auto values = literal.values<float>();
  if (dims.size() < 2 || values.empty() || dims.back() < 2 || !varies(values)) return false;
  float largest = 0;
  for (const float number : values) {
    if (!(std::abs(number) <= 1 + kRounding)) return false;
    largest = std::max(largest, std::abs(number));
  }
  const auto columns = static_cast<std::size_t>(dims.back());
  const Table table{values, values.size() / columns, columns};
  if (largest < 0.9F || table.rows < 2 * kFewest) return false;
  if (columns >= kFewest && has_rows_of_pairs(table)) return true;
  for (std::size_t column = 0; column < columns; ++column)
    if (!is_sinusoid(table, column)) return false;
  return true;
}

}  // namespace lockstep
