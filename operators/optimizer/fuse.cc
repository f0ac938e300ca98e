// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "graph/passes/copy.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/rules.h"
#include "operators/optimizer/update_operands.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// The properties of an update operator that fusion uses.
struct UpdateType {
  std::string type;
  std::size_t slots;
  bool decouples_decay;
  Attributes (*attributes)(const Node& node);

  UpdatePlaces places() const { return UpdatePlaces::of_one(slots); }
};

std::vector<UpdateType> update_types() {
  std::vector<UpdateType> types;
  for_each_update_rule([&]<class Rule>() {
    types.push_back({Rule::kType, Rule::kSlots, Rule::kDecouplesDecay,
                     [](const Node& node) { return Rule::read(node.attributes()).attributes(); }});
  });
  return types;
}

std::vector<double> numbers_in(const Attributes& attributes) {
  std::vector<double> numbers;
  for (const auto& [name, value] : attributes)
    if (const auto* number = std::get_if<float>(&value))
      numbers.push_back(*number);
    else
      numbers.push_back(static_cast<double>(std::get<int64_t>(value)));
  return numbers;
}

// One parameter's update. The rule gets the gradient factor * g + decay * param; a rule that
// decouples the decay gets factor * g.
struct Update {
  int node;
  Value gradient;
  float factor = 1, decay = 0;
  int before = -1;                  // the node that applied decay or a factor to the gradient
  int cast = -1;                    // the node that widened the gradient
  std::vector<int> followers = {};  // nodes that read the new parameter, such as its average
};
// The key of updates that differ only in their tensors: the type, replica, rate, number, `unless`
// and attributes are equal.
using Alike = std::tuple<const UpdateType*, int, int, int, int, std::vector<double>>;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max() / 2;

