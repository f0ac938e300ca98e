// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "graph/passes/copy.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "operators/conv/conv.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// The nodes after a convolution that are fused, as node indices; -1: none.
struct Tail {
  int convolution, addition = -1, relu = -1;
  Value z{};  // the addend
};

class ConvFusion {
 public:
  ConvFusion(const Graph& from, const std::set<std::string>& known, bool on_gpu)
      : from_(from), known_(known), on_gpu_(on_gpu) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find_relu(from_.node(i));
    for (int i = 0; i < from_.node_count(); ++i) find_addition(from_.node(i));
    for (int i = 0; on_gpu_ && i < from_.node_count(); ++i) find_norm(from_.node(i));
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      const Node node = from_.node(i);
      if (const auto found = tails_.find(i); found != tails_.end())
        write_with_tail(copy, found->second, node);
      else if (measured_.contains(i))
        write_with_sums(copy, node);
      else if (const auto norm = convolution_of_norm_.find(i); norm != convolution_of_norm_.end())
        write_norm(copy, node, norm->second);
      else if (!gone_.contains(i))
        copy.copy(node);
    }
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  // The index of the convolution that makes a value; -1 if no convolution does.
  int convolution_behind(Value value, const Node& user) const {
    const auto maker = from_.producer(value);
    if (!maker || maker->type() != "Conv" || !maker->domain().empty() ||
        maker->replica() != user.replica())
      return -1;
    return maker->index();
  }
  bool others_see(Value value) const {
    return from_.consumers(value).size() > 1 || known_.contains(from_.name(value));
  }

  // Records a fusion. The fused node replaces the last node of the tail, where z exists, too.
  void keep(const Tail& tail) {
    for (int node : {tail.convolution, tail.addition, tail.relu}) gone_.insert(node);
    tails_[std::max(tail.addition, tail.relu)] = tail;
  }

  void find_relu(const Node& node) {
    if (node.type() != "Relu" || !node.domain().empty()) return;
    const Value x = node.inputs()[0];
    if (others_see(x)) return;
    const auto maker = from_.producer(x);
    if (const int convolution = convolution_behind(x, node); convolution >= 0)
      keep({.convolution = convolution, .relu = node.index()});
    else if (maker && maker->replica() == node.replica())
      keep_sum(*maker, node.index());
  }

  void find_addition(const Node& node) {
    if (!gone_.contains(node.index())) keep_sum(node, -1);
  }

  // Records a fusion with a sum. If two convolutions meet in a sum, the later convolution adds the
  // earlier convolution's result.
  void keep_sum(const Node& sum, int relu) {
    if (sum.type() != "Add" || !sum.domain().empty()) return;
    const Value a = sum.inputs()[0], b = sum.inputs()[1];
    if (from_.shape(a) != from_.shape(b)) return;
    // CPUs that convolve 16-bit floats in float32 would round once where other devices round twice.
    if (!on_gpu_ && from_.dtype(a) != DType::float32) return;
    const int of_a = others_see(a) ? -1 : convolution_behind(a, sum);
    const int of_b = others_see(b) ? -1 : convolution_behind(b, sum);
    const int convolution = std::max(of_a, of_b);
    if (convolution >= 0) keep({convolution, sum.index(), relu, of_a > of_b ? b : a});
  }

  // Finds convolutions to fuse with a batch norm's sums: only convolutions of 16-bit floats. With
  // 16-bit inputs, squares of a large mean leave enough precision for the variance.
  void find_norm(const Node& node) {
    if (node.type() != "BatchNormTrain" || node.domain() != kOwnDomain ||
        node.inputs().size() > BatchNormIn::z + 1)
      return;
    const Value x = node.inputs()[0];
    const DType type = from_.dtype(x);
    if (!is_narrow(type) || from_.shape(x).size() != 4) return;
    const int convolution = convolution_behind(x, node);
    if (convolution < 0 || !measured_.insert(convolution).second) return;
    convolution_of_norm_[node.index()] = convolution;
  }

  NodeSpec fused(GraphCopy& copy, const Node& convolution, bool relu) const {
    AttributeReader reader = convolution.attributes();
    FusedConvAttrs attrs{read_conv(reader), relu};
    const Shape& x = from_.shape(convolution.inputs()[ConvIn::x]);
    const Shape& w = from_.shape(convolution.inputs()[ConvIn::w]);
    attrs.conv.window =
        resolved(attrs.conv.window, to_dims({w.begin() + 2, w.end()}), {x.begin() + 2, x.end()});
    return {.type = "FusedConv",
            .domain = kOwnDomain,
            .inputs = copy.of(convolution.inputs()),
            .attributes = write_fused_conv(attrs)};
  }

  void write_with_tail(GraphCopy& copy, const Tail& tail, const Node& last) const {
    const Node convolution = from_.node(tail.convolution);
    NodeSpec spec = fused(copy, convolution, tail.relu >= 0);
    if (tail.z) {
      spec.inputs.resize(ConvIn::z, none);
      spec.inputs.push_back(copy.of(tail.z));
    }
    spec.output_names = {from_.name(last.outputs()[0])};
    const Node made = copy.add(std::move(spec), convolution);
    copy.set(last.outputs()[0], made.outputs()[0]);
  }

  void write_with_sums(GraphCopy& copy, const Node& convolution) {
    NodeSpec spec = fused(copy, convolution, false);
    const std::string y = from_.name(convolution.outputs()[0]);
    spec.output_names = {y, y + "_sums", y + "_squares"};
    const Node made = copy.add(std::move(spec), convolution);
    copy.set(convolution.outputs()[0], made.outputs()[0]);
    sums_[convolution.index()] = {made.outputs()[ConvOut::sums], made.outputs()[ConvOut::squares]};
  }

  void write_norm(GraphCopy& copy, const Node& norm, int convolution) const {
    std::vector<Value> inputs = copy.of(norm.inputs());
    inputs.resize(BatchNormIn::squares + 1, none);
    std::tie(inputs[BatchNormIn::sums], inputs[BatchNormIn::squares]) = sums_.at(convolution);
    copy.replace(norm, {.type = "BatchNormTrain",
                        .domain = kOwnDomain,
                        .inputs = std::move(inputs),
                        .attributes = write_batch_norm(read_batch_norm(norm))});
  }

  std::vector<std::string> notes() const {
    const auto count = [this](bool added, bool masked) {
      return std::ranges::count_if(tails_, [=](const auto& entry) {
        return (entry.second.addition >= 0) == added && (entry.second.relu >= 0) == masked;
      });
    };
    std::vector<std::string> notes;
    const auto note = [&](std::ptrdiff_t how_many, const char* of) {
      if (how_many > 0) notes.push_back(join(how_many, " of convolution", of));
    };
    note(count(false, true), " and ReLU: the tensor between them is neither written nor read");
    note(count(true, false), " and addition: the tensor between them is neither written nor read");
    note(count(true, true),
         ", addition and ReLU: the two tensors between them are neither written nor read");
    if (!measured_.empty())
      notes.push_back(
          join(measured_.size(),
               " of convolution and the sums of batch norm: the result is read once less"));
    return notes;
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  const bool on_gpu_;
  std::map<int, Tail> tails_;                    // by the position of the fused node
  std::map<int, int> convolution_of_norm_;       // by the index of the batch norm
  std::set<int> gone_;                           // nodes fused into others
  std::set<int> measured_;                       // convolutions
  std::map<int, std::pair<Value, Value>> sums_;  // by the index of the convolution
};

}  // namespace

Rewritten fuse_convolutions(const Graph& graph, const RewriteContext& context) {
  return ConvFusion(graph, context.values, false).run();
}

Rewritten fuse_convolutions_and_sums(const Graph& graph, const RewriteContext& context) {
  return ConvFusion(graph, context.values, true).run();
}

}  // namespace lockstep
