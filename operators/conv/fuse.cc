#include <map>
#include <tuple>

#include "graph/passes/copy.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/operands.h"
#include "operators/conv/conv.h"
#include "runtime/rewrite.h"

namespace lockstep {
namespace {

class ConvFusion {
 public:
  ConvFusion(const Graph& from, const std::set<std::string>& known) : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) {
      find_relu(from_.node(i));
      find_norm(from_.node(i));
    }
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      const Node node = from_.node(i);
      if (const auto found = convolution_of_relu_.find(i); found != convolution_of_relu_.end())
        write_with_relu(copy, from_.node(found->second), node);
      else if (measured_.contains(i))
        write_with_sums(copy, node);
      else if (const auto norm = convolution_of_norm_.find(i); norm != convolution_of_norm_.end())
        write_norm(copy, node, norm->second);
      else if (!gone_.contains(i))
        copy.copy(node);
    }
    return {copy.finish(), notes()};
  }

 private:
  // The convolution that makes a value.
  int convolution_behind(Value value, const Node& user) const {
    const auto maker = from_.producer(value);
    if (!maker || maker->type() != "Conv" || !maker->domain().empty() ||
        maker->replica() != user.replica())
      return -1;
    return maker->index();
  }

  void find_relu(const Node& node) {
    if (node.type() != "Relu" || !node.domain().empty()) return;
    const Value x = node.inputs()[0];
    const int convolution = convolution_behind(x, node);
    if (convolution < 0 || from_.consumers(x).size() > 1 || known_.contains(from_.name(x))) return;
    convolution_of_relu_[node.index()] = convolution;
    gone_.insert(convolution);
  }

  // Only convolutions of 16-bit floats can fuse this, and at 16 bits squares of a large mean leave
  // enough of the variance.
  void find_norm(const Node& node) {
    if (node.type() != "BatchNormTrain" || node.domain() != kOwnDomain ||
        node.inputs().size() > BatchNormIn::z + 1)
      return;
    const Value x = node.inputs()[0];
    const DType type = from_.dtype(x);
    if ((type != DType::float16 && type != DType::bfloat16) || from_.shape(x).size() != 4) return;
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

  void write_with_relu(GraphCopy& copy, const Node& convolution, const Node& relu) const {
    NodeSpec spec = fused(copy, convolution, true);
    spec.output_names = {from_.name(relu.outputs()[0])};
    const Node made = copy.add(std::move(spec), convolution);
    copy.set(relu.outputs()[0], made.outputs()[0]);
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
    std::vector<std::string> notes;
    if (!convolution_of_relu_.empty())
      notes.push_back(join(convolution_of_relu_.size(),
                           " of convolution and ReLU: the tensor between them is neither written "
                           "nor read"));
    if (!measured_.empty())
      notes.push_back(
          join(measured_.size(),
               " of convolution and the sums of batch norm: the result is read once less"));
    return notes;
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<int, int> convolution_of_relu_, convolution_of_norm_;  // numbers of nodes
  std::set<int> gone_, measured_;                                 // convolutions
  std::map<int, std::pair<Value, Value>> sums_;                   // by the convolution's number
};

}  // namespace

Rewritten fuse_convolutions(const Graph& graph, const Known& known) {
  return ConvFusion(graph, known.values).run();
}

}  // namespace lockstep
