// SPDX-License-Identifier: Apache-2.0
#include "app/diff/settings_changes.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

namespace lockstep {
namespace {

// The lines `bucket 8196000 bytes: predictions/kernel predictions/bias`, without their first word.
std::vector<std::string> bucket_lines(const std::string& plan) {
  constexpr std::string_view kBucket = "bucket ";
  std::vector<std::string> lines;
  std::istringstream text(plan);
  for (std::string line; std::getline(text, line);)
    if (!line.empty() && line[0] != '#')
      lines.push_back(line.starts_with(kBucket) ? line.substr(kBucket.size()) : line);
  return lines;
}

// The line with the names that B's states have.
std::string with_names_of_b(const std::string& line, const StatePartners& partners) {
  std::istringstream words(line);
  std::string renamed;
  for (std::string word; words >> word;) {
    const auto partner = partners.find(word);
    renamed += (renamed.empty() ? "" : " ") + (partner == partners.end() ? word : partner->second);
  }
  return renamed;
}

// The lines that `other` has, too.
std::vector<std::string> common(const std::vector<std::string>& lines,
                                const std::set<std::string>& other) {
  std::vector<std::string> kept;
  for (const std::string& line : lines)
    if (other.count(line) > 0) kept.push_back(line);
  return kept;
}

}  // namespace

void add_named_changes(DiffPart part, const std::string& of, const NamedValues& a,
                       const NamedValues& b, Changes& changes) {
  const std::map<std::string, std::string> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  for (const auto& [name, value] : a) {
    const auto other = in_b.find(name);
    if (other == in_b.end())
      changes.push_back(
          {.part = part, .kind = DiffKind::only_in_a, .of = of, .name = name, .a = value});
    else if (other->second != value)
      changes.push_back({.part = part, .of = of, .name = name, .a = value, .b = other->second});
  }
  for (const auto& [name, value] : b)
    if (in_a.count(name) == 0)
      changes.push_back(
          {.part = part, .kind = DiffKind::only_in_b, .of = of, .name = name, .b = value});
}

void add_bucket_changes(const std::string& a, const std::string& b, const StatePartners& partners,
                        Changes& changes) {
  if (a == b) return;
  const std::vector<std::string> own_a = bucket_lines(a), lines_b = bucket_lines(b);
  std::vector<std::string> lines_a;
  for (const std::string& line : own_a) lines_a.push_back(with_names_of_b(line, partners));
  const std::set<std::string> in_a(lines_a.begin(), lines_a.end()),
      in_b(lines_b.begin(), lines_b.end());
  const auto add = [&](DiffKind kind, const std::string& line) {
    changes.push_back({.part = DiffPart::buckets, .kind = kind, .of = "bucket", .name = line});
  };
  for (std::size_t i = 0; i < own_a.size(); ++i)
    if (in_b.count(lines_a[i]) == 0) add(DiffKind::only_in_a, own_a[i]);
  for (const std::string& line : lines_b)
    if (in_a.count(line) == 0) add(DiffKind::only_in_b, line);
  const std::vector<std::string> kept_a = common(lines_a, in_b), kept_b = common(lines_b, in_a);
  const auto [of_a, of_b] =
      std::mismatch(kept_a.begin(), kept_a.end(), kept_b.begin(), kept_b.end());
  if (of_a != kept_a.end() && of_b != kept_b.end())
    changes.push_back(
        {.part = DiffPart::buckets,
         .kind = DiffKind::moved,
         .of = "bucket",
         .name = *of_a,
         .what = "order",
         .a = std::to_string(of_a - kept_a.begin()),
         .b = std::to_string(std::find(kept_b.begin(), kept_b.end(), *of_a) - kept_b.begin())});
}

}  // namespace lockstep
