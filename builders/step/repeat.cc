// Micro-batches (declared in one_replica.h): forward and backward pass again for each later part.
#include <unordered_map>

#include "builders/step/one_replica.h"
#include "graph/random_stream.h"
#include "operators/elementwise/elementwise.h"

namespace lockstep {
namespace {

// Copies one part for the others. Nodes whose operands are the same in all parts are not repeated,
// except random numbers.
class Repetition {
 public:
  explicit Repetition(OneReplica& one)
      : one_(one), graph_(one.graph), nodes_(one.graph.node_count()) {
    for (const Net::Param& param : one.params) next_.push_back(param.next);
  }

  void add(int part) {
    here_.clear();
    NameScope scope(graph_, scope_of_part(part));
    OneReplica::Part made;
    const OneReplica::Part& first = one_.parts[0];
    for (const Net::Named& input : first.inputs) {
      made.inputs.push_back({input.name, fed(input.value, input.name, part)});
      here_[input.value.id] = made.inputs.back().value;
    }
    if (first.weight)
      here_[first.weight.id] = made.weight = fed(first.weight, graph_.name(first.weight), part);
    for (std::size_t p = 0; p < one_.params.size(); ++p)  // continues from the last part's values
      if (next_[p]) here_[one_.params[p].value.id] = one_.params[p].next;
    for (int index = 0; index < nodes_; ++index) copy(index, part);
    for (Value loss : first.losses) made.losses.push_back(here(loss));
    for (Value metric : first.metrics) made.metrics.push_back(here(metric));
    for (std::size_t p = 0; p < one_.params.size(); ++p)
      if (next_[p]) one_.params[p].next = here(next_[p]);
    one_.parts.push_back(std::move(made));
  }

  Value here(Value value) const {
    const auto found = here_.find(value.id);
    return found == here_.end() ? value : found->second;
  }

 private:
  // Parts of a batch may differ in size.
  Value fed(Value first, const std::string& name, int part) {
    TensorType type = graph_.type(first);
    for (Dim& dim : type.shape)
      if (!dim.known()) dim = Dim(dim.symbol() + "_" + scope_of_part(part));
    return graph_.input(name, type);
  }

  void copy(int index, int part) {
    const Node node = graph_.node(index);
    bool differs = node.op()->draws || node.op()->random;
    std::vector<Value> inputs;
    for (Value input : node.inputs()) {
      differs = differs || (input && here_.contains(input.id));
      inputs.push_back(input ? here(input) : none);
    }
    if (!differs) return;
    const std::vector<Value> outputs(node.outputs().begin(), node.outputs().end());
    const bool draws = has_random_stream(node);
    const Node made = graph_.copy(node, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) here_[outputs[i].id] = made.outputs()[i];
    if (draws) set_random_part(graph_, made.index(), part);
  }

  OneReplica& one_;
  Graph& graph_;
  const int nodes_;                      // of the first part
  std::vector<Value> next_;              // of the first part, by parameter
  std::unordered_map<int, Value> here_;  // the current part's value for each value of the first
                                         // part
};

}  // namespace

void repeat(OneReplica& one, int parts) {
  const std::vector<Value> first = one.gradients;
  Repetition repetition(one);
  for (int part = 1; part < parts; ++part) {
    repetition.add(part);
    const bool last = part == parts - 1;
    // Sums part by part, so that only the sum outlives a part.
    for (std::size_t p = 0; p < one.params.size(); ++p) {
      if (!first[p]) continue;
      const std::string name = one.params[p].name + "_grad";
      if (last && one.graph.name(first[p]) == name)
        one.graph.rename(first[p], scope_of_part(0) + "/" + name);
      one.gradients[p] = lockstep::add(one.graph, one.gradients[p], repetition.here(first[p]),
                                       last ? name : join(name, "_up_to_", scope_of_part(part)));
    }
  }
}

}  // namespace lockstep
