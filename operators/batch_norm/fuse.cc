// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "graph/passes/copy.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "operators/elementwise/clip.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// relu(norm), relu(norm + z) or clip(norm), as node indices; `add` is -1 without z.
struct Forward {
  int norm, add, last;
  Value z;
  bool clip = false;
  float low = 0, high = 0;
};
struct Backward {
  int last_grad, norm_grad;
  const Forward* forward;
  bool passes_on;  // other nodes also need the gradient after the ReLU or Clip
};

bool is(const Node& node, const char* type, const char* domain) {
  return node.type() == type && node.domain() == domain;
}

// True if the node normalises with given statistics, as predictions do.
bool is_given(const Node& norm) {
  return is(norm, "BatchNormalization", "") && !read_batch_norm(norm).training;
}
// The mean that the node's gradient uses.
Value mean_of(const Node& norm) {
  return is_given(norm) ? norm.inputs()[BatchNormIn::mean]
                        : norm.outputs()[BatchNormOut::saved_mean];
}

class BatchNormFusion {
 public:
  BatchNormFusion(const Graph& from, const std::set<std::string>& known, bool clips)
      : from_(from), known_(known), clips_(clips) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find_forward(i);
    for (int i = 0; i < from_.node_count() && clips_; ++i) find_clip(i);
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
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  bool only_user(Value value, int user) const {
    const std::vector<int>& users = from_.consumers(value);
    return users.size() == 1 && users[0] == user && !known_.count(from_.name(value));
  }

