// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/layouts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/passes/copy.h"
#include "graph/placement.h"
#include "runtime/plan/kernel_requests.h"

namespace lockstep {
namespace {

using StateLayouts = std::map<std::string, Layout>;  // all states

// Values that may have tiled layouts. All other filters are row-major, and kernels reorder them
// internally.
enum class Tiles { nowhere, where_read, everywhere };

class LayoutPass {
 public:
  LayoutPass(const Graph& bound, const CompileRequest& compile, const StateLayouts& states,
             Tiles tiles)
      : compile_(compile),
        bound_(bound),
        states_(states),
        tiles_(tiles),
        copy_(bound_),
        graph_(copy_.to()) {
    for (Value input : bound_.inputs())
      if (const Layout layout = layout_of_state(bound_.name(input)); !layout.is_rows())
        set_layout(copy_.of(input), layout);
    for (const std::string& fetch : compile_.fetches) wanted_[fetch].insert(Layout());
    for (const Binding& update : compile_.updates)
      wanted_[update.value].insert(layout_of_state(update.state));
  }

  LaidOut run() {
    for (int index = 0; index < bound_.node_count(); ++index) copy(bound_.node(index));
    for (Value output : bound_.outputs())
      for (Layout layout : wanted_[bound_.name(output)]) graph_.output(translated(output, layout));
    std::vector<Value> fetched, updated;
    for (const std::string& fetch : compile_.fetches)
      fetched.push_back(translated(bound_.at(fetch), Layout()));
    for (const Binding& update : compile_.updates) {
      const Value made = bound_.at(update.value);
      const Layout layout = layout_of_state(update.state);
      if (layout_of(made) != layout) reordered_states_.insert(update.state);
      updated.push_back(translated(made, layout));
    }
    layouts_.resize(graph_.value_count());
    return without_idle_casts(
        {std::move(graph_), std::move(layouts_), std::move(fetched), std::move(updated)});
  }

  // Row-major states that a kernel prefers in tiles.
  const StateLayouts& wished() const { return wished_; }
  // True if a kernel reads 16-bit filters in tiles. These filters are casts of states, and updates
  // can write them in tiles.
  bool reads_narrow_tiles() const { return reads_narrow_tiles_; }
  // States that a kernel reads in another layout, or whose new value has another layout.
  const std::set<std::string>& reordered_states() const { return reordered_states_; }

 private:
  Layout layout_of_state(const std::string& name) const {
    const auto found = states_.find(name);
    return found == states_.end() ? Layout() : found->second;
  }
  void set_layout(Value value, Layout layout) {
    layouts_.resize(graph_.value_count());
    layouts_[value.id] = layout;
  }
  // The layout of a value of the copied graph, row-major by default.
  Layout layout_here(Value here) const {
    return here && here.id < static_cast<int>(layouts_.size()) ? layouts_[here.id] : Layout();
  }
  Layout layout_of(Value old) const { return layout_here(copy_.of(old)); }
  bool is_state(Value old) const {
    return !bound_.producer(old) && states_.count(bound_.name(old)) > 0;
  }

  // Returns the value in this layout; each reorder is made once.
  Value translated(Value old, Layout layout) {
    const Value made = copy_.of(old);
    if (layout_here(made) == layout) return made;
    // A state keeps its layout if only its copies have another one.
    if (is_state(old) && !(layout.is_tiles() && !layout.may_hold_states()))
      reordered_states_.insert(bound_.name(old));
    Value other = reordered_[{old.id, layout}];
    if (other) return other;
    const std::string name = copy_.fresh_name(graph_.name(made) + suffix(old, layout));
    other = cast_again(old, layout, name);
    if (!other) other = reorder(made, layout, name);
    return reordered_[{old.id, layout}] = other;
  }

  // Casts directly into the layout if the cast's kernel can, which saves a Reorder.
  Value cast_again(Value old, Layout layout, const std::string& name) {
    const auto maker = bound_.producer(old);
    if (!maker || maker->type() != "Cast" || !maker->domain().empty()) return none;
    const Layouts layouts = wish_of(*maker, layout);
    if (layouts.out[0] != layout) return none;
    const Value operand = translated(maker->inputs()[0], layouts.in[0]);
    const Node made = copy_.add({.type = "Cast",
                                 .inputs = {operand},
                                 .attributes = {{"to", maker->attributes().integer("to", 0)}},
                                 .output_names = {name}},
                                *maker);
    const Value to = made.outputs()[0];
    set_layout(to, layout);
    casts_again_.emplace_back(copy_.of(old), to);
    return to;
  }

