// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/loss_terms.h"

#include <set>

#include "app/config/nested.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kForms =
    "name an output that is the loss, or give {KIND: [OUTPUT, TARGET]}, or a list of these";

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const OutputLoss& loss : output_losses()) names.push_back(loss.name);
  return names;
}

void read_field(LossTerm& term, const std::string& field, const Nested& value) {
  const std::string what = join(term.name, "'s ", field);
  const bool of_entropy = term.kind->name == "cross_entropy", of_huber = term.kind->name == "huber";
  if (field == "of")
    term.prediction = value.name(what);
  else if (field == "to")
    term.target = value.name(what);
  else if (field == "mask")
    term.mask = value.name(what);
  else if (field == "weight")
    term.weight = value.number(what);
  else if (field == "delta" && of_huber)
    term.options.delta = value.number(what);
  else if (field == "ignore" && of_entropy)
    term.options.ignore = value.integer(what);
  else if (field == "axis" && of_entropy)
    term.options.axis = value.integer(what);
  else
    fail(term.name, " has no field '", field, "'; its fields: of, to, mask, weight",
         of_huber ? ", delta" : "", of_entropy ? ", ignore, axis" : "");
}

LossTerm computed_term(const OutputLoss& kind, const Nested& value) {
  LossTerm term{.name = kind.name, .kind = &kind};
  if (value.kind == Nested::Kind::list) {
    check(value.list.size() == 2, kind.name, " should be [OUTPUT, TARGET], is '", text_of(value),
          "'");
    term.prediction = value.list[0].name(kind.name + "'s output");
    term.target = value.list[1].name(kind.name + "'s target");
  }
  for (const auto& [field, inner] : value.fields) read_field(term, field, inner);
  check(!term.prediction.empty() && !term.target.empty(), kind.name,
        " needs an output (of) and a target (to), is '", text_of(value), "'");
  check(term.options.delta > 0, kind.name, "'s delta is ", term.options.delta,
        ", should be above 0");
  return term;
}

void add_terms(const Nested& value, std::vector<LossTerm>& terms) {
  if (value.is_text()) {
    const std::string name = value.name("a loss");
    check(find_output_loss(name) == nullptr, "the loss ", name, " needs an output and a target: {",
          name, ": [OUTPUT, TARGET]}");
    terms.push_back({.name = name, .prediction = name});
  }
  for (const Nested& item : value.list) add_terms(item, terms);
  for (const auto& [name, inner] : value.fields) {
    if (inner.is_text()) {
      terms.push_back(
          {.name = name, .prediction = name, .weight = inner.number("the weight of " + name)});
      continue;
    }
    const OutputLoss* kind = find_output_loss(name);
    check(kind != nullptr, "the loss '", name, "' is not known; known: ", listed(kinds()));
    terms.push_back(computed_term(*kind, inner));
  }
}

}  // namespace

std::vector<LossTerm> parse_loss_terms(const std::string& line) {
  std::vector<LossTerm> terms;
  add_terms(parse_nested(line), terms);
  check(!terms.empty(), "there is no loss in '", line, "'; ", kForms);
  std::set<std::string> names;
  for (LossTerm& term : terms) {
    check(term.weight != 0, "the weight of ", term.name, " is 0: remove the term");
    const std::string plain = term.name;
    for (int i = 2; !names.insert(term.name).second; ++i) term.name = join(plain, "_", i);
  }
  return terms;
}

}  // namespace lockstep
