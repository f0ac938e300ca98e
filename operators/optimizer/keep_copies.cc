// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "graph/passes/copy.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_operands.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// One cached form (type and layout) of a parameter, which any number of nodes compute.
struct Copy {
  std::vector<Value> values;  // equal values
  Value param;
  std::size_t number;  // index of the parameter in its update
  DType type;
  Layout layout;
};

class CopyKeeper {
 public:
  CopyKeeper(const Graph& from, const RewriteContext& context) : from_(from), known_(context) {
    for (const Binding& update : context.updates) new_values_[update.state] = update.value;
    for_each_update_rule([&]<class Rule>() { slots_[type_of_many(Rule::kType)] = Rule::kSlots; });
  }

  Rewritten run() {
    std::map<int, std::vector<Copy>> by_update;
    std::map<int, std::vector<Copy>> by_first_cast;
    std::set<int> gone;
    for (int i = 0; i < from_.node_count(); ++i) {
      std::vector<Copy> copies = copies_of(from_.node(i));
      if (copies.empty()) continue;
      if (copies[0].type != DType::float32) {
        int first = i;
        for (const Copy& copy : copies)
          for (const Value value : copy.values)
            for (const int maker : makers_of(value)) {
              gone.insert(maker);
              first = std::min(first, maker);
            }
        by_first_cast[first] = copies;
      }
      by_update[i] = std::move(copies);
    }
    GraphCopy to(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      if (const auto found = by_first_cast.find(i); found != by_first_cast.end())
        write_casts(to, found->second);
      if (const auto found = by_update.find(i); found != by_update.end())
        write_update(to, from_.node(i), found->second);
      else if (!gone.contains(i))
        to.copy(from_.node(i));
    }
    return {to.finish(), to.moved(), notes(by_update), std::move(kept_)};
  }

 private:
  // The copies that this update may write along with its parameters.
  std::vector<Copy> copies_of(const Node& update) const {
    const auto type = slots_.find(update.type());
    if (type == slots_.end() || update.domain() != kOwnDomain ||
        !update.attributes().integers("copies").empty())
      return {};
    const std::size_t params = update.outputs().size() / (type->second + 1);
    const auto places = UpdatePlaces::of_many(type->second, params);  // nothing is copied so far
    std::vector<Copy> copies;
    for (std::size_t k = 0; k < params; ++k) {
      const Value param = update.inputs()[places.param(k)];
      const auto taken = new_values_.find(from_.name(param));
      if (taken == new_values_.end() || from_.producer(param) ||
          taken->second != from_.name(update.outputs()[places.new_param(k)]))
        continue;
      for (const int user : from_.consumers(param)) {
        const Node node = from_.node(user);
        if (node.replica() != update.replica() && !known_.one_memory) continue;
        if (!layout_of(param).is_rows())
          add_reorder(copies, {{}, param, k, DType::float32, {}}, node);
        else
          add_cast(copies, {{}, param, k, DType::undefined, {}}, node);
      }
    }
    return copies;
  }

  Layout layout_of(Value value) const {
    const auto found = known_.filter_layouts.find(from_.name(value));
    return found == known_.filter_layouts.end() ? Layout() : found->second;
  }
  // True if the node reorders a filter to tiles; a copy can replace this node.
  bool lays_in_tiles(const Node& node) const {
    return node.type() == "Reorder" && node.domain() == kOwnDomain &&
           layout_of(node.outputs()[0]).is_tiles();
  }

  // Adds the result of a cast, if its type is the type of the copies found before. Each layout in
  // which nodes read the result is a copy.
  void add_cast(std::vector<Copy>& copies, Copy copy, const Node& cast) const {
    if (cast.type() != "Cast" || !cast.domain().empty()) return;
    const Value narrow = cast.outputs()[0];
    copy.type = from_.dtype(narrow);
    if (!is_narrow(copy.type) || from_.dtype(copy.param) != DType::float32 ||
        known_.values.contains(from_.name(narrow)))
      return;
    for (const int user : from_.consumers(narrow)) {
      const Node node = from_.node(user);
      copy.values = {lays_in_tiles(node) ? node.outputs()[0] : narrow};
      copy.layout = layout_of(copy.values[0]);
      add(copies, copy);
    }
  }

  // Adds the result of a reorder of a filter to other tiles. The layout pass makes one reorder for
  // each layout.
  void add_reorder(std::vector<Copy>& copies, Copy copy, const Node& reorder) const {
    if (!lays_in_tiles(reorder)) return;
    copy.values = {reorder.outputs()[0]};
    copy.layout = layout_of(copy.values[0]);
    if (!copy.layout.may_hold_states()) add(copies, copy);
  }

