// SPDX-License-Identifier: Apache-2.0
#include "app/diff/diff_text.h"

#include <algorithm>
#include <map>

#include "app/diff/change_groups.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The way to tell a part's groups.
enum class Folding {
  none,     // a line for each group
  aspects,  // one line for all aspects of nodes that both sides have
  whole     // one line
};

struct DiffLine {
  DiffPart part{};
  GroupText text;
};
using DiffLines = std::vector<DiffLine>;

// The headings, with details that are no longer than a pair of numbers.
std::string in_one(const std::vector<GroupText>& texts) {
  constexpr std::size_t kShort = 24;
  std::vector<std::string> headings;
  headings.reserve(texts.size());
  for (const GroupText& text : texts)
    headings.push_back(text.heading + (text.detail.size() <= kShort ? text.detail : ""));
  return listed(headings, "; ");
}

DiffLines lines_of_part(const std::vector<const ChangeGroup*>& groups, int replicas,
                        Folding folding) {
  DiffLines lines;
  std::vector<GroupText> aspects;
  std::set<std::string_view> nodes;
  for (const ChangeGroup* group : groups) {
    if (!group->is_aspect || folding == Folding::none) {
      lines.push_back({group->part, text_of(*group, replicas)});
      continue;
    }
    aspects.push_back(text_of(*group, replicas));
    for (const ChangedItem& item : group->items) nodes.insert(item.change->name);
  }
  if (aspects.size() == 1)
    lines.push_back({groups[0]->part, aspects[0]});
  else if (!aspects.empty())
    lines.push_back(
        {groups[0]->part,
         {join("attributes and operands of ", nodes.size(), " nodes"), ": " + in_one(aspects)}});
  if (folding != Folding::whole || lines.size() < 2) return lines;
  std::vector<GroupText> texts;
  texts.reserve(lines.size());
  for (const DiffLine& line : lines) texts.push_back(line.text);
  return {{groups[0]->part, {in_one(texts), ""}}};
}

class FoldedText {
 public:
  FoldedText(const DiffResult& result, std::size_t most)
      : groups_(change_groups(result.changes)), replicas_(result.replicas), most_(most) {
    for (const ChangeGroup& group : groups_) of_part_[group.part].push_back(&group);
  }

  // Folds the part with the most lines until all lines fit.
  std::string run() {
    std::map<DiffPart, Folding> folding;
    for (;;) {
      std::map<DiffPart, DiffLines> lines;
      std::size_t count = 0, most = 0;
      DiffPart longest{};
      for (const auto& [part, groups] : of_part_) {
        DiffLines& of_this = lines[part] = lines_of_part(groups, replicas_, folding[part]);
        count += of_this.size();
        if (!is_listed_whole(part) && folding[part] != Folding::whole && of_this.size() > most)
          most = of_this.size(), longest = part;
      }
      if (count <= most_ || most < 2) return text_of_lines(lines);
      folding[longest] = folding[longest] == Folding::none ? Folding::aspects : Folding::whole;
    }
  }

 private:
  static bool is_listed_whole(DiffPart part) {
    return part == DiffPart::configuration || part == DiffPart::metadata;
  }

  // Joins equal lines of several parts: the step contains the network, as does the inference graph.
  static std::string text_of_lines(const std::map<DiffPart, DiffLines>& lines) {
    std::vector<std::string> order;
    std::map<std::string, std::string> parts;
    std::size_t width = 0;
    for (const auto& [part, of_part] : lines)
      for (const DiffLine& line : of_part) {
        const std::string text = line.text.heading + line.text.detail;
        std::string& names = parts[text];
        if (names.empty()) order.push_back(text);
        names += (names.empty() ? "" : ", ") + std::string(name_of(part));
        width = std::max(width, names.size());
      }
    std::string all;
    for (const std::string& text : order) {
      std::string names = parts[text];
      names.resize(width + 2, ' ');
      all += names + text + "\n";
    }
    return all;
  }

  const std::vector<ChangeGroup> groups_;
  std::map<DiffPart, std::vector<const ChangeGroup*>> of_part_;
  const int replicas_;
  const std::size_t most_;
};

std::string text_of_each(const DiffResult& result) {
  std::string text;
  for (const ChangedItem& item : changed_items(result.changes)) {
    ChangeGroup alone{item.change->part, item.change->kind, {item}};
    const GroupText line = text_of(alone, result.replicas);
    text += join(name_of(item.change->part), "  ", line.heading, line.detail, "\n");
  }
  return text;
}

}  // namespace

std::string text_of(const DiffResult& result, const DiffTextOptions& options) {
  std::string notes;
  for (const std::string& note : result.notes) notes += printable(note) + "\n";
  if (result.changes.empty()) return "equal: " + listed(result.compared) + "\n" + notes;
  return (options.all ? text_of_each(result) : FoldedText(result, options.most_lines).run()) +
         notes;
}

}  // namespace lockstep