  // Drops casts with no readers left after cast_again(); the second cast gets the name.
  LaidOut without_idle_casts(LaidOut laid) const {
    std::vector<bool> kept(laid.graph.node_count(), true);
    std::vector<std::pair<Value, std::string>> renamed;
    const auto is_wanted = [&](Value value) {
      const auto lists = [&](const std::vector<Value>& list) {
        return std::ranges::find(list, value) != list.end();
      };
      return !laid.graph.consumers(value).empty() || lists(laid.graph.outputs()) ||
             lists(laid.fetched) || lists(laid.updated);
    };
    for (const auto& [first, again] : casts_again_) {
      if (is_wanted(first)) continue;
      kept[laid.graph.producer(first)->index()] = false;
      renamed.emplace_back(again, laid.graph.name(first));
    }
    if (renamed.empty()) return laid;
    const std::vector<Value> moved = laid.graph.keep(kept);
    for (const auto& [value, name] : renamed)
      if (!laid.graph.find(name)) laid.graph.rename(moved[value.id], name);
    LaidOut made{std::move(laid.graph), {}, {}, {}};
    made.layouts.resize(made.graph.value_count());
    for (std::size_t id = 0; id < moved.size(); ++id)
      if (moved[id]) made.layouts[moved[id].id] = laid.layouts[id];
    for (Value value : laid.fetched) made.fetched.push_back(moved[value.id]);
    for (Value value : laid.updated) made.updated.push_back(moved[value.id]);
    return made;
  }

  std::string suffix(Value old, Layout layout) const {
    if (layout.is_rows()) return "/row_major";
    if (!layout.is_tiles())
      return join("/blocks_of_",
                  TensorDesc{bound_.dtype(old), to_dims(bound_.shape(old)), layout}.block());
    std::string text = layout.text();
    std::ranges::replace(text, ' ', '_');
    return text;
  }

  Value reorder(Value from, Layout layout, const std::string& name) {
    ReplicaScope replica(graph_, graph_.producer(from) ? home_of(graph_, from) : graph_.replica());
    Value to = graph_.add_value({.type = "Reorder", .domain = kOwnDomain, .inputs = {from}}, name);
    set_layout(to, layout);
    return to;
  }

  std::vector<int> replicas_of(const Node& node) const {
    if (!node.op()->collective) return {std::max(node.replica(), 0)};
    std::vector<int> replicas;
    for (Value output : node.outputs())
      if (output) replicas.push_back(replica_of(bound_, output));
    return replicas;
  }

  // Returns the layouts that the node's kernel prefers. Row-major if no kernel accepts the node:
  // making its kernel throws later. `asked`: the layout of the first result; by default its readers
  // determine the layout.
  Layouts wish_of(const Node& node, std::optional<Layout> asked = std::nullopt) const {
    const StepPlace place{replicas_of(node), 0, {}, compile_.options.threads};
    const Layouts plain{std::vector<Layout>(node.inputs().size()),
                        std::vector<Layout>(node.outputs().size())};
    for (int replica : place.replicas)
      if (replica < 0 || replica >= static_cast<int>(compile_.devices.size())) return plain;
    if (place.replicas.empty()) return plain;
    try {
      return allowed(wish_of(node, place, asked));
    } catch (const std::exception&) {  // oneDNN's exceptions are not Errors
      return plain;                    // preparing the kernel will report the error
    }
  }
  Layouts wish_of(const Node& node, StepPlace place, std::optional<Layout> asked) const {
    place.device = compile_.devices[place.replicas[0]];
    KernelRequest request =
        request_of(node, place, compile_, [this](Value value) { return layout_of(value); });
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) request.out[i].layout = layout_beside(node.outputs()[i]);
    if (asked) request.out[0].layout = *asked;
    return table_for(compile_.kernels, place.device).preferred_layouts(request);
  }
  // Returns the widest channel blocks among other operands of the value's readers, or row-major.
  Layout layout_beside(Value old) const {
    Layout layout;
    for (int reader : bound_.consumers(old))
      for (Value other : bound_.node(reader).inputs())
        if (layout_of(other) > layout && bound_.shape(other) == bound_.shape(old))
          layout = layout_of(other);
    return layout;
  }
  // Replaces tiles that are not allowed by row-major. A kernel that prefers tiled results gets no
  // tiled operands if results may not be tiled: it may support only both or neither.
  Layouts allowed(Layouts layouts) const {
    const auto take_back = [](std::vector<Layout>& wished) {
      std::ranges::replace_if(wished, &Layout::is_tiles, Layout());
    };
    const bool makes_tiles = std::ranges::any_of(layouts.out, &Layout::is_tiles);
    if (tiles_ == Tiles::nowhere || (tiles_ == Tiles::where_read && makes_tiles))
      take_back(layouts.in);
    if (tiles_ != Tiles::everywhere) take_back(layouts.out);
    return layouts;
  }

  void copy(const Node& node) {
    const Layouts layouts = wish_of(node);
    ReplicaScope replica(graph_, node.replica());
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      inputs.push_back(operand(node.inputs()[i], layouts.in[i]));
    copy_.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) hand_out(node.outputs()[i], layouts.out[i]);
  }

