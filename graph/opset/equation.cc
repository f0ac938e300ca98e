// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/equation.h"

#include <algorithm>
#include <map>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using Labels = std::vector<EinsumLabel>;

constexpr const char* kDots = "...";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Labels ellipsis_of(std::size_t dims) {
  Labels labels;
  for (std::size_t i = dims; i-- > 0;) labels.push_back(kEllipsis + static_cast<int>(i));
  return labels;
}

// The letters of a term, and where its ellipsis is.
struct Term {
  std::string letters;
  bool dots = false;
  std::size_t before = 0;  // the number of letters before the ellipsis

  Labels labels(std::size_t ellipsis) const {
    Labels all(letters.begin(), letters.end());
    const Labels middle = dots ? ellipsis_of(ellipsis) : Labels{};
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(before), middle.begin(), middle.end());
    return all;
  }
};

Term read_term(const std::string& text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.letters += text[i];
      continue;
    }
    check(text.compare(i, 3, kDots) == 0, "the term '", text, "' has '", text.substr(i, 1),
          "', should have letters and at most one ellipsis (...)");
    check(!term.dots, "the term '", text, "' has two ellipses");
    term.dots = true;
    term.before = term.letters.size();
    i += 2;
  }
  return term;
}

std::vector<Term> read_terms(const std::string& text) {
  std::vector<Term> terms;
  for (std::size_t start = 0;;) {
    const std::size_t comma = text.find(',', start);
    terms.push_back(read_term(text.substr(start, comma - start)));
    if (comma == std::string::npos) return terms;
    start = comma + 1;
  }
}

// Without "->" the result has the ellipsis, then the letters that occur once, in alphabetical
// order.
Labels implied_result(const std::vector<Term>& terms, std::size_t ellipsis) {
  std::map<char, int> times;
  for (const Term& term : terms)
    for (char letter : term.letters) ++times[letter];
  Labels result = ellipsis_of(ellipsis);
  for (const auto& [letter, count] : times)
    if (count == 1) result.push_back(letter);
  return result;
}

void check_result(const EinsumEquation& equation) {
  const Labels& result = equation.result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    check(std::count(result.begin(), result.end(), result[i]) == 1, "the result has ",
          text_of_label(result[i]), " twice");
    const bool known =
        std::any_of(equation.operands.begin(), equation.operands.end(), [&](const Labels& labels) {
          return std::count(labels.begin(), labels.end(), result[i]) > 0;
        });
    check(known, "the result has ", text_of_label(result[i]), ", which no operand has");
  }
}

}  // namespace

EinsumEquation read_equation(const std::string& given, const std::vector<std::size_t>& dims) {
  std::string text = given;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<Term> terms = read_terms(text.substr(0, arrow));
  check(terms.size() == dims.size(), "the equation '", given, "' is for ", terms.size(),
        " operands, the node has ", dims.size());
  std::size_t ellipsis = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t letters = terms[i].letters.size();
    check(terms[i].dots ? dims[i] >= letters : dims[i] == letters, "the equation '", given,
          "' has ", letters, " letters for operand ", i, ", which has ", dims[i], " dimensions");
    ellipsis = std::max(ellipsis, dims[i] - letters);
  }
  EinsumEquation equation;
  for (std::size_t i = 0; i < terms.size(); ++i)
    equation.operands.push_back(terms[i].labels(dims[i] - terms[i].letters.size()));
  equation.result = arrow == std::string::npos ? implied_result(terms, ellipsis)
                                               : read_term(text.substr(arrow + 2)).labels(ellipsis);
  check_result(equation);
  return equation;
}

std::string text_of_label(EinsumLabel label) {
  if (label >= kEllipsis) return join("dimension ", kEllipsis - label - 1, " of the ellipsis");
  return join("letter ", static_cast<char>(label));
}

}  // namespace lockstep
