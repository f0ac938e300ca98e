#include <algorithm>
#include <map>
#include <set>

#include "graph/passes/copy.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_places.h"
#include "runtime/rewrite.h"

namespace lockstep {
namespace {

// Copies of parameters that steps make of them again and again.
enum class Copies {
  casts,   // to 16 bits
  turned,  // filters in tiles, reordered to turned ones
};

// A parameter's copy, of which there is one however many nodes make it.
struct Copy {
  std::vector<int> makers;
  Value param;
  std::size_t number;  // of the parameter in its update
  DType type;
};

class CopyKeeper {
 public:
  CopyKeeper(const Graph& from, const Known& known, Copies copies)
      : from_(from), known_(known), what_(copies) {
    for (const Binding& update : known.updates) new_values_[update.state] = update.value;
    for_each_update_rule([&]<class Rule>() { slots_[type_of_many(Rule::kType)] = Rule::kSlots; });
  }

  Rewritten run() {
    std::map<int, std::vector<Copy>> by_update;
    std::map<int, std::vector<Copy>> by_first_cast;
    std::set<int> gone;
    for (int i = 0; i < from_.node_count(); ++i) {
      std::vector<Copy> copies = copies_of(from_.node(i));
      if (copies.empty()) continue;
      if (what_ == Copies::casts) {
        int first = i;
        for (const Copy& copy : copies) {
          gone.insert(copy.makers.begin(), copy.makers.end());
          first = std::min(first, copy.makers.front());
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
    return {to.finish(), notes(by_update), std::move(kept_)};
  }

 private:
  // What this update may write, too.
  std::vector<Copy> copies_of(const Node& update) const {
    const auto type = slots_.find(update.type());
    if (type == slots_.end() || update.domain() != kOwnDomain ||
        !update.attributes().integers("copies").empty())
      return {};
    const std::size_t params = update.outputs().size() / (type->second + 1);
    const auto places = UpdatePlaces::of_many(type->second, params);  // none is copied so far
    std::vector<Copy> copies;
    for (std::size_t k = 0; k < params; ++k) {
      const Value param = update.inputs()[places.param(k)];
      const auto taken = new_values_.find(from_.name(param));
      if (taken == new_values_.end() || from_.producer(param) ||
          known_.tiled_states.contains(from_.name(param)) != (what_ == Copies::turned) ||
          taken->second != from_.name(update.outputs()[places.new_param(k)]))
        continue;
      Copy copy{{}, param, k, copies.empty() ? DType::undefined : copies[0].type};
      for (const int user : from_.consumers(param)) {
        const Node node = from_.node(user);
        if (node.replica() != update.replica()) continue;
        if (what_ == Copies::casts)
          add_cast(copy, node);
        else
          add_turned(copy, node);
      }
      if (!copy.makers.empty()) copies.push_back(std::move(copy));
    }
    return copies;
  }

  // A cast to the type of the copies before it.
  void add_cast(Copy& copy, const Node& cast) const {
    if (cast.type() != "Cast" || !cast.domain().empty()) return;
    const Value narrow = cast.outputs()[0];
    const DType to = from_.dtype(narrow);
    if ((to != DType::float16 && to != DType::bfloat16) ||
        from_.dtype(copy.param) != DType::float32 || known_.values.contains(from_.name(narrow)) ||
        (copy.type != DType::undefined && copy.type != to))
      return;
    copy.type = to;
    copy.makers.push_back(cast.index());
  }

  // The layout pass makes one reorder of each layout.
  void add_turned(Copy& copy, const Node& reorder) const {
    if (reorder.type() != "Reorder" || reorder.domain() != kOwnDomain ||
        !known_.turned_values.contains(from_.name(reorder.outputs()[0])))
      return;
    copy.type = DType::float32;
    copy.makers = {reorder.index()};
  }

  const std::string& name_of(const Copy& copy) const {
    return from_.name(from_.node(copy.makers.front()).outputs()[0]);
  }

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
                             from_.node(copies[0].makers.front()));
    for (std::size_t c = 0; c < copies.size(); ++c)
      for (const int maker : copies[c].makers)
        to.set(from_.node(maker).outputs()[0], made.outputs()[c]);
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

  std::vector<std::string> notes(const std::map<int, std::vector<Copy>>& by_update) const {
    std::map<std::pair<int, DType>, std::size_t> counts;
    for (const auto& [index, copies] : by_update)
      counts[{from_.node(index).replica(), copies[0].type}] += copies.size();
    std::vector<std::string> notes;
    for (const auto& [key, count] : counts)
      notes.push_back(
          what_ == Copies::casts
              ? join(count, " parameters of replica ", key.first, " are kept in ", key.second,
                     ", too: updates write both, and no step casts them")
              : join(count, " filters of replica ", key.first,
                     " are kept in turned tiles, too: updates write both, and no step turns them"));
    return notes;
  }

  const Graph& from_;
  const Known& known_;
  const Copies what_;
  std::map<std::string, std::string> new_values_;  // by state
  std::map<std::string, std::size_t> slots_;       // by operator
  std::vector<Binding> kept_;
};

}  // namespace

Rewritten keep_casts(const Graph& graph, const Known& known) {
  return CopyKeeper(graph, known, Copies::casts).run();
}

Rewritten keep_turned_filters(const Graph& graph, const Known& known) {
  return CopyKeeper(graph, known, Copies::turned).run();
}

}  // namespace lockstep
