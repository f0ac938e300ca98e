// With m_k and v_k of replica k's share, all of one size, over N replicas:
//   m = mean of m_k          v = mean of (v_k + (m_k - m)^2)
// which loses no digits where the mean is large beside the deviation, as E[x^2] - m^2 would.
#include "builders/sync_batch_norm.h"

#include "operators/batch_norm/batch_norm.h"
#include "operators/collective/collective.h"
#include "operators/elementwise/elementwise.h"
#include "operators/optimizer/optimizer.h"

namespace lockstep {
namespace {

class Synchroniser {
 public:
  Synchroniser(const Graph& old, const std::vector<ReplicaPart>& parts)
      : old_(old),
        parts_(parts),
        graph_(old.ops(), old.name()),
        moved_(static_cast<std::size_t>(old.value_count())) {}

  Synchronised run() {
    for (int id = 0; id < old_.value_count(); ++id) {
      if (old_.producer({id})) continue;
      if (const Literal* literal = old_.literal({id}))
        at({id}) = graph_.constant(old_.name({id}), *literal);
    }
    for (Value input : old_.inputs()) at(input) = graph_.input(old_.name(input), old_.type(input));
    int next = 0;
    const int first = parts_.front().first, last = parts_.back().last;
    while (next < first) copy(old_.node(next++));
    // What stands between two parts (a scaled loss) comes behind all of them.
    for (int i = 0; i < parts_[0].last - parts_[0].first; ++i) {
      if (old_.node(first + i).type() == "BatchNormTrain")
        synchronise(i);
      else
        for (const ReplicaPart& part : parts_) copy(old_.node(part.first + i));
    }
    for (next = first; next < old_.node_count(); ++next)
      if (next >= last || !within_a_part(next)) copy(old_.node(next));
    return {std::move(graph_), std::move(moved_)};
  }

 private:
  using Values = std::vector<Value>;  // by replica

  Value& at(Value value) { return moved_[static_cast<std::size_t>(value.id)]; }

  bool within_a_part(int index) const {
    for (const ReplicaPart& part : parts_)
      if (index >= part.first && index < part.last) return true;
    return false;
  }

  void copy(const Node& node) {
    ReplicaScope replica(graph_, node.replica());
    Values inputs;
    for (Value input : node.inputs()) inputs.push_back(input ? at(input) : none);
    const Node copied = graph_.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) at(node.outputs()[i]) = copied.outputs()[i];
  }

  // Calls make(replica, site of a name with that ending) on every replica.
  template <class Make>
  Values on_each(const std::vector<Node>& nodes, const char* ending, const Make& make) {
    Values values;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      ReplicaScope replica(graph_, static_cast<int>(k));
      values.push_back(make(k, Site(nodes[k].name() + ending, Where{nodes[k].where().c_str(), 0})));
    }
    return values;
  }

  Values mean_over_replicas(const Values& values, const std::vector<Node>& nodes,
                            const char* ending) {
    std::vector<std::string> names;
    for (const Node& node : nodes) names.push_back(node.name() + ending);
    return all_reduce(graph_, values, Reduction::mean, names,
                      Site(names[0] + "_reduce", Where{"", 0}));
  }

  void synchronise(int position) {
    std::vector<Node> nodes;
    for (const ReplicaPart& part : parts_) nodes.push_back(old_.node(part.first + position));
    auto operand = [&](std::size_t k, std::size_t i) { return at(nodes[k].inputs()[i]); };
    const BatchNormAttrs attrs = read_batch_norm(nodes[0]);
    std::vector<int64_t> axes{0};
    for (std::size_t axis = 2; axis < graph_.shape(operand(0, 0)).size(); ++axis)
      axes.push_back(static_cast<int64_t>(axis));
    auto mean_of = [&](Value x, bool keep, const Site& site) {
      return graph_.add_value({.type = "ReduceMean",
                               .inputs = {x},
                               .attributes = {{"axes", axes}, {"keepdims", int64_t{keep ? 1 : 0}}}},
                              site);
    };
    auto flat = [&](Value x, const Site& site) {  // [1, C, 1, ..] as [C]
      Value shape = graph_.constant(site.name + "_shape", Literal::vector({-1}));
      return graph_.add_value({.type = "Reshape", .inputs = {x, shape}}, site);
    };
    const Values local = on_each(nodes, "_local", [&](std::size_t k, const Site& site) {
      return mean_of(operand(k, 0), true, site);
    });
    const Values off = on_each(nodes, "_off", [&](std::size_t k, const Site& site) {
      return sub(graph_, operand(k, 0), local[k], site);
    });
    const Values local_mean = on_each(nodes, "_local_mean", [&](std::size_t k, const Site& site) {
      return flat(local[k], site);
    });
    const Values local_variance =
        on_each(nodes, "_local_variance", [&](std::size_t k, const Site& site) {
          Value square = mul(graph_, off[k], off[k], Site(site.name + "_square", site.where));
          return mean_of(square, false, site);
        });
    const Values mean = mean_over_replicas(local_mean, nodes, "_mean_of_all");
    const Values spread = on_each(nodes, "_spread", [&](std::size_t k, const Site& site) {
      Value shift = sub(graph_, local_mean[k], mean[k], Site(site.name + "_shift", site.where));
      Value square = mul(graph_, shift, shift, Site(site.name + "_square", site.where));
      return add(graph_, local_variance[k], square, site);
    });
    const Values variance = mean_over_replicas(spread, nodes, "_variance_of_all");
    const Values y = on_each(nodes, "", [&](std::size_t k, const Site& site) {
      return batch_norm(graph_, {operand(k, 0), operand(k, 1), operand(k, 2), mean[k], variance[k]},
                        attrs, site);
    });
    auto running = [&](std::size_t k, std::size_t i, Value now, const Site& site) {
      auto weight = [&](const char* name, float value) {
        return graph_.constant(site.name + name, Literal::of<float>({&value, 1}, {1}));
      };
      return weighted_sum(graph_,
                          {{operand(k, i), weight("_kept", attrs.momentum)},
                           {now, weight("_taken", 1 - attrs.momentum)}},
                          site);
    };
    const Values new_mean = on_each(nodes, "_new_mean", [&](std::size_t k, const Site& site) {
      return running(k, 3, mean[k], site);
    });
    const Values new_variance =
        on_each(nodes, "_new_variance",
                [&](std::size_t k, const Site& site) { return running(k, 4, variance[k], site); });
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      at(nodes[k].outputs()[0]) = y[k];
      at(nodes[k].outputs()[1]) = new_mean[k];
      at(nodes[k].outputs()[2]) = new_variance[k];
    }
  }

  const Graph& old_;
  const std::vector<ReplicaPart>& parts_;
  Graph graph_;
  std::vector<Value> moved_;
};

}  // namespace

Synchronised synchronise_batch_norm(const Graph& graph, const std::vector<ReplicaPart>& parts) {
  return Synchroniser(graph, parts).run();
}

}  // namespace lockstep