  // The batch norm that computes `value` for `user` only, if its other results can wait until
  // `relu`; else -1.
  int norm_behind(Value value, int user, int relu) const {
    return only_user(value, user) ? norm_that_makes(value, relu) : -1;
  }
  int norm_that_makes(Value value, int relu) const {
    const auto maker = from_.producer(value);
    if (!maker || !(is(*maker, "BatchNormTrain", kOwnDomain) || is_given(*maker)) ||
        maker->outputs()[0] != value || maker->replica() != from_.node(relu).replica() ||
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
    const Node node = from_.node(index);
    if (!is(node, "ReluGrad", kOwnDomain)) return;
    const auto forward = by_result_.find(node.inputs()[1].id);
    if (forward != by_result_.end()) fuse_gradient(node, *forward->second);
  }

  // The gradient of `norm` that reads the result of `last_grad`; -1 if there is none, or if the
  // result is known outside the graph.
  int norm_grad_after(const Node& last_grad, const Node& norm) const {
    using In = BatchNormGradIn;
    const Value gradient = last_grad.outputs()[0];
    if (known_.count(from_.name(gradient))) return -1;
    for (int user : from_.consumers(gradient)) {
      const Node grad = from_.node(user);
      if (is(grad, "BatchNormGrad", kOwnDomain) && grad.inputs()[In::dy] == gradient &&
          grad.inputs()[In::x] == norm.inputs()[BatchNormIn::x] &&
          grad.inputs()[In::mean] == mean_of(norm))
        return user;
    }
    return -1;
  }

  void fuse_gradient(const Node& last_grad, const Forward& forward) {
    const int norm_grad = norm_grad_after(last_grad, from_.node(forward.norm));
    if (norm_grad < 0) return;
    gone_.insert(norm_grad);
    backwards_[last_grad.index()] = {last_grad.index(), norm_grad, &forward,
                                     from_.consumers(last_grad.outputs()[0]).size() > 1};
  }

  // The value of a Clip's bound; `omitted` if the bound is omitted, empty if it is not a constant.
  std::optional<float> bound(const Node& clip, std::size_t operand, float omitted) const {
    const auto inputs = clip.inputs();
    if (operand >= inputs.size() || !inputs[operand]) return omitted;
    const Literal* literal = from_.literal(inputs[operand]);
    if (!literal) return std::nullopt;
    if (literal->dtype() == DType::bfloat16) return literal->values<BFloat16>()[0];
    if (literal->dtype() == DType::float32) return literal->values<float>()[0];
    return std::nullopt;
  }

  // Finds a Clip to fuse. A Clip's gradient reads the Clip's operand, so both are fused or neither.
  void find_clip(int index) {
    constexpr float kNoBound = std::numeric_limits<float>::infinity();
    const Node clip = from_.node(index);
    if (!is(clip, "Clip", "")) return;
    const Value x = clip.inputs()[0];
    const auto low = bound(clip, 1, -kNoBound), high = bound(clip, 2, kNoBound);
    const int norm = norm_that_makes(x, index);
    if (!low || !high || norm < 0 || known_.count(from_.name(x))) return;
    int clip_grad = -1;
    for (int user : from_.consumers(x)) {
      if (user == index) continue;
      const Node grad = from_.node(user);
      if (clip_grad >= 0 || !is(grad, "ClipGrad", kOwnDomain) ||
          grad.inputs()[ClipGradIn::x] != x ||
          !std::ranges::equal(grad.inputs().subspan(2), clip.inputs().subspan(1)) ||
          norm_grad_after(grad, from_.node(norm)) < 0)
        return;
      clip_grad = user;
    }
    gone_.insert(norm);
    const Forward& forward = forwards_[index] = {norm, -1, index, none, true, *low, *high};
    if (clip_grad >= 0) fuse_gradient(from_.node(clip_grad), forward);
  }

  std::vector<std::string> names(const Node& node) const {
    std::vector<std::string> names;
    for (Value output : node.outputs()) names.push_back(output ? from_.name(output) : "");
    return names;
  }

  void write(GraphCopy& copy, const Forward& forward) {
    const Node norm = from_.node(forward.norm), last = from_.node(forward.last);
    BatchNormAttrs attrs = read_batch_norm(norm);
    set_ending(attrs, forward);
    std::vector<Value> inputs = copy.of(norm.inputs());
    if (forward.z) inputs.push_back(copy.of(forward.z));
    std::vector<std::string> outputs = names(norm);
    outputs[0] = from_.name(last.outputs()[0]);
    const bool given = is_given(norm);
    const Node made =
        copy.add({.type = given ? "FusedBatchNorm" : "BatchNormTrain",
                  .domain = kOwnDomain,
                  .inputs = std::move(inputs),
                  .attributes = given ? write_fused_batch_norm(attrs) : write_batch_norm(attrs),
                  .output_names = std::move(outputs)},
                 norm);
    copy.set(last.outputs()[0], made.outputs()[0]);
    for (std::size_t i = 1; i < norm.outputs().size(); ++i)
      if (norm.outputs()[i]) copy.set(norm.outputs()[i], made.outputs()[i]);
  }

  void write(GraphCopy& copy, const Backward& backward) {
    const Node last = from_.node(backward.last_grad), grad = from_.node(backward.norm_grad);
    const Node norm = from_.node(backward.forward->norm);
    BatchNormGradAttrs attrs = read_batch_norm_grad(grad);
    set_ending(attrs, *backward.forward);
    attrs.added = backward.forward->add >= 0;
    std::vector<Value> inputs = copy.of(grad.inputs());
    inputs.resize(BatchNormGradIn::y + 1);
    inputs[BatchNormGradIn::dy] = copy.of(last.inputs()[0]);
    inputs[BatchNormGradIn::bias] = copy.of(norm.inputs()[BatchNormIn::bias]);
    if (attrs.relu) inputs[BatchNormGradIn::y] = copy.of(last.inputs()[1]);
    std::vector<std::string> outputs = names(grad);
    if (backward.passes_on) outputs.push_back(from_.name(last.outputs()[0]));
    const Node made = copy.add({.type = "BatchNormGrad",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = write_batch_norm_grad(attrs),
                                .output_names = std::move(outputs)},
                               grad);
    for (std::size_t i = 0; i < grad.outputs().size(); ++i)
      if (grad.outputs()[i]) copy.set(grad.outputs()[i], made.outputs()[i]);
    if (backward.passes_on) copy.set(last.outputs()[0], made.outputs().back());
  }

  template <class Attrs>
  static void set_ending(Attrs& attrs, const Forward& forward) {
    attrs.relu = !forward.clip;
    attrs.clip = forward.clip;
    attrs.low = forward.low;
    attrs.high = forward.high;
  }

  std::vector<std::string> notes() const {
    const auto count = [&](const auto& which) {
      return std::count_if(forwards_.begin(), forwards_.end(),
                           [&](const auto& entry) { return which(entry.second); });
    };
    const auto added = count([](const Forward& forward) { return forward.add >= 0; });
    const auto clipped = count([](const Forward& forward) { return forward.clip; });
    const auto alone = static_cast<std::ptrdiff_t>(forwards_.size()) - added - clipped;
    std::vector<std::string> notes;
    if (alone > 0)
      notes.push_back(join(alone,
                           " of batch norm and ReLU: the tensor between them is neither written "
                           "nor read"));
    if (added > 0)
      notes.push_back(join(added,
                           " of batch norm, addition and ReLU: the two tensors between them are "
                           "neither written nor read"));
    if (clipped > 0)
      notes.push_back(join(clipped,
                           " of batch norm and Clip: the tensor between them is neither written "
                           "nor read"));
    for (const bool clip : {false, true}) {
      const auto masked =
          std::count_if(backwards_.begin(), backwards_.end(),
                        [&](const auto& entry) { return entry.second.forward->clip == clip; });
      if (masked > 0)
        notes.push_back(join(masked, " of the gradients of ", clip ? "Clip" : "ReLU",
                             " and batch norm: dy is masked where it is read"));
    }
    return notes;
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  const bool clips_;
  std::map<int, Forward> forwards_;          // by the index of the ReLU or Clip
  std::map<int, Backward> backwards_;        // by the index of the ReLU's or Clip's gradient
  std::map<int, const Forward*> by_result_;  // by the ReLU's result
  std::set<int> gone_;                       // nodes fused into others
};

}  // namespace

Rewritten fuse_batch_norms(const Graph& graph, const RewriteContext& context) {
  return BatchNormFusion(graph, context.values, false).run();
}

Rewritten fuse_batch_norms_and_clips(const Graph& graph, const RewriteContext& context) {
  return BatchNormFusion(graph, context.values, true).run();
}

}  // namespace lockstep