  static void add(std::vector<Copy>& copies, const Copy& copy) {
    if (!copies.empty() && copies[0].type != copy.type) return;
    const auto alike = std::ranges::find_if(copies, [&](const Copy& other) {
      return other.number == copy.number && other.layout == copy.layout;
    });
    if (alike == copies.end())
      copies.push_back(copy);
    else if (std::ranges::find(alike->values, copy.values[0]) == alike->values.end())
      alike->values.push_back(copy.values[0]);
  }

  // The nodes that make a copy: the cast alone, or the cast and the reorder of its result.
  std::vector<int> makers_of(Value narrow) const {
    const Node maker = *from_.producer(narrow);
    if (maker.type() == "Cast") return {maker.index()};
    return {from_.producer(maker.inputs()[0])->index(), maker.index()};
  }

  const std::string& name_of(const Copy& copy) const { return from_.name(copy.values[0]); }

  void write_casts(GraphCopy& to, const std::vector<Copy>& copies) const {
    std::vector<Value> inputs;
    std::vector<std::string> names;
    for (const Copy& copy : copies) {
      inputs.push_back(to.of(copy.param));
      names.push_back(name_of(copy));
    }
    const Node made = to.add({.type = "Casts",
                              .domain = kOwnDomain,
                              .inputs = std::move(inputs),
                              .attributes = {{"to", static_cast<int64_t>(copies[0].type)}},
                              .output_names = std::move(names)},
                             *from_.producer(copies[0].values[0]));
    for (std::size_t c = 0; c < copies.size(); ++c)
      for (const Value value : copies[c].values) to.set(value, made.outputs()[c]);
  }

  void write_update(GraphCopy& to, const Node& old, const std::vector<Copy>& copies) {
    std::vector<int64_t> numbers;
    std::vector<std::string> names;
    for (Value result : old.outputs()) names.push_back(from_.name(result));
    for (const Copy& copy : copies) {
      numbers.push_back(static_cast<int64_t>(copy.number));
      kept_.push_back({name_of(copy), to.fresh_name(name_of(copy) + "_new")});
      names.push_back(kept_.back().value);
    }
    Attributes attributes = attributes_of(old);
    attributes.push_back({"copies", std::move(numbers)});
    attributes.push_back({"copies_to", static_cast<int64_t>(copies[0].type)});
    std::vector<Value> inputs = to.of(old.inputs());
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(old.outputs().size()), copies.size(),
                  none);
    const Node made = to.add({.type = old.type(),
                              .domain = kOwnDomain,
                              .inputs = std::move(inputs),
                              .attributes = std::move(attributes),
                              .output_names = std::move(names)},
                             old);
    for (std::size_t i = 0; i < old.outputs().size(); ++i)
      to.set(old.outputs()[i], made.outputs()[i]);
  }

  Attributes attributes_of(const Node& update) const {
    Attributes attributes;
    for_each_update_rule([&]<class Rule>() {
      if (type_of_many(Rule::kType) == update.type())
        attributes = Rule::read(update.attributes()).attributes();
    });
    for (const char* list : {"factors", "decays"})
      attributes.push_back({list, update.attributes().numbers(list)});
    return attributes;
  }

  struct Count {
    std::size_t params = 0, tiled = 0;
  };
  std::vector<std::string> notes(const std::map<int, std::vector<Copy>>& by_update) const {
    std::map<std::pair<int, DType>, Count> counts;
    for (const auto& [index, copies] : by_update) {
      Count& count = counts[{from_.node(index).replica(), copies[0].type}];
      for (std::size_t c = 0; c < copies.size(); ++c) {
        count.params += c == 0 || copies[c].number != copies[c - 1].number;
        count.tiled += copies[c].layout.is_tiles();
      }
    }
    std::vector<std::string> notes;
    for (const auto& [key, count] : counts) notes.push_back(note(key.first, key.second, count));
    return notes;
  }
  static std::string note(int replica, DType type, const Count& count) {
    if (type == DType::float32)
      return join(count.params, " filters of replica ", replica,
                  " are kept in turned tiles, too: updates write both, and no step turns them");
    const std::string start =
        join(count.params, " parameters of replica ", replica, " are kept in ", type, ", too");
    if (count.tiled == 0) return start + ": updates write both, and no step casts them";
    return join(start, ", with ", count.tiled,
                " copies in tiles: updates write all of them, and no step casts or reorders them");
  }

  const Graph& from_;
  const RewriteContext& known_;
  std::map<std::string, std::string> new_values_;  // by state
  std::map<std::string, std::size_t> slots_;       // by operator
  std::vector<Binding> kept_;
};

}  // namespace

Rewritten keep_copies(const Graph& graph, const RewriteContext& context) {
  return CopyKeeper(graph, context).run();
}

}  // namespace lockstep
