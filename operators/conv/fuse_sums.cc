// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "graph/passes/copy.h"
#include "operators/conv/conv.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

// The sum of two gradients of one value; a ConvGradX makes one of them.
struct Meeting {
  int convolution, sum;  // node indices
  Value other;
};

class SumFusion {
 public:
  SumFusion(const Graph& from, const std::set<std::string>& known) : from_(from), known_(known) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i) find(from_.node(i));
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i)
      if (const auto found = meetings_.find(i); found != meetings_.end())
        write(copy, found->second);
      else if (!gone_.contains(i))
        copy.copy(from_.node(i));
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  // The index of the ConvGradX that makes a value only for the sum, or -1.
  int convolution_behind(Value value, const Node& sum) const {
    const auto maker = from_.producer(value);
    const bool is_convolution = maker && maker->type() == "ConvGradX" &&
                                maker->domain() == kOwnDomain && maker->replica() == sum.replica();
    const bool others_see = from_.consumers(value).size() > 1 || known_.contains(from_.name(value));
    return is_convolution && !others_see ? maker->index() : -1;
  }

  // Finds a sum to fuse. If two convolutions meet in a sum, the later convolution adds to the
  // earlier convolution's result.
  void find(const Node& sum) {
    if (sum.type() != "Sum" || !sum.domain().empty() || sum.inputs().size() != 2) return;
    const Value a = sum.inputs()[0], b = sum.inputs()[1];
    if (a == b || from_.shape(a) != from_.shape(b)) return;
    const int of_a = convolution_behind(a, sum), of_b = convolution_behind(b, sum);
    const int convolution = std::max(of_a, of_b);
    if (convolution < 0) return;
    const Value other = of_a > of_b ? b : a;
    const auto maker = from_.producer(other);
    const bool other_is_there = !maker || maker->index() < convolution;
    gone_.insert({convolution, sum.index()});
    meetings_[other_is_there ? convolution : sum.index()] = {convolution, sum.index(), other};
  }

  void write(GraphCopy& copy, const Meeting& meeting) const {
    const Node convolution = from_.node(meeting.convolution);
    const Value total = from_.node(meeting.sum).outputs()[0];
    AttributeReader reader = convolution.attributes();
    Attributes attributes = write_conv(read_conv(reader));
    attributes.push_back({"x_shape", reader.integers("x_shape")});
    std::vector<Value> inputs = copy.of(convolution.inputs());
    inputs.push_back(copy.of(meeting.other));
    const Node made = copy.add({.type = "FusedConvGradX",
                                .domain = kOwnDomain,
                                .inputs = std::move(inputs),
                                .attributes = std::move(attributes),
                                .output_names = {from_.name(total)}},
                               convolution);
    copy.set(total, made.outputs()[0]);
  }

  std::vector<std::string> notes() const {
    if (meetings_.empty()) return {};
    return {join(meetings_.size(),
                 " of a convolution's gradient and the sum behind it: added where it is written")};
  }

  const Graph& from_;
  const std::set<std::string>& known_;
  std::map<int, Meeting> meetings_;  // by the position of the fused node
  std::set<int> gone_;
};

}  // namespace

Rewritten fuse_gradient_sums(const Graph& graph, const RewriteContext& context) {
  return SumFusion(graph, context.values).run();
}

}  // namespace lockstep
