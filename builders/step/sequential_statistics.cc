// SPDX-License-Identifier: Apache-2.0
#include "builders/step/sequential_statistics.h"

#include <cmath>

#include "graph/passes/copy.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// Attributes of a marked collective: the kept fraction of each statistic, and the statistic's
// number of elements.
constexpr const char* kKept = "__kept";
constexpr const char* kElements = "__elements";

// The fraction of the old state in its new value. The fraction is a product if several batch norms
// update the state one after the other, on parts of the batch.
double kept_share(const Graph& graph, const std::string& name, Value state, Value next) {
  double kept = 1;
  while (!(next == state)) {
    const auto maker = graph.producer(next);
    check(maker && maker->type() == "BatchNormTrain",
          "TRAIN.STATISTICS in_turn needs running statistics of batch norms, but '", name,
          "' is another state; choose each, mean or first");
    kept *= static_cast<double>(read_batch_norm(*maker).momentum);
    // BatchNormTrain has operands x, scale, bias, mean, variance and results y, mean, variance.
    next = maker->inputs()[next == maker->outputs()[1] ? 3 : 4];
  }
  return kept;
}

Value one_number(Graph& graph, const std::string& name, double value) {
  const auto number = static_cast<float>(value);
  return graph.constant(name, Literal::of<float>({&number, 1}, {1}));
}

bool moves_in_turn(const Node& node) {
  return node.type() == "AllReduce" && node.attributes().has(kKept);
}

// The kept fraction of every element.
Literal kept_of_elements(const Node& node) {
  const std::vector<float> kept = node.attributes().numbers(kKept, {});
  const std::vector<int64_t> elements = node.attributes().integers(kElements, {});
  std::vector<float> all;
  for (std::size_t s = 0; s < kept.size(); ++s) all.insert(all.end(), elements.at(s), kept[s]);
  return Literal::of<float>(all, {static_cast<int64_t>(all.size())});
}

void expand_turns(GraphCopy& copied, const Node& node) {
  Graph& graph = copied.to();
  const OriginScope origin(graph, node.where());
  const std::vector<Value> own = copied.of(node.inputs());
  const Literal shares = kept_of_elements(node);
  Value sum = own[0];
  const auto site = [&](int replica, const char* what) {
    return join(node.name(), "/", replica, "/", what);
  };
  const int replicas = static_cast<int>(own.size());
  for (int k = 1; k < replicas; ++k) {
    const ReplicaScope scope(graph, k);
    const Value before = copy(graph, sum, site(k, "before"));
    const Value kept =
        mul(graph, before, graph.constant(site(k, "share"), shares), site(k, "kept"));
    sum = add(graph, kept, own[k], site(k, "sum"));
  }
  for (int k = 0; k < replicas; ++k) {
    const ReplicaScope scope(graph, k);
    copied.set(node.outputs()[k], k + 1 == replicas ? sum : copy(graph, sum, site(k, "copy")));
  }
}

}  // namespace

std::vector<Value> next_in_turn(Graph& one, int replicas, const Statistics& statistics) {
  const std::size_t count = statistics.next.size();
  std::vector<float> kept;
  std::vector<int64_t> elements;
  std::vector<Value> own;  // (1 - m) b
  for (std::size_t s = 0; s < count; ++s) {
    const std::string& name = statistics.names[s];
    const Value state = statistics.states[s], next = statistics.next[s];
    const double share = kept_share(one, name, state, next);
    kept.push_back(static_cast<float>(share));
    elements.push_back(to_dims(one.shape(state)).at(0));
    own.push_back(weighted_sum(one,
                               {{next, one_number(one, name + "_taken_whole", 1)},
                                {state, one_number(one, name + "_taken_off", -share)}},
                               name + "_own"));
  }
  const std::string name = "statistics_in_turn";
  const Value all = count == 1 ? own[0] : concat(one, own, 0, name + "_own");
  const Value sums = all_reduce(one, {all}, Reduction::sum, {name}, name)[0];
  const int collective = one.producer(sums)->index();
  one.set_attribute(collective, kKept, kept);
  one.set_attribute(collective, kElements, elements);
  std::vector<Value> moved;
  int64_t first = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const std::string& of = statistics.names[s];
    const Value sum =
        count == 1 ? sums : slice(one, sums, 0, first, first + elements[s], of + "_sum");
    first += elements[s];
    const double all_kept = std::pow(static_cast<double>(kept[s]), replicas);
    moved.push_back(
        weighted_sum(one,
                     {{statistics.states[s], one_number(one, of + "_all_kept", all_kept)},
                      {sum, one_number(one, of + "_sum_whole", 1)}},
                     of + "_in_turn"));
  }
  return moved;
}

Graph expand_in_turn(Graph all) {
  int marked = 0;
  for (int index = 0; index < all.node_count(); ++index) marked += moves_in_turn(all.node(index));
  if (marked == 0) return all;
  GraphCopy copied(all);
  for (int index = 0; index < all.node_count(); ++index) {
    const Node node = all.node(index);
    if (moves_in_turn(node))
      expand_turns(copied, node);
    else
      copied.take(node);
  }
  return copied.finish();
}

}  // namespace lockstep
