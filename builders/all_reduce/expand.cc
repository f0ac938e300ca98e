#include "builders/all_reduce/expand.h"

#include <algorithm>
#include <numeric>

#include "builders/all_reduce/exchange.h"
#include "graph/passes/copy.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

constexpr const char* kAlgorithm = "__algorithm";
constexpr const char* kTurn = "__turn";

std::vector<int> first_of_workers(int replicas, int workers) {
  std::vector<int> firsts;
  for (int w = 0; w < workers; ++w) firsts.push_back(w * (replicas / workers));
  return firsts;
}

// The first of every worker, then the second of every worker, ..
std::vector<int> all_gatherers(int replicas, int workers) {
  std::vector<int> gatherers;
  for (int i = 0; i < replicas / workers; ++i)
    for (int first : first_of_workers(replicas, workers)) gatherers.push_back(first + i);
  return gatherers;
}

std::vector<int> gatherers_for(const AllReduceRange& range, int replicas, int workers,
                               int64_t tensor) {
  const std::vector<int> all = range.algorithm == "psgpu" ? all_gatherers(replicas, workers)
                                                          : first_of_workers(replicas, workers);
  const auto groups = gather_groups(static_cast<int>(all.size()), range.shards);
  std::vector<int> chosen;
  for (int i : groups[static_cast<std::size_t>(tensor) % groups.size()])
    chosen.push_back(all[static_cast<std::size_t>(i)]);
  return chosen;
}

// Within each worker to its first replica, across the firsts, back to all.
std::vector<Value> sum_in_levels(const Reduce& whole, const AllReduceRange& range, int workers) {
  const std::size_t per_worker = whole.values.size() / static_cast<std::size_t>(workers);
  Reduce firsts{whole.exchange, {}, {}, whole.length};
  for (std::size_t w = 0; w < static_cast<std::size_t>(workers); ++w) {
    std::vector<Value> terms;
    const int first = whole.replicas[w * per_worker];
    for (std::size_t i = w * per_worker; i < (w + 1) * per_worker; ++i)
      terms.push_back(whole.exchange.bring(whole.values[i], whole.replicas[i], first));
    firsts.values.push_back(whole.exchange.sum(terms, first));
    firsts.replicas.push_back(first);
  }
  std::vector<Value> sums = firsts.values;
  if (workers > 1) {
    if (range.cross == "xring") sums = sum_by_ring(firsts, workers, 1, {0});
    if (range.cross == "rechd") sums = sum_by_halving(firsts);
    if (range.cross == "pscpu") sums = sum_by_shuffle(firsts, firsts.replicas);
  }
  std::vector<Value> results;
  for (std::size_t k = 0; k < whole.values.size(); ++k)
    results.push_back(whole.exchange.bring(sums[k / per_worker], firsts.replicas[k / per_worker],
                                           whole.replicas[k]));
  return results;
}

std::vector<Value> by_algorithm(const Reduce& whole, const AllReduceRange& range, int64_t turn,
                                const AllReduceOptions& options) {
  const std::string name = range.name();
  const auto replicas = static_cast<int>(whole.values.size());
  if (!range.cross.empty()) return sum_in_levels(whole, range, options.workers);
  if (name == "xring")
    return sum_by_ring(whole, options.workers, range.shards, ring_order_of(options, replicas));
  if (name == "rechd") return sum_by_halving(whole);
  if (name == "bcube") return sum_by_factors(whole);
  if (name == "muji") return sum_by_tree(whole);
  if (name == "simple") return sum_on_first(whole);
  if (name == "hierarchical_copy") return sum_by_halves(whole, turn);
  if (name == "trivial") return whole.values;
  return sum_by_shuffle(whole, gatherers_for(range, replicas, options.workers, turn));
}

bool is_marked(const Node& node) {
  return node.type() == "AllReduce" && node.attributes().has(kAlgorithm);
}

DType wire_of(const Node& node) {
  const std::string wire = read_all_reduce(node.attributes()).wire;
  if (wire.empty()) return DType::undefined;
  return wire == "float16" ? DType::float16 : DType::bfloat16;
}

void expand_node(GraphCopy& copy, const Node& node, const AllReduceOptions& options) {
  const OriginScope origin(copy.to(), node.where());
  AttributeReader attributes = node.attributes();
  const AllReduceRange range = parse_all_reduce(attributes.text(kAlgorithm, "")).ranges[0];
  Exchange exchange(copy.to(), node.name(), wire_of(node));
  Reduce whole{exchange, copy.of(node.inputs()), {}, 0};
  whole.length = element_count(to_dims(copy.to().shape(whole.values[0])));
  whole.replicas.resize(whole.values.size());
  std::iota(whole.replicas.begin(), whole.replicas.end(), 0);
  std::vector<Value> sums = by_algorithm(whole, range, attributes.integer(kTurn, 0), options);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (range.algorithm != "trivial") sums[k] = exchange.rounded(sums[k], static_cast<int>(k));
    copy.set(node.outputs()[k], sums[k]);
  }
}

}  // namespace

std::vector<int> ring_order_of(const AllReduceOptions& options, int replicas) {
  if (!options.ring_order.empty()) return options.ring_order;
  std::vector<int> order(static_cast<std::size_t>(replicas / options.workers));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Value mark_for_expansion(Graph& one, Value flat, const Algorithm& algorithm,
                         const std::string& name) {
  const Value sum = all_reduce(one, {flat}, {Reduction::sum, algorithm.wire}, {name}, name)[0];
  const int node = one.producer(sum)->index();
  AllReduceRange range = algorithm.range;
  range.limit = -1;
  one.set_attribute(node, kAlgorithm, text_of(AllReduceSpec{{range}}));
  one.set_attribute(node, kTurn, algorithm.turn);
  return sum;
}

Graph expand(Graph all, const AllReduceOptions& options) {
  int marked = 0;
  for (int index = 0; index < all.node_count(); ++index) marked += is_marked(all.node(index));
  if (marked == 0) return all;
  GraphCopy copy(all);
  for (int index = 0; index < all.node_count(); ++index) {
    const Node node = all.node(index);
    if (is_marked(node))
      expand_node(copy, node, options);
    else
      copy.take(node);
  }
  return copy.finish();
}

}  // namespace lockstep
