// SPDX-License-Identifier: Apache-2.0
#include "app/diff/change_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

// Aspects that are told together for all sorts of items; others are told by sort.
constexpr std::string_view kOfAnySort[] = {"type", "content", "operator", "place"};

// The changes with equal texts of this form are a group.
std::string sort_of(const Change& change) {
  const bool is_whole = change.kind != DiffKind::changed;
  if (change.is_node && is_whole) return "nodes " + change.what;
  if (std::find(std::begin(kOfAnySort), std::end(kOfAnySort), change.what) != std::end(kOfAnySort))
    return change.what;
  // Each key and each number of a model has its own line.
  const bool is_single =
      !is_whole && (change.part == DiffPart::configuration || change.part == DiffPart::metadata ||
                    change.part == DiffPart::results);
  const std::string single = is_single ? " " + change.name : "";
  const bool is_operand = change.what.starts_with("operand ");
  return change.of + " " + (is_operand ? "operands" : change.what) + single;
}

}  // namespace

std::vector<ChangedItem> changed_items(const Changes& changes) {
  using Text = std::tuple<DiffPart, DiffKind, std::string_view, std::string_view, std::string_view,
                          std::string_view, std::string_view>;
  std::map<Text, std::size_t> known;
  std::vector<ChangedItem> items;
  for (const Change& change : changes) {
    const Text text{change.part, change.kind, change.of, change.name,
                    change.what, change.a,    change.b};
    const auto [place, is_new] = known.emplace(text, items.size());
    if (is_new) items.push_back({&change, {}});
    if (change.replica >= 0) items[place->second].replicas.insert(change.replica);
  }
  return items;
}

std::vector<ChangeGroup> change_groups(const Changes& changes) {
  std::map<std::tuple<DiffPart, DiffKind, std::string>, std::size_t> known;
  std::vector<ChangeGroup> groups;
  for (ChangedItem& item : changed_items(changes)) {
    const Change& change = *item.change;
    const auto [place, is_new] =
        known.emplace(std::tuple(change.part, change.kind, sort_of(change)), groups.size());
    if (is_new)
      groups.push_back(
          {change.part, change.kind, {}, change.is_node && change.kind == DiffKind::changed});
    groups[place->second].items.push_back(std::move(item));
  }
  return groups;
}

}  // namespace lockstep
