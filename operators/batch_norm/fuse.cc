#include <algorithm>
#include <map>

#include "graph/passes/copy.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"

namespace lockstep {
namespace {

// relu(norm) or relu(norm + z), as node numbers; `add` is -1 without z.
struct Forward {
  int norm, add, relu;
  Value z;
};
struct Backward {
  int relu_grad, norm_grad;
  const Forward* forward;
  bool passes_on;  // others need the gradient after the ReLU too
};

bool is(const Node& node, const char* type, const char* domain) {
  return node.type() == type && node.domain() == domain;
}

class BatchNormFusion {
 public:
  BatchNormFusion(const Graph& from, const std::set<std::string>& known)
      : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find_forward(i);
    for (int i = 0; i < from_.node_count(); ++i) find_backward(i);
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      const auto forward = forwards_.find(i);
      const auto backward = backwards_.find(i);
      if (forward != forwards_.end())
        write(copy, forward->second);
      else if (backward != backwards_.end())
        write(copy, backward->second);
      else if (!gone_.count(i))
        copy.copy(from_.node(i));
    }
    return {copy.finish(), notes()};
  }

 private:
  bool only_user(Value value, int user) const {
    const std::vector<int>& users = from_.consumers(value);
    return users.size() == 1 && users[0] == user && !known_.count(from_.name(value));
  }

  // The batch norm that makes `value` for `user` alone, if its other results can wait until `relu`.
  int norm_behind(Value value, int user, int relu) const {
    const auto maker = from_.producer(value);
    if (!maker || !is(*maker, "BatchNormTrain", kOwnDomain) || maker->outputs()[0] != value ||
        maker->replica() != from_.node(relu).replica() || !only_user(value, user) ||
        gone_.count(maker->index()) || maker->inputs().size() > BatchNormIn::z)
      return -1;
    for (Value output : maker->outputs().subspan(1))
      if (output)
        for (int reader : from_.consumers(output))
          if (reader < relu) return -1;
    return maker->index();
  }

  void find_forward(int relu) {
    const Node node = from_.node(relu);
    if (!is(node, "Relu", "")) return;
    const Value x = node.inputs()[0];
    Forward found{norm_behind(x, relu, relu), -1, relu, none};
    const auto maker = from_.producer(x);
    if (found.norm < 0 && maker && is(*maker, "Add", "") && only_user(x, relu))
      for (std::size_t k : {0, 1}) {
        const Value mine = maker->inputs()[k], other = maker->inputs()[1 - k];
        const int norm = norm_behind(mine, maker->index(), relu);
        if (norm <= found.norm || from_.shape(mine) != from_.shape(other)) continue;
        found = {norm, maker->index(), relu, other};
      }
    if (found.norm < 0) return;
    gone_.insert(found.norm);
    if (found.add >= 0) gone_.insert(found.add);
    by_result_[node.outputs()[0].id] = &(forwards_[relu] = found);
  }

  void find_backward(int index) {
    using In = BatchNormGradIn;
    const Node node = from_.node(index);
    if (!is(node, "ReluGrad", kOwnDomain) || known_.count(from_.name(node.outputs()[0]))) return;
    const auto forward = by_result_.find(node.inputs()[1].id);
    if (forward == by_result_.end()) return;
    const Node norm = from_.node(forward->second->norm);
    const Value gradient = node.outputs()[0];
    for (int user : from_.consumers(gradient)) {
      const Node grad = from_.node(user);
      if (!is(grad, "BatchNormGrad", kOwnDomain) || grad.inputs()[In::dy] != gradient ||
          grad.inputs()[In::x] != norm.inputs()[BatchNormIn::x] ||
          grad.inputs()[In::mean] != norm.outputs()[BatchNormOut::saved_mean])
        continue;
      gone_.insert(user);
      backwards_[index] = {index, user, forward->second, from_.consumers(gradient).size() > 1};
      return;
    }
  }

  std::vector<std::string> names(const Node& node) const {
    std::vector<std::string> names;
    for (Value output : node.outputs()) names.push_back(output ? from_.name(output) : "");
    return names;
  }

  void write(GraphCopy& copy, const Forward& forward) {
    const Node norm = from_.node(forward.norm), relu = from_.node(forward.relu);
    BatchNormAttrs attrs = read_batch_norm(norm);
    attrs.relu = true;
    std::vector<Value> inputs = copy.of(norm.inputs());
    if (forward.z) inputs.push_back(copy.of(forward.z));
    std::vector<std::string> outputs = names(norm);
    outputs[0] = from_.name(relu.outputs()[0]);
    const Node made = copy.add({.type = "BatchNormTrain",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = write_batch_norm(attrs),
                                .output_names = std::move(outputs)},
                               norm);
    copy.set(relu.outputs()[0], made.outputs()[0]);
    for (std::size_t i = 1; i < norm.outputs().size(); ++i)
      if (norm.outputs()[i]) copy.set(norm.outputs()[i], made.outputs()[i]);
  }

  void write(GraphCopy& copy, const Backward& backward) {
    const Node relu = from_.node(backward.relu_grad), grad = from_.node(backward.norm_grad);
    const Node norm = from_.node(backward.forward->norm);
    BatchNormGradAttrs attrs = read_batch_norm_grad(grad);
    attrs.relu = true;
    attrs.added = backward.forward->add >= 0;
    std::vector<Value> inputs = copy.of(grad.inputs());
    inputs.resize(BatchNormGradIn::y + 1);
    inputs[BatchNormGradIn::dy] = copy.of(relu.inputs()[0]);
    inputs[BatchNormGradIn::bias] = copy.of(norm.inputs()[BatchNormIn::bias]);
    inputs[BatchNormGradIn::y] = copy.of(relu.inputs()[1]);
    std::vector<std::string> outputs = names(grad);
    if (backward.passes_on) outputs.push_back(from_.name(relu.outputs()[0]));
    const Node made = copy.add({.type = "BatchNormGrad",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = write_batch_norm_grad(attrs),
                                .output_names = std::move(outputs)},
                               grad);
    for (std::size_t i = 0; i < grad.outputs().size(); ++i)
      if (grad.outputs()[i]) copy.set(grad.outputs()[i], made.outputs()[i]);
    if (backward.passes_on) copy.set(relu.outputs()[0], made.outputs().back());
  }

  std::vector<std::string> notes() const {
    const auto added = std::count_if(forwards_.begin(), forwards_.end(),
                                     [](const auto& entry) { return entry.second.add >= 0; });
    const auto all = static_cast<std::ptrdiff_t>(forwards_.size());
    std::vector<std::string> notes;
    if (all > added)
      notes.push_back(join(all - added,
                           " of batch norm and ReLU: the tensor between them is neither written "
                           "nor read"));
    if (added > 0)
      notes.push_back(join(added,
                           " of batch norm, addition and ReLU: the two tensors between them are "
                           "neither written nor read"));
    if (!backwards_.empty())
      notes.push_back(join(backwards_.size(),
                           " of the gradients of ReLU and batch norm: dy is masked where it is "
                           "read"));
    return notes;
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<int, Forward> forwards_;          // by the ReLU's number
  std::map<int, Backward> backwards_;        // by its gradient's
  std::map<int, const Forward*> by_result_;  // by the ReLU's result
  std::set<int> gone_;                       // nodes fused into others
};

}  // namespace

Rewritten fuse_batch_norms(const Graph& graph, const std::set<std::string>& known) {
  return BatchNormFusion(graph, known).run();
}

}  // namespace lockstep
