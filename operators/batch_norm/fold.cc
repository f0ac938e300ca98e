// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "graph/passes/copy.h"
#include "graph/passes/prune.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// With f = scale / sqrt(variance + epsilon), a batch norm of conv(x, w) + b is conv(x, f w) + bias
// + f (b - mean). f w and bias + f (b - mean) are computed in float32 from values that do not
// change between predictions. float16 is not folded: it has too few bits for small factors.
class NormFolding {
 public:
  NormFolding(const Graph& from, const RewriteContext& context)
      : from_(from), known_(context), given_(from.value_count(), false) {
    for (int id = 0; id < from.value_count(); ++id)
      given_[id] =
          from.literal({id}) || (!from.producer({id}) && context.states.contains(from.name({id})));
    for (int i = 0; i < from.node_count(); ++i) follow(from.node(i));
  }

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find(from_.node(i));
    if (convolution_of_.empty()) return unchanged(from_.clone());
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i)
      if (const auto found = convolution_of_.find(i); found != convolution_of_.end())
        write(copy, from_.node(found->second), from_.node(i));
      else if (!gone_.contains(i))
        copy.copy(from_.node(i));
    Graph folded = copy.finish();
    const std::vector<Value> outputs = folded.outputs();
    // Removes casts of filters that are replaced by a cast after the product.
    const std::vector<Value> kept = prune(folded, outputs);
    return {std::move(folded), moved_on(copy.moved(), kept), notes()};
  }

 private:
  bool is_given(Value value) const { return given_[value.id]; }
  bool all_given(std::span<const Value> values) const {
    return std::ranges::all_of(values, [&](Value value) { return !value || is_given(value); });
  }

  // Marks results that are computed only from states and constants.
  void follow(const Node& node) {
    const Op& op = *node.op();
    if (op.random || op.draws || op.collective || op.exchange || !all_given(node.inputs())) return;
    for (Value output : node.outputs())
      if (output) given_[output.id] = true;
  }

  // The axis of the outputs in a convolution's filters, if its batch norm can be folded.
  static std::optional<std::size_t> axis_of_outputs(const Node& convolution) {
    if (!convolution.domain().empty()) return std::nullopt;
    if (convolution.type() == "Conv") return 0;
    const bool transposed = convolution.type() == "ConvTranspose";
    if (transposed && convolution.attributes().integer("group", 1) == 1) return 1;
    return std::nullopt;
  }

  void find(const Node& norm) {
    if (norm.type() != "BatchNormalization" || !norm.domain().empty() ||
        read_batch_norm(norm).training || norm.outputs().size() > 1)
      return;
    const Value x = norm.inputs()[BatchNormIn::x];
    const auto maker = from_.producer(x);
    const DType type = from_.dtype(x);
    if (!maker || !axis_of_outputs(*maker) || maker->replica() != norm.replica() ||
        (type != DType::float32 && type != DType::bfloat16) || from_.consumers(x).size() > 1 ||
        known_.values.contains(from_.name(x)) || !all_given(norm.inputs().subspan(1)) ||
        !all_given(maker->inputs().subspan(1)))
      return;
    for (Value vector : norm.inputs().subspan(1))
      if (from_.dtype(vector) != DType::float32) return;
    convolution_of_[norm.index()] = maker->index();
    gone_.insert(maker->index());
  }

  // Adds ONNX nodes, with results named after the convolution's result.
  struct Adder {
    GraphCopy& copy;
    const Node& like;
    std::string base;

    Value operator()(const char* type, std::vector<Value> inputs, const char* ending,
                     Attributes attributes = {}) const {
      return copy
          .add({.type = type,
                .inputs = std::move(inputs),
                .attributes = std::move(attributes),
                .output_names = {copy.fresh_name(base + ending)}},
               like)
          .outputs()[0];
    }
    Value constant(Literal literal, const char* ending) const {
      return copy.to().constant(copy.fresh_name(base + ending), std::move(literal));
    }
  };

  // The value in float32; if a cast from float32 made the value, the cast's operand.
  Value wide(const Adder& add, Value value, const char* ending) const {
    const GraphCopy& copy = add.copy;
    if (from_.dtype(value) == DType::float32) return copy.of(value);
    const auto maker = from_.producer(value);
    if (maker && maker->type() == "Cast" && maker->domain().empty() &&
        from_.dtype(maker->inputs()[0]) == DType::float32)
      return copy.of(maker->inputs()[0]);
    return add("Cast", {copy.of(value)}, ending, {{"to", static_cast<int64_t>(DType::float32)}});
  }

  // Constants, shared by all convolutions that need an equal constant.
  Value epsilon(const Adder& add, float value) {
    Value& made = epsilons_[value];
    if (!made) made = add.constant(Literal::scalar(value), "/epsilon");
    return made;
  }
  // The shape [1, .., -1, .., 1] of rank `rank` with -1 at the outputs' axis.
  Value shape(const Adder& add, std::size_t rank, std::size_t axis) {
    Value& made = shapes_[{rank, axis}];
    std::vector<int64_t> dims(rank, 1);
    dims[axis] = -1;
    if (!made) made = add.constant(Literal::vector(dims), "/by_output");
    return made;
  }

  void write(GraphCopy& copy, const Node& convolution, const Node& norm) {
    using In = BatchNormIn;
    const Value result = convolution.outputs()[0], y = norm.outputs()[0];
    const Value w = convolution.inputs()[1];
    const Value b = convolution.inputs().size() > 2 ? convolution.inputs()[2] : none;
    const Adder add{copy, convolution, from_.name(result)};
    const auto of = [&](std::size_t i) { return copy.of(norm.inputs()[i]); };

    const Value small = epsilon(add, read_batch_norm(norm).epsilon);
    const Value spread = add("Add", {of(In::variance), small}, "/spread");
    const Value factor =
        add("Div", {of(In::scale), add("Sqrt", {spread}, "/deviation")}, "/factor");
    const Value dims = shape(add, from_.shape(w).size(), *axis_of_outputs(convolution));
    const Value column = add("Reshape", {factor, dims}, "/factors");
    Value filters = add("Mul", {wide(add, w, "/wide_filters"), column}, "/filters");
    Value shift;
    if (b) {
      const Value centred = add("Sub", {wide(add, b, "/wide_bias"), of(In::mean)}, "/centred");
      shift = add("Add", {of(In::bias), add("Mul", {centred, factor}, "/scaled")}, "/shift");
    } else {
      shift = add("Sub", {of(In::bias), add("Mul", {of(In::mean), factor}, "/scaled")}, "/shift");
    }
    if (const DType type = from_.dtype(result); type != DType::float32) {
      const Attributes to{{"to", static_cast<int64_t>(type)}};
      filters = add("Cast", {filters}, "/narrow_filters", to);
      shift = add("Cast", {shift}, "/narrow_shift", to);
    }
    const Node made = copy.copy(convolution, {copy.of(convolution.inputs()[0]), filters, shift});
    copy.to().rename(made.outputs()[0], from_.name(y));
    copy.set(y, made.outputs()[0]);
  }

  std::vector<std::string> notes() const {
    return {join(convolution_of_.size(),
                 " of convolution and batch norm: filters and biases take its factors and shifts")};
  }

  const Graph& from_;
  const RewriteContext& known_;
  std::vector<bool> given_;            // by value: true if the value does not change between runs
  std::map<int, int> convolution_of_;  // by the index of its batch norm's node
  std::set<int> gone_;                 // the convolutions of convolution_of_
  std::map<float, Value> epsilons_;
  std::map<std::pair<std::size_t, std::size_t>, Value> shapes_;
};

}  // namespace

Rewritten fold_batch_norms(const Graph& graph, const RewriteContext& context) {
  if (!context.updates.empty() || context.exact) return unchanged(graph.clone());
  return NormFolding(graph, context).run();
}

}  // namespace lockstep
