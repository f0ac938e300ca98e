// SPDX-License-Identifier: Apache-2.0
#include "app/weights/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "app/weights/parts.h"
#include "app/weights/pattern.h"
#include "graph/listed.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr double kSameNumber = 1e-5;  // relative: texts of means have few digits
constexpr std::size_t kPartsNames = 5;

std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char letter : list) {
    if (letter == '[' || letter == ']' || letter == ' ') continue;
    if (letter == ',')
      words.emplace_back();
    else
      words.back() += letter;
  }
  return words;
}

bool same_word(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *after_a = nullptr, *after_b = nullptr;
  const double x = std::strtod(a.c_str(), &after_a), y = std::strtod(b.c_str(), &after_b);
  if (a.empty() || b.empty() || *after_a != '\0' || *after_b != '\0') return false;
  return std::abs(x - y) <= kSameNumber * std::max(std::abs(x), std::abs(y));
}

bool fits_a_slot(const std::vector<WeightSlot>& slots, const std::regex& pattern) {
  return std::any_of(slots.begin(), slots.end(),
                     [&](const WeightSlot& slot) { return fits_pattern(slot.name, pattern); });
}

const ComparedKey* key_in(const WeightsOptions& options, const std::string& key) {
  for (const ComparedKey& compared : options.keys)
    if (compared.key == key) return &compared;
  return nullptr;
}

std::string way_out(const WeightsOptions& options) {
  return options.for_detector ? join(", or ", kMustAgree, " to false to load it all the same") : "";
}

// True if the configuration has a larger number than the source, and may have it. A trained network
// must be as its file says.
bool grows(const SourceFact& fact, const WeightsOptions& options) {
  const ComparedKey* const ours = key_in(options, fact.key);
  return fact.may_grow && !options.whole && ours &&
         std::strtod(ours->value.c_str(), nullptr) > std::strtod(fact.value.c_str(), nullptr);
}

void check_fact(const std::string& key, const std::string& value, const WeightsSource& source,
                const WeightsOptions& options) {
  const ComparedKey* const ours = key_in(options, key);
  check(!ours || same_values(ours->value, value), ours ? ours->where : "", " is ",
        ours ? ours->value : "", ", but ", printable(options.path), " (", source.name, ") has ",
        printable(value), ": its tensors would fit, but their features would be wrong; set ",
        Key{key}, " to ", printable(value), way_out(options));
}

void check_norms(const std::vector<WeightSlot>& slots, const TranslatedWeights& file,
                 const WeightsOptions& options) {
  const auto has = [&](const std::string& pattern) {
    const std::regex fits(pattern);
    return std::any_of(file.tensors.begin(), file.tensors.end(),
                       [&](const auto& tensor) { return fits_pattern(tensor.first, fits); });
  };
  for (const NormPair& pair : kNormPairs) {
    const bool batch = fits_a_slot(slots, std::regex(pair.batch_norm));
    const bool group = fits_a_slot(slots, std::regex(pair.group_norm));
    const bool file_batch = has(pair.batch_norm), file_group = has(pair.group_norm);
    const auto norm = [](bool of_groups) { return of_groups ? "group norm" : "batch norm"; };
    const bool differs = (batch && !group && file_group && !file_batch) ||
                         (group && !batch && file_batch && !file_group);
    const ComparedKey* const ours = key_in(options, pair.key);
    check(!differs, ours ? ours->where : pair.key, " ", ours ? ours->value : "", " has ",
          norm(group), ", but ", printable(options.path), " has ", norm(file_group), " there; set ",
          Key{pair.key}, " to the function with ", norm(file_group), way_out(options));
  }
}

bool is_ruled(const WeightRules& rules, const std::string& name) {
  return ruled_name(rules, name, RuleFor::batch_norm).rule ||
         ruled_name(rules, name, RuleFor::group_norm).rule;
}

// True for a tensor that the source's rules take, or that belongs to one: running statistics,
// averages, momentum, copies of other replicas.
bool is_known(const std::string& name, const WeightsSource& source) {
  static const std::regex with_more(
      R"((?:module\.)?(.+\.)(weight|bias|running_mean|running_var|num_batches_tracked)([_@].*)?)");
  std::smatch match;
  if (!fits_pattern(name, match, with_more)) return false;
  const bool is_statistic = match[2] != "weight" && match[2] != "bias";
  std::string own = match[1].str() + (is_statistic ? "weight" : match[2].str());
  if (source.to_pytorch) {
    const RuledName ruled = ruled_name(*source.to_pytorch, own, RuleFor::any);
    if (!ruled.rule) return false;
    own = ruled.name;
  }
  return is_ruled(*source.to_detector, own);
}

}  // namespace

