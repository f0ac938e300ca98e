// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "app/diff/change_groups.h"
#include "graph/excerpt.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostNames = 3, kMostSorts = 4, kMostPairs = 3;
constexpr std::size_t kLongestName = 60, kLongestValue = 60;

std::string plural_of(const std::string& of, std::size_t count) {
  if (count == 1) return of;
  if (of.ends_with("ss")) return of + "es";
  if (of == "entry") return "entries";
  return of.ends_with("s") ? of : of + "s";
}

// "7 states"; operators have no plural.
std::string counted(std::size_t count, const std::string& of, bool is_node) {
  return join(count, " ", is_node ? printable(of) : plural_of(of, count));
}

std::vector<std::string> names_in(const std::vector<ChangedItem>& items) {
  std::vector<std::string> names;
  for (const ChangedItem& item : items)
    if (!item.change->name.empty() &&
        (names.empty() || names.back() != shown_name(item.change->name)))
      names.push_back(shown_name(item.change->name));
  return names;
}

// "a, b, c and 5 more" of names that are printable already.
std::string some_of(std::vector<std::string> words, std::size_t most) {
  const std::size_t more = words.size() > most ? words.size() - most : 0;
  words.resize(words.size() - more);
  return listed(words) + (more > 0 ? join(" and ", more, " more") : "");
}

std::string pair_text(const Change& change) {
  const auto [a, b] = around_difference(change.a, change.b, kLongestValue);
  return (a.empty() ? "(none)" : printable(a)) + " -> " + (b.empty() ? "(none)" : printable(b));
}

std::size_t distinct_names(const std::vector<ChangedItem>& items) {
  std::set<std::string_view> names;
  for (const ChangedItem& item : items) names.insert(item.change->name);
  return names.size();
}

// The number of items by sort, the largest first: "12 Conv, 3 Relu".
std::string by_sort(const std::vector<ChangedItem>& items) {
  std::map<std::string, std::size_t> counts;
  for (const ChangedItem& item : items) ++counts[item.change->of];
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  std::vector<std::string> words;
  for (const auto& [sort, count] : sorted) words.push_back(counted(count, sort, true));
  return some_of(std::move(words), kMostSorts);
}

bool is_one_sort(const std::vector<ChangedItem>& items) {
  return std::all_of(items.begin(), items.end(), [&](const ChangedItem& item) {
    return item.change->of == items[0].change->of;
  });
}

// "53 WeightedSum", "conv1 (Conv)", "2 states", "12 nodes (8 Conv, 4 Relu)".
std::string subject_of(const ChangeGroup& group) {
  const Change& first = *group.items[0].change;
  const std::size_t count = distinct_names(group.items);
  if (count == 1 && first.name.empty()) return printable(first.of);
  if (count == 1 && first.is_node) return shown_name(first.name) + " (" + printable(first.of) + ")";
  if (count == 1) return printable(first.of) + " " + shown_name(first.name);
  if (is_one_sort(group.items)) return counted(count, first.of, first.is_node);
  if (first.is_node) return join(count, " nodes (", by_sort(group.items), ")");
  return join(count, " values");
}

// "0.9 -> 0.95", or several such pairs with the names that have them.
std::string pairs_in(const std::vector<ChangedItem>& items, bool names) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<ChangedItem>> having;
  for (const ChangedItem& item : items) {
    const std::string text = pair_text(*item.change);
    if (having[text].empty()) order.push_back(text);
    having[text].push_back(item);
  }
  std::stable_sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
    return having[x].size() > having[y].size();
  });
  const auto named = [&](const std::string& text) {
    return names ? " (" + some_of(names_in(having[text]), 1) + ")" : std::string();
  };
  if (order.size() == 1)
    return order[0] +
           (items.size() > 1 && names ? ": " + some_of(names_in(items), kMostNames) : "");
  std::vector<std::string> words;
  words.reserve(order.size());
  for (const std::string& text : order) words.push_back(text + named(text));
  return some_of(std::move(words), kMostPairs);
}

// "conv1_w (0.5 -> 0.25; 3 of 20 differ, most at [0,1] by 0.25), .."
std::string notes_in(const std::vector<ChangedItem>& items) {
  std::vector<std::string> words;
  for (const ChangedItem& item : items)
    if (words.size() < kMostNames)
      words.push_back((items.size() > 1 ? shown_name(item.change->name) + " " : "") + "(" +
                      pair_text(*item.change) + "; " + printable(item.change->note) + ")");
  const std::size_t more = items.size() - words.size();
  return listed(words) + (more > 0 ? join(" and ", more, " more") : "");
}

