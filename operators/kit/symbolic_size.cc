// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/symbolic_size.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {
namespace {

// Splits `text` at `mark` outside parentheses.
std::vector<std::string> parts_of(const std::string& text, const std::string& mark) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text.compare(i, mark.size(), mark) == 0) {
      parts.emplace_back();
      i += mark.size() - 1;
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// The number in `text`, if it is a number. Symbols from files may look like "s0 + 1"; a number too
// long to parse is a name.
std::optional<int64_t> number_in(const std::string& text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const bool digits = text.size() > first && text.size() < 18 &&
                      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!digits) return std::nullopt;
  return std::stoll(text);
}

}  // namespace

std::optional<OpenSize> OpenSize::of(const Dim& dim) {
  if (dim.symbol().empty()) return OpenSize(dim.size());
  if (dim.symbol() == "?") return std::nullopt;
  OpenSize size;
  for (const std::string& term : parts_of(dim.symbol(), " + ")) {
    int64_t factor = 1;
    Product symbols;
    for (const std::string& part : parts_of(term, "*")) {
      const auto number = number_in(part);
      if (!number || __builtin_mul_overflow(factor, *number, &factor)) symbols.push_back(part);
    }
    std::sort(symbols.begin(), symbols.end());
    size.add(symbols, factor);
  }
  return size;
}

void OpenSize::add(const Product& symbols, int64_t factor) {
  int64_t& sum = terms_[symbols];
  sum = plus(sum, factor);
  if (sum == 0) terms_.erase(symbols);
}

std::optional<int64_t> OpenSize::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

bool OpenSize::not_negative() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const auto& term) { return term.second > 0; });
}

std::string OpenSize::text() const {
  std::string text;
  // The number is last: 4*N + 1.
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    const auto& [symbols, factor] = *term;
    std::string product = factor == 1 && !symbols.empty() ? "" : std::to_string(factor);
    for (const std::string& symbol : symbols) product += (product.empty() ? "" : "*") + symbol;
    text += (text.empty() ? "" : " + ") + product;
  }
  return text;
}

Dim OpenSize::dim() const {
  if (auto size = number()) return Dim(*size);
  return Dim(text());
}

OpenSize operator+(const OpenSize& a, const OpenSize& b) {
  OpenSize sum = a;
  for (const auto& [symbols, factor] : b.terms_) sum.add(symbols, factor);
  return sum;
}

OpenSize operator-(const OpenSize& a, const OpenSize& b) { return a + OpenSize(-1) * b; }

OpenSize operator*(const OpenSize& a, const OpenSize& b) {
  OpenSize product;
  for (const auto& [left, x] : a.terms_)
    for (const auto& [right, y] : b.terms_) {
      OpenSize::Product symbols = left;
      symbols.insert(symbols.end(), right.begin(), right.end());
      std::sort(symbols.begin(), symbols.end());
      product.add(symbols, times(x, y));
    }
  return product;
}

std::optional<OpenSize> OpenSize::quotient(const OpenSize& a, const OpenSize& b) {
  if (b.terms_.size() != 1)
    return a == b && !a.terms_.empty() ? std::optional(OpenSize(1)) : std::nullopt;
  const auto& [divisors, number] = *b.terms_.begin();
  OpenSize quotient;
  for (const auto& [symbols, factor] : a.terms_) {
    if (remainder_of(factor, number) != 0 ||
        !std::includes(symbols.begin(), symbols.end(), divisors.begin(), divisors.end()))
      return std::nullopt;
    Product rest;
    std::set_difference(symbols.begin(), symbols.end(), divisors.begin(), divisors.end(),
                        std::back_inserter(rest));
    quotient.add(rest, lockstep::quotient(factor, number));
  }
  return quotient;
}

}  // namespace lockstep