bool same_values(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = words_in(a), right = words_in(b);
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(), same_word);
}

void check_source_agrees(const std::vector<WeightSlot>& slots, const TranslatedWeights& file,
                         const WeightsSource& source, const WeightsOptions& options) {
  if (!options.must_agree) return;
  check_norms(slots, file, options);  // first: facts about group norms suppose group norms
  for (const SourceFact& fact : source.facts)
    if (fits_a_slot(slots, std::regex(fact.applies_to)) && !grows(fact, options))
      check_fact(fact.key, fact.value, source, options);
  if (!source.pixel_means.empty())
    check_fact("PIXEL_MEANS", text_of_means(source.pixel_means), source, options);
}

void check_whole_parts(const std::vector<WeightSlot>& slots, const TranslatedWeights& file,
                       const WeightsOptions& options) {
  if (!options.must_agree || !options.for_detector) return;
  struct Part {
    std::vector<std::string> matched, missing, more;
  };
  std::map<std::string, Part> parts;
  for (const WeightSlot& slot : slots) {
    const std::string part = is_parameter(slot.kind) ? body_part_of(slot.name) : "";
    if (part.empty()) continue;
    const bool found = file.tensors.count(slot.name) > 0;
    (found ? parts[part].matched : parts[part].missing).push_back(slot.name);
  }
  for (const auto& [name, unused] : file.tensors) {
    const std::string part = body_part_of(name);
    if (part.empty() || !name.ends_with("_w")) continue;  // Detectron has unused biases
    const auto same = [&, &name = name](const WeightSlot& slot) { return slot.name == name; };
    if (std::none_of(slots.begin(), slots.end(), same)) parts[part].more.push_back(name);
  }
  for (const auto& [name, part] : parts) {
    if (part.matched.empty()) continue;
    check(part.missing.empty(), printable(options.path), ": is of another architecture: it lacks ",
          first_listed(part.missing, kPartsNames), " of ", name, ", but has ",
          first_listed(part.matched, kPartsNames), "; ", Key{"MODEL.CONV_BODY"},
          " should be the body of the file", way_out(options));
    check(part.more.empty(), printable(options.path), ": is of another architecture: it has ",
          first_listed(part.more, kPartsNames), " of ", name, ", which the network, with ",
          first_listed(part.matched, kPartsNames), ", lacks; ", Key{"MODEL.CONV_BODY"},
          " should be the body of the file", way_out(options));
  }
}

void check_nothing_more(const std::vector<WeightSlot>& slots, const std::vector<std::string>& names,
                        const WeightsSource& source, const WeightsOptions& options) {
  if (!options.must_agree || !options.whole_body || source.of_body.empty()) return;
  const std::regex of_body(source.of_body);
  std::vector<std::string> more;
  for (const std::string& name : names) {
    const auto ours = [&](const WeightSlot& slot) {
      return slot.name == name || "module." + slot.name == name;
    };
    if (fits_pattern(name, of_body) && !is_known(name, source) &&
        std::none_of(slots.begin(), slots.end(), ours))
      more.push_back(name);
  }
  check(more.empty(), printable(options.path), " (", source.name,
        "): is of another architecture: its stages have ", first_listed(more, kPartsNames),
        ", which the network lacks, so that its other tensors would fit, but their features would "
        "be wrong; take weights of a network without them",
        options.for_detector ? join(", or set ", kMustAgree, " to false to load it all the same")
                             : "");
}

std::vector<std::string> intended_differences(const std::vector<WeightSlot>& slots,
                                              const WeightsSource& source,
                                              const WeightsOptions& options) {
  std::vector<std::string> lines;
  if (!options.must_agree) return lines;
  for (const SourceFact& fact : source.facts)
    if (fits_a_slot(slots, std::regex(fact.applies_to)) && grows(fact, options))
      lines.push_back(join(fact.key, " is ", key_in(options, fact.key)->value, ", in the file ",
                           printable(fact.value),
                           ": a dilated stage usually starts from an "
                           "undilated one"));
  return lines;
}

}  // namespace lockstep
