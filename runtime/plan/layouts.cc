#include "runtime/plan/layouts.h"

#include <algorithm>
#include <map>

#include "runtime/plan/requests.h"

namespace lockstep {
namespace {

class LayoutPass {
 public:
  explicit LayoutPass(const LayoutRequest& request)
      : request_(request),
        bound_(request.bound),
        laid_{Graph(bound_.ops(), bound_.name()), {}},
        here_(static_cast<std::size_t>(bound_.value_count())) {}

  LaidOut run() {
    laid_.graph.inherit_origins();
    for (Value input : bound_.inputs())
      if (!bound_.literal(input))
        note(input, laid_.graph.input(bound_.name(input), bound_.type(input), bound_.origin(input)),
             1);
    for (int id = 0; id < bound_.value_count(); ++id)
      if (const Literal* literal = bound_.literal({id}))
        if (!bound_.producer({id}))
          note({id}, laid_.graph.constant(bound_.name({id}), *literal), 1);
    for (int index = 0; index < bound_.node_count(); ++index) copy(bound_.node(index));
    for (Value output : bound_.outputs()) laid_.graph.output(translated(output, 1));
    return std::move(laid_);
  }

 private:
  void note(Value old, Value made, int block) {
    here_[static_cast<std::size_t>(old.id)] = made;
    set_block(made, block);
  }
  void set_block(Value value, int block) {
    laid_.channel_block.resize(static_cast<std::size_t>(laid_.graph.value_count()), 1);
    laid_.channel_block[static_cast<std::size_t>(value.id)] = block;
  }
  // Results that nobody has laid out yet are row-major.
  int block_of(Value old) const {
    const Value here = here_[static_cast<std::size_t>(old.id)];
    return here ? laid_.channel_block[static_cast<std::size_t>(here.id)] : 1;
  }

  // The value in this layout; a reorder is made once, for whoever asks first.
  Value translated(Value old, int block) {
    const Value made = here_[static_cast<std::size_t>(old.id)];
    if (laid_.channel_block[static_cast<std::size_t>(made.id)] == block) return made;
    Value& other = reordered_[{old.id, block}];
    if (!other) other = reorder(made, block, laid_.graph.name(made) + suffix(block));
    return other;
  }

  static std::string suffix(int block) {
    return block == 1 ? "/row_major" : join("/blocks_of_", block);
  }

  Value reorder(Value from, int block, const std::string& name) {
    auto maker = laid_.graph.producer(from);
    ReplicaScope replica(laid_.graph, maker ? maker->replica() : laid_.graph.replica());
    Value to =
        laid_.graph.add_value({.type = "Reorder", .domain = kOwnDomain, .inputs = {from}}, name);
    set_block(to, block);
    return to;
  }

  // A collective is row-major, and so is what no kernel takes: an error says so when kernels are
  // made.
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
    } catch (const std::exception&) {  // oneDNN's are no Error
      return plain;                    // preparing the kernel will say what is wrong
    }
  }

  void copy(const Node& node) {
    const Layouts layouts = wish_of(node);
    ReplicaScope replica(laid_.graph, node.replica());
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      inputs.push_back(node.inputs()[i] ? translated(node.inputs()[i], layouts.in[i]) : none);
    Node copied = laid_.graph.copy(node, inputs);
    const std::vector<Value> made(copied.outputs().begin(), copied.outputs().end());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i]) continue;
      const Value old = node.outputs()[i];
      note(old, made[i], layouts.out[i]);
      if (layouts.out[i] == 1 || !request_.row_major.count(bound_.name(old))) continue;
      laid_.graph.rename(made[i], bound_.name(old) + suffix(layouts.out[i]));
      reordered_[{old.id, 1}] = reorder(made[i], 1, bound_.name(old));
    }
  }

  const LayoutRequest& request_;
  const Graph& bound_;
  LaidOut laid_;
  std::vector<Value> here_;                         // of each value of the bound graph
  std::map<std::pair<int, int>, Value> reordered_;  // (old value, block)
};

}  // namespace

LaidOut lay_out(const LayoutRequest& request) { return LayoutPass(request).run(); }

}  // namespace lockstep