class UpdateFusion {
 public:
  // `most` is the number of elements of one fused update; a single larger parameter may exceed it.
  UpdateFusion(const Graph& from, const std::set<std::string>& known, int64_t most)
      : from_(from), known_(known), most_(most) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find(from_.node(i));
    std::map<int, std::vector<Update>> by_last;
    std::set<int> gone;
    std::map<int, std::vector<int>> later;  // followers by the last update of their portion
    for (const auto& [alike, all] : groups_)
      for (const std::vector<Update>& updates : portions(all)) {
        if (updates.size() < 2 && !gains_alone(updates.front())) continue;
        for (const Update& update : updates) gone.insert({update.node, update.before, update.cast});
        for (const Update& update : updates)
          for (int follower : update.followers)
            if (follower < updates.back().node) {
              gone.insert(follower);
              later[updates.back().node].push_back(follower);
            }
        by_last[updates.back().node] = updates;
      }
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      if (const auto last = by_last.find(i); last != by_last.end())
        write(copy, last->second, later[i]);
      else if (!gone.count(i))
        copy.copy(from_.node(i));
    }
    return {copy.finish(), copy.moved(), notes(by_last)};
  }

 private:
  // A fused update pays for one parameter if it can read a narrow gradient without a cast, or write
  // copies of filters (keep_copies).
  bool gains_alone(const Update& update) const {
    const bool copies = most_ != kAll && from_.shape(update.gradient).size() == 4;
    return update.before >= 0 || update.cast >= 0 || copies;
  }

  // Splits updates in order, so that each portion is ready soon after its last gradient.
  std::vector<std::vector<Update>> portions(const std::vector<Update>& all) const {
    std::vector<std::vector<Update>> portions;
    int64_t elements = most_;
    for (const Update& update : all) {
      const int64_t count = element_count(to_dims(from_.shape(update.gradient)));
      if (portions.empty() || elements + count > most_) {
        portions.emplace_back();
        elements = 0;
      }
      portions.back().push_back(update);
      elements += count;
    }
    return portions;
  }

  std::vector<std::string> notes(const std::map<int, std::vector<Update>>& by_last) const {
    std::vector<std::string> notes;
    for (const auto& [last, updates] : by_last)
      if (most_ == kAll) notes.push_back(note_of_all(updates));
    if (most_ == kAll || by_last.empty()) return notes;
    std::size_t count = 0;
    for (const auto& [last, updates] : by_last) count += updates.size();
    return {join(count, " updates and what precedes them: ", by_last.size(),
                 " sweeps, each over no more gradients than a cache holds")};
  }

  std::string note_of_all(const std::vector<Update>& updates) const {
    const auto narrow = std::ranges::count_if(updates, [](const Update& u) { return u.cast >= 0; });
    return join(
        updates.size(), " updates of replica ", from_.node(updates.front().node).replica(),
        ": one launch for all",
        narrow > 0 ? join(", which reads ", narrow, " gradients of 16 bits as they are") : "");
  }

  bool is_read(Value value) const {
    return value && (!from_.consumers(value).empty() || known_.count(from_.name(value)));
  }
  bool only_user(Value value, int user) const {
    const std::vector<int>& users = from_.consumers(value);
    return users.size() == 1 && users[0] == user && !known_.count(from_.name(value));
  }

  const UpdateType* type_of(const Node& node) const {
    if (node.domain() != kOwnDomain) return nullptr;
    const auto found = std::find_if(types_.begin(), types_.end(), [&](const UpdateType& type) {
      return type.type == node.type();
    });
    return found == types_.end() ? nullptr : &*found;
  }

  void find(const Node& node) {
    const UpdateType* type = type_of(node);
    if (!type) return;
    const auto in = node.inputs(), out = node.outputs();
    if (is_read(out[UpdatePlaces::kStep])) return;
    std::vector<int> followers;
    for (Value made : out.subspan(1))
      for (int reader : from_.consumers(made)) {
        if (!may_follow(from_.node(reader))) return;
        followers.push_back(reader);
      }
    const UpdatePlaces places = type->places();
    auto id = [&](std::size_t i) { return i < in.size() ? in[i].id : -1; };
    Update update = read(node, *type);
    read_as_computed(update);
    update.followers = std::move(followers);
    groups_[{type, node.replica(), id(places.rate()), id(places.number()), id(places.unless()),
             numbers_in(type->attributes(node))}]
        .push_back(update);
  }

  // True if the node may wait for a fused update: it reads the result of one update, and no node
  // reads its results.
  bool may_follow(const Node& reader) const {
    int updates = 0;
    for (Value input : reader.inputs())
      if (const auto maker = input ? from_.producer(input) : std::nullopt; maker)
        updates += type_of(*maker) != nullptr;
    return updates == 1 && !type_of(reader) &&
           std::ranges::all_of(reader.outputs(),
                               [&](Value made) { return !made || from_.consumers(made).empty(); });
  }

  // Skips the cast of a gradient that is widened from 16 bits only for this update.
  void read_as_computed(Update& update) const {
    const int user = update.before >= 0 ? update.before : update.node;
    const auto cast = from_.producer(update.gradient);
    if (!cast || cast->type() != "Cast" || !cast->domain().empty() ||
        from_.dtype(update.gradient) != DType::float32 || !only_user(update.gradient, user))
      return;
    const Value narrow = cast->inputs()[0];
    if (!is_narrow(from_.dtype(narrow))) return;
    update.gradient = narrow;
    update.cast = cast->index();
  }

  // Detects weight decay or a factor that is applied to the gradient, and decay in the update.
  Update read(const Node& node, const UpdateType& type) const {
    const Value gradient = node.inputs()[type.places().gradient()];
    const Value param = node.inputs()[type.places().param()];
    Update update{node.index(), gradient};
    if (type.decouples_decay) update.decay = node.attributes().number("decay", 0);
    const auto maker = from_.producer(gradient);
    if (!maker || !only_user(gradient, node.index())) return update;
    if (maker->type() == "Scale" && maker->domain() == kOwnDomain) {
      update.gradient = maker->inputs()[0];
      update.factor = maker->attributes().number("scale", 1);
      update.before = maker->index();
    } else if (maker->type() == "WeightedSum" && maker->inputs().size() == 4 &&
               maker->inputs()[2] == param && !type.decouples_decay) {
      const Literal* one = from_.literal(maker->inputs()[1]);
      const Literal* decay = from_.literal(maker->inputs()[3]);
      if (!one || !decay || one->values<float>()[0] != 1) return update;
      update.gradient = maker->inputs()[0];
      update.decay = decay->values<float>()[0];
      update.before = maker->index();
    }
    return update;
  }

  void write(GraphCopy& copy, const std::vector<Update>& updates,
             const std::vector<int>& followers) {
    const Node last = from_.node(updates.back().node);
    const UpdateType& type = *type_of(last);
    const UpdatePlaces places = type.places();
    std::vector<Value> inputs;
    std::vector<std::string> names;
    std::vector<float> factors, decays;
    std::vector<Value> results;  // of the fused update
    const auto take = [&](std::size_t operand, std::size_t result) {
      for (const Update& update : updates) {
        const Node node = from_.node(update.node);
        inputs.push_back(copy.of(node.inputs()[operand]));
        results.push_back(node.outputs()[result]);
        names.push_back(from_.name(results.back()));
      }
    };
    for (std::size_t s = 0; s < type.slots; ++s) take(places.slot(s), places.new_slot(s));
    take(places.param(), places.new_param());
    for (const Update& update : updates) {
      inputs.push_back(copy.of(update.gradient));
      factors.push_back(update.factor);
      decays.push_back(update.decay);
    }
    for (std::size_t i : {places.rate(), places.number(), places.unless()})
      inputs.push_back(i < last.inputs().size() ? copy.of(last.inputs()[i]) : none);
    Attributes attributes = type.attributes(last);
    attributes.push_back({"factors", factors});
    attributes.push_back({"decays", decays});
    const Node made = copy.add({.type = type_of_many(type.type),
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = std::move(attributes),
                                .output_names = std::move(names)},
                               last);
    for (std::size_t i = 0; i < results.size(); ++i) copy.set(results[i], made.outputs()[i]);
    for (int follower : followers) copy.copy(from_.node(follower));
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  const int64_t most_;
  const std::vector<UpdateType> types_ = update_types();
  std::map<Alike, std::vector<Update>> groups_;
};

}  // namespace

Rewritten fuse_updates(const Graph& graph, const RewriteContext& context) {
  return UpdateFusion(graph, context.values, kAll).run();
}

Rewritten fuse_small_updates(const Graph& graph, const RewriteContext& context) {
  constexpr int64_t kCached = 1 << 16;
  return UpdateFusion(graph, context.values, kCached).run();
}

}  // namespace lockstep