// ", on replica 1"; "" if the replicas that both sides have are equal in this.
std::string replicas_of(const ChangeGroup& group, int replicas) {
  if (group.part == DiffPart::init) return "";  // replica 0 computes for all
  const std::set<int>& first = group.items[0].replicas;
  if (first.empty()) return "";
  for (const ChangedItem& item : group.items)
    if (item.replicas != first) return ", not on all replicas alike";
  const bool is_all =
      std::cmp_equal(first.size(), replicas) && *first.begin() == 0 && *first.rbegin() < replicas;
  if (is_all) return "";
  std::vector<std::string> numbers;
  for (const int replica : first) numbers.push_back(std::to_string(replica));
  return (first.size() == 1 ? ", on replica " : ", on replicas ") + some_of(numbers, kMostPairs);
}

// "2 states only in B: m, v", "53 WeightedSum only in B, between AllReduce and Scale: .."
GroupText of_one_side(const ChangeGroup& group) {
  const Change& first = *group.items[0].change;
  const std::string& value = group.kind == DiffKind::only_in_a ? first.a : first.b;
  const bool is_alike =
      std::all_of(group.items.begin(), group.items.end(),
                  [&](const ChangedItem& item) { return item.change->note == first.note; });
  GroupText text{subject_of(group) + " " + std::string(name_of(group.kind)), ""};
  if (is_alike && !first.note.empty()) text.detail = ", " + printable(first.note);
  if (group.items.size() > 1)
    text.detail += ": " + some_of(names_in(group.items), kMostNames);
  else if (!value.empty())
    text.detail += ": " + printable(value.substr(0, kLongestValue)) +
                   (value.size() > kLongestValue ? ".." : "");
  return text;
}

GroupText of_renamed(const ChangeGroup& group) {
  const std::string what = group.items[0].change->what;
  std::vector<std::string> pairs;
  for (const ChangedItem& item : group.items)
    if (pairs.size() <= kMostNames)
      pairs.push_back(shown_name(item.change->a) + " -> " + shown_name(item.change->b));
  const std::size_t more = group.items.size() - std::min(group.items.size(), kMostNames);
  pairs.resize(std::min(pairs.size(), kMostNames));
  return {(what.empty() ? "other name of " : "other " + what + " of ") + subject_of(group),
          ": " + listed(pairs) + (more > 0 ? join(" and ", more, " more") : "")};
}

GroupText of_moved(const ChangeGroup& group) {
  std::vector<std::string> places;
  for (const ChangedItem& item : group.items) {
    if (places.size() == kMostNames) break;
    const Change& change = *item.change;
    places.push_back((group.items.size() > 1 ? shown_name(change.name) + " " : "") +
                     shown_name(change.a) + " -> " + shown_name(change.b));
  }
  const std::size_t more = group.items.size() - places.size();
  return {"order of " + subject_of(group),
          ": " + listed(places) + (more > 0 ? join(" and ", more, " more") : "")};
}

GroupText of_changed(const ChangeGroup& group) {
  const Change& first = *group.items[0].change;
  const bool is_single = group.part == DiffPart::configuration ||
                         group.part == DiffPart::metadata || group.part == DiffPart::results;
  if (is_single)
    return {shown_name(first.name),
            ": " + pair_text(first) + (first.note.empty() ? "" : ", " + printable(first.note))};
  const std::string subject = subject_of(group);
  if (!first.note.empty()) return {first.what + " of " + subject, ": " + notes_in(group.items)};
  std::string aspect = first.what;
  if (aspect.starts_with("operand ") && group.items.size() > 1) aspect = "operands";
  return {aspect.empty() ? subject : printable(aspect) + " of " + subject,
          ": " + pairs_in(group.items, distinct_names(group.items) > 1)};
}

}  // namespace

std::string shown_name(const std::string& name) {
  if (name.size() <= kLongestName) return printable(name);
  constexpr std::size_t kEnd = 20;
  return printable(name.substr(0, kLongestName - kEnd)) + ".." +
         printable(name.substr(name.size() - kEnd));
}

GroupText text_of(const ChangeGroup& group, int replicas) {
  const auto text = [&] {
    switch (group.kind) {
      case DiffKind::only_in_a:
      case DiffKind::only_in_b:
        return of_one_side(group);
      case DiffKind::renamed:
        return of_renamed(group);
      case DiffKind::moved:
        return of_moved(group);
      default:
        return of_changed(group);
    }
  };
  GroupText found = text();
  found.heading += replicas_of(group, replicas);
  return found;
}

}  // namespace lockstep
