#include "runtime/plan/layouts.h"

#include <algorithm>
#include <map>

#include "graph/passes/copy.h"
#include "runtime/plan/requests.h"

namespace lockstep {
namespace {

class LayoutPass {
 public:
  explicit LayoutPass(const LayoutRequest& request)
      : request_(request), bound_(request.bound), copy_(bound_), graph_(copy_.to()) {}

  LaidOut run() {
    for (int index = 0; index < bound_.node_count(); ++index) copy(bound_.node(index));
    for (Value output : bound_.outputs()) graph_.output(translated(output, 1));
    block_.resize(graph_.value_count(), 1);
    return {std::move(graph_), std::move(block_)};
  }

 private:
  void set_block(Value value, int block) {
    block_.resize(graph_.value_count(), 1);
    block_[value.id] = block;
  }
  // Row-major unless laid out otherwise.
  int block_here(Value here) const {
    return here && here.id < static_cast<int>(block_.size()) ? block_[here.id] : 1;
  }
  int block_of(Value old) const { return block_here(copy_.of(old)); }

  // The value in this layout; each reorder is made once.
  Value translated(Value old, int block) {
    const Value made = copy_.of(old);
    if (block_here(made) == block) return made;
    Value& other = reordered_[{old.id, block}];
    if (!other) other = reorder(made, block, graph_.name(made) + suffix(block));
    return other;
  }

  static std::string suffix(int block) {
    return block == 1 ? "/row_major" : join("/blocks_of_", block);
  }

  Value reorder(Value from, int block, const std::string& name) {
    auto maker = graph_.producer(from);
    ReplicaScope replica(graph_, maker ? maker->replica() : graph_.replica());
    Value to = graph_.add_value({.type = "Reorder", .domain = kOwnDomain, .inputs = {from}}, name);
    set_block(to, block);
    return to;
  }

  // Collectives are row-major, and so are nodes that no kernel takes: making their kernels throws.
  Layouts wish_of(const Node& node) const {
    const CompileRequest& compile = request_.compile;
    const int replica = std::max(node.replica(), 0);
    const Layouts plain{std::vector<int>(node.inputs().size(), 1),
                        std::vector<int>(node.outputs().size(), 1)};
    if (node.op()->collective || replica >= static_cast<int>(compile.devices.size())) return plain;
    const StepPlace place{{replica}, 0, compile.devices[replica], compile.options.threads};
    try {
      return table_for(compile.kernels, place.device)
          .wished_layouts(
              request_of(node, place, compile, [this](Value value) { return block_of(value); }));
    } catch (const std::exception&) {  // oneDNN's exceptions are not Errors
      return plain;                    // preparing the kernel will report the error
    }
  }

  void copy(const Node& node) {
    const Layouts layouts = wish_of(node);
    ReplicaScope replica(graph_, node.replica());
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      inputs.push_back(node.inputs()[i] ? translated(node.inputs()[i], layouts.in[i]) : none);
    copy_.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value old = node.outputs()[i], made = copy_.of(old);
      if (!made) continue;
      set_block(made, layouts.out[i]);
      if (layouts.out[i] == 1 || !request_.row_major.count(bound_.name(old))) continue;
      graph_.rename(made, bound_.name(old) + suffix(layouts.out[i]));
      reordered_[{old.id, 1}] = reorder(made, 1, bound_.name(old));
    }
  }

  const LayoutRequest& request_;
  const Graph& bound_;
  GraphCopy copy_;
  Graph& graph_;
  std::vector<int> block_;                          // of each value in the copied graph
  std::map<std::pair<int, int>, Value> reordered_;  // (old value, block)
};

}  // namespace

LaidOut lay_out(const LayoutRequest& request) { return LayoutPass(request).run(); }

}  // namespace lockstep