  Value operand(Value old, Layout layout) {
    if (!old) return none;
    reads_narrow_tiles_ |= layout.is_tiles() && size_of(bound_.dtype(old)) == 2;
    if (layout.is_tiles() && layout.may_hold_states() && is_state(old) && layout_of(old).is_rows())
      wished_.emplace(bound_.name(old), layout);
    return translated(old, layout);
  }

  // Sets the layout of a result and adds the reorders that other nodes need.
  void hand_out(Value old, Layout layout) {
    const Value made = copy_.of(old);
    if (!made) return;
    set_layout(made, layout);
    const std::string& name = bound_.name(old);
    const auto wanted = wanted_.find(name);
    if (wanted == wanted_.end()) return;
    if (!layout.is_rows() && wanted->second.count(Layout()) > 0) {
      graph_.rename(made, copy_.fresh_name(name + suffix(old, layout)));
      reordered_[{old.id, Layout()}] = reorder(made, Layout(), name);
    }
    for (Layout other : wanted->second) translated(old, other);
  }

  const CompileRequest& compile_;
  const Graph& bound_;
  const StateLayouts& states_;
  const Tiles tiles_;
  GraphCopy copy_;
  Graph& graph_;
  std::map<std::string, std::set<Layout>> wanted_;     // layouts required of values that are read
                                                       // after a run or become states
  std::vector<Layout> layouts_;                        // of each value in the copied graph
  std::map<std::pair<int, Layout>, Value> reordered_;  // by old value
  std::vector<std::pair<Value, Value>> casts_again_;   // the first cast, the second cast
  StateLayouts wished_;
  bool reads_narrow_tiles_ = false;
  std::set<std::string> reordered_states_;
};

// True if the step exchanges messages with other processes.
bool exchanges(const Graph& bound) {
  for (int index = 0; index < bound.node_count(); ++index)
    if (bound.node(index).op()->exchange) return true;
  return false;
}

// True if the plan may choose the layouts of states. Not with other processes: their processors may
// prefer other layouts.
bool chooses(const Graph& bound, const CompileRequest& compile) {
  return compile.chooses_state_layouts && compile.options.state_layouts &&
         in_host_memory(compile) && !exchanges(bound);
}

bool any_in_tiles(const StateLayouts& states) {
  return std::any_of(states.begin(), states.end(),
                     [](const auto& one) { return one.second.is_tiles(); });
}

// Gives a state tiles if no kernel would reorder it. Repeats until nothing changes: momentum
// follows its parameter, whose layout an update sees only in the second round. A state that failed
// once stays row-major.
LaidOut lay_out_and_choose(const Graph& bound, const CompileRequest& compile, StateLayouts states) {
  std::set<std::string> failed;
  while (true) {
    LayoutPass pass(bound, compile, states, Tiles::everywhere);
    LaidOut laid = pass.run();
    bool changed = false;
    for (const std::string& name : pass.reordered_states()) {
      if (states[name].is_rows()) continue;
      states[name] = Layout();
      failed.insert(name);
      changed = true;
    }
    for (const auto& [name, layout] : pass.wished()) {
      if (failed.count(name)) continue;
      states[name] = layout;
      changed = true;
    }
    if (changed) continue;
    if (any_in_tiles(states) || pass.reads_narrow_tiles()) return laid;
    return LayoutPass(bound, compile, states, Tiles::nowhere).run();
  }
}

LaidOut lay_out_with_states_as_they_lie(const Graph& bound, const CompileRequest& compile,
                                        const StateLayouts& states) {
  if (any_in_tiles(states)) return LayoutPass(bound, compile, states, Tiles::everywhere).run();
  // If no state changes, reorders of states run only once (runtime/plan/cached_values.h).
  if (compile.updates.empty()) return LayoutPass(bound, compile, states, Tiles::where_read).run();
  if (compile.options.state_layouts) {
    // Other processes expect row-major gradients.
    LayoutPass pass(bound, compile, states,
                    exchanges(bound) ? Tiles::where_read : Tiles::everywhere);
    LaidOut laid = pass.run();
    if (pass.reads_narrow_tiles()) return laid;
  }
  return LayoutPass(bound, compile, states, Tiles::nowhere).run();
}

}  // namespace

LaidOut lay_out(const Graph& bound, const CompileRequest& compile) {
  StateLayouts states;
  for (std::size_t i = 0; i < compile.states.size(); ++i)
    states[compile.states[i]] = compile.state_layouts.empty() ? Layout() : compile.state_layouts[i];
  if (chooses(bound, compile)) return lay_out_and_choose(bound, compile, std::move(states));
  return lay_out_with_states_as_they_lie(bound, compile, states);
}

}  // namespace lockstep
