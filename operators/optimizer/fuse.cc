#include <map>
#include <tuple>

#include "graph/passes/copy.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

// One parameter's update: v' = mu v + rate * (factor g + decay p).
struct Update {
  int node;
  Value gradient;
  float factor = 1, decay = 0;
  int before = -1;  // the node that decayed or scaled the gradient
};
// Updates that differ in their tensors alone.
using Alike = std::tuple<int, int, int, int, float, int64_t>;

class UpdateFusion {
 public:
  UpdateFusion(const Graph& from, const std::set<std::string>& known)
      : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find(from_.node(i));
    std::map<int, const std::vector<Update>*> by_last;
    std::set<int> gone;
    for (const auto& [alike, updates] : groups_) {
      if (updates.size() < 2) continue;
      by_last[updates.back().node] = &updates;
      for (const Update& update : updates) {
        gone.insert(update.node);
        if (update.before >= 0) gone.insert(update.before);
      }
    }
    GraphCopy copy(from_);
    std::vector<std::string> notes;
    for (int i = 0; i < from_.node_count(); ++i) {
      if (const auto last = by_last.find(i); last != by_last.end()) {
        write(copy, *last->second);
        notes.push_back(join(last->second->size(), " updates of replica ", from_.node(i).replica(),
                             ": one launch instead of one and more each"));
      } else if (!gone.count(i)) {
        copy.copy(from_.node(i));
      }
    }
    return {copy.finish(), std::move(notes)};
  }

 private:
  bool is_read(Value value) const {
    return value && (!from_.consumers(value).empty() || known_.count(from_.name(value)));
  }
  bool only_user(Value value, int user) const {
    const std::vector<int>& users = from_.consumers(value);
    return users.size() == 1 && users[0] == user && !known_.count(from_.name(value));
  }

  void find(const Node& node) {
    if (node.type() != "MomentumSGDUpdate" || node.domain() != kOwnDomain) return;
    const auto in = node.inputs(), out = node.outputs();
    if (is_read(out[0]) || !from_.consumers(out[1]).empty() || !from_.consumers(out[2]).empty())
      return;
    AttributeReader reader = node.attributes();
    const float momentum = reader.number("momentum", 0);
    const int64_t nesterov = reader.integer("nesterov", 0);
    auto id = [&](std::size_t i) { return i < in.size() ? in[i].id : -1; };
    groups_[{node.replica(), id(2), id(4), id(5), momentum, nesterov}].push_back(read(node));
  }

  // Looks behind the gradient for weight decay or a factor.
  Update read(const Node& node) const {
    const Value gradient = node.inputs()[0], param = node.inputs()[3];
    Update update{node.index(), gradient};
    const auto maker = from_.producer(gradient);
    if (!maker || !only_user(gradient, node.index())) return update;
    if (maker->type() == "Scale" && maker->domain() == kOwnDomain) {
      update.gradient = maker->inputs()[0];
      update.factor = maker->attributes().number("scale", 1);
      update.before = maker->index();
    } else if (maker->type() == "WeightedSum" && maker->inputs().size() == 4 &&
               maker->inputs()[2] == param) {
      const Literal* one = from_.literal(maker->inputs()[1]);
      const Literal* decay = from_.literal(maker->inputs()[3]);
      if (!one || !decay || one->values<float>()[0] != 1) return update;
      update.gradient = maker->inputs()[0];
      update.decay = decay->values<float>()[0];
      update.before = maker->index();
    }
    return update;
  }

  void write(GraphCopy& copy, const std::vector<Update>& updates) {
    const Node last = from_.node(updates.back().node);
    AttributeReader reader = last.attributes();
    std::vector<Value> momenta, params, gradients;
    std::vector<std::string> new_momenta, new_params;
    std::vector<float> factors, decays;
    for (const Update& update : updates) {
      const Node node = from_.node(update.node);
      momenta.push_back(copy.of(node.inputs()[1]));
      params.push_back(copy.of(node.inputs()[3]));
      gradients.push_back(copy.of(update.gradient));
      new_momenta.push_back(from_.name(node.outputs()[1]));
      new_params.push_back(from_.name(node.outputs()[2]));
      factors.push_back(update.factor);
      decays.push_back(update.decay);
    }
    std::vector<Value> inputs = momenta;
    inputs.insert(inputs.end(), params.begin(), params.end());
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    for (std::size_t i : {2, 4, 5})
      inputs.push_back(i < last.inputs().size() ? copy.of(last.inputs()[i]) : none);
    std::vector<std::string> names = new_momenta;
    names.insert(names.end(), new_params.begin(), new_params.end());
    const Node made = copy.add({.type = "MomentumSGDUpdates",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = {{"momentum", reader.number("momentum", 0)},
                                               {"nesterov", reader.integer("nesterov", 0)},
                                               {"factors", factors},
                                               {"decays", decays}},
                                .output_names = std::move(names)},
                               last);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const auto outputs = from_.node(updates[i].node).outputs();
      copy.set(outputs[1], made.outputs()[i]);
      copy.set(outputs[2], made.outputs()[updates.size() + i]);
    }
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<Alike, std::vector<Update>> groups_;
};

}  // namespace

Rewritten fuse_updates(const Graph& graph, const std::set<std::string>& known) {
  return UpdateFusion(graph, known).run();
}

}  // namespace lockstep
