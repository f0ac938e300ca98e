#include "builders/all_reduce/all_reduce.h"

#include <algorithm>
#include <numeric>

#include "builders/all_reduce/exchange.h"
#include "operators/optimizer/optimizer.h"
#include "operators/shape/shape.h"

namespace lockstep {
namespace {

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

}  // namespace

AllReducer::AllReducer(const AllReduceOptions& options, int replicas)
    : options_(options), replicas_(replicas), tensors_(options.spec.ranges.size(), 0) {
  const std::string text = text_of(options.spec);
  check(!options.spec.ranges.empty(), "an all-reduce needs a spec");
  check(options.workers >= 1 && replicas % options.workers == 0, "all-reduce: ", replicas,
        " replicas do not divide over ", options.workers, " workers");
  check(options.pieces >= 1, "all-reduce: a bucket has at least one piece, not ", options.pieces);
  const int per_worker = replicas / options.workers;
  if (options_.ring_order.empty()) {
    options_.ring_order.resize(static_cast<std::size_t>(per_worker));
    std::iota(options_.ring_order.begin(), options_.ring_order.end(), 0);
  }
  std::vector<int> sorted = options_.ring_order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < per_worker; ++i)
    check(static_cast<int>(sorted.size()) == per_worker && sorted[static_cast<std::size_t>(i)] == i,
          "all-reduce: the ring order ",
          std::vector<int64_t>(options_.ring_order.begin(), options_.ring_order.end()),
          " should name replicas 0 to ", per_worker - 1, " once each");
  for (const AllReduceRange& range : options.spec.ranges) {
    if (replicas == 1) continue;
    const int64_t most = range.name() == "xring"   ? per_worker
                         : range.name() == "pscpu" ? options.workers
                         : range.name() == "psgpu" ? replicas
                                                   : 1;
    check(range.shards <= most, "all-reduce spec '", text, "': ", range.name(), "#", range.shards,
          " on ", options.workers, " x ", per_worker, " replicas; at most #", most);
  }
}

std::string AllReducer::result_name(const Graph& graph, Value gradient) const {
  return graph.name(gradient) + (means() ? "_mean" : "_sum");
}

std::vector<Value> AllReducer::reduce(Graph& graph, const AllReduceRange& range,
                                      const std::vector<Value>& flat, int64_t length,
                                      const std::string& name, int64_t tensor) const {
  const DType wire = options_.wire.empty()        ? DType::undefined
                     : options_.wire == "float16" ? DType::float16
                                                  : DType::bfloat16;
  Exchange exchange(graph, name, wire);
  Reduce whole{exchange, flat, std::vector<int>(flat.size()), length};
  std::iota(whole.replicas.begin(), whole.replicas.end(), 0);
  std::vector<Value> sums = by_algorithm(whole, range, tensor);
  if (range.algorithm != "trivial")
    for (std::size_t k = 0; k < sums.size(); ++k)
      sums[k] = exchange.rounded(sums[k], static_cast<int>(k));
  return sums;
}

std::vector<Value> AllReducer::by_algorithm(const Reduce& whole, const AllReduceRange& range,
                                            int64_t tensor) const {
  const std::string algorithm = range.name();
  if (!range.cross.empty()) return sum_in_levels(whole, range, options_.workers);
  if (algorithm == "xring")
    return sum_by_ring(whole, options_.workers, range.shards, options_.ring_order);
  if (algorithm == "rechd") return sum_by_halving(whole);
  if (algorithm == "bcube") return sum_by_factors(whole);
  if (algorithm == "muji") return sum_by_tree(whole);
  if (algorithm == "simple") return sum_on_first(whole);
  if (algorithm == "hierarchical_copy") return sum_by_halves(whole, tensor);
  if (algorithm == "trivial") return whole.values;
  return sum_by_shuffle(whole, gatherers_for(range, replicas_, options_.workers, tensor));
}

std::vector<Value> AllReducer::sum(Graph& graph, const std::vector<Value>& gradients,
                                   const std::string& param) {
  if (replicas_ == 1) return gradients;
  std::vector<std::string> names;
  for (Value gradient : gradients) names.push_back(result_name(graph, gradient));
  const std::string name = param + "_grad_all_reduce";
  const Shape shape = graph.shape(gradients[0]);
  check(is_static(shape), name, ": the shape ", shape, " must be known");
  const int64_t length = element_count(to_dims(shape));
  const int64_t element = static_cast<int64_t>(size_of(graph.dtype(gradients[0])));
  const std::size_t number = range_for(options_.spec, length, element);
  AllReduceRange range = options_.spec.ranges[number];
  check_wire(options_.wire, graph.dtype(gradients[0]));
  if (range.algorithm == "auto") {
    Choice choice = choose_algorithm(options_.topology, replicas_, options_.workers,
                                     static_cast<double>(length * element));
    range = std::move(choice.range);
    choices_ += join("# auto: ", choice.why, "\n");
  }
  if (range.name() == "collective" || range.name() == "nccl") {
    const SumOrder order = range.name() == "nccl" ? SumOrder::any : SumOrder::replicas;
    return all_reduce(graph, gradients, {options_.spec.reduction, options_.wire, order}, names,
                      name);
  }

  const bool is_flat = shape.size() == 1 || length == 0;  // nothing to cut where there is nothing
  auto site = [](const std::string& of) { return Site(of, Where{"", 0}); };
  std::vector<Value> flat;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    ReplicaScope replica(graph, static_cast<int>(k));
    flat.push_back(is_flat ? gradients[k]
                           : reshape(graph, gradients[k], {-1}, site(names[k] + "_flat")));
  }
  const int64_t tensor = tensors_[number]++;
  std::vector<Value> sums = length == 0 ? flat : reduce(graph, range, flat, length, name, tensor);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    ReplicaScope replica(graph, static_cast<int>(k));
    if (means() && length > 0)
      sums[k] = scale(graph, sums[k], 1.F / static_cast<float>(replicas_),
                      site(is_flat ? names[k] : names[k] + "_scaled"));
    else if (is_flat)
      sums[k] = identity(graph, sums[k], site(names[k]));
    if (!is_flat) sums[k] = reshape(graph, sums[k], to_dims(shape), site(names[k]));
  }
  return sums;
}

AllReducer::PerParam AllReducer::sum_all(Graph& graph, const PerParam& gradients,
                                         const std::vector<std::string>& params) {
  std::vector<GradientSize> sizes;
  for (std::size_t p = 0; p < params.size(); ++p) {
    const Value gradient = gradients[p][0];
    sizes.push_back(
        {params[p], element_count(to_dims(graph.shape(gradient))), graph.dtype(gradient)});
  }
  const Buckets buckets = options_.buckets.empty() ? pack(options_.packing, sizes)
                                                   : parse_buckets(options_.buckets, sizes);
  bucket_plan_.clear();
  PerParam sums(gradients.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    choices_.clear();
    const Bucket& bucket = buckets[b];
    if (bucket.size() == 1 && options_.pieces == 1) {
      const auto p = static_cast<std::size_t>(bucket[0]);
      sums[p] = sum(graph, gradients[p], params[p]);
    } else {
      sum_bucket(graph, gradients, bucket, join("bucket_", b), sums);
    }
    bucket_plan_ += choices_ + text_of({bucket}, sizes);
  }
  return sums;
}

void AllReducer::sum_bucket(Graph& graph, const PerParam& gradients, const Bucket& whole,
                            const std::string& name, PerParam& sums) {
  Exchange exchange(graph, name);
  auto at = [](int i) { return static_cast<std::size_t>(i); };
  auto site = [](const std::string& of) { return Site(of, Where{"", 0}); };
  Bucket bucket;
  std::vector<int64_t> lengths;
  for (int p : whole) {
    const int64_t length = element_count(to_dims(graph.shape(gradients[at(p)][0])));
    if (length > 0) {
      bucket.push_back(p);
      lengths.push_back(length);
      continue;
    }
    for (int k = 0; k < replicas_; ++k) {  // nothing to sum
      ReplicaScope replica(graph, k);
      const Value gradient = gradients[at(p)][at(k)];
      sums[at(p)].push_back(identity(graph, gradient, site(result_name(graph, gradient))));
    }
  }
  if (bucket.empty()) return;
  std::vector<Value> packed;
  for (int k = 0; k < replicas_; ++k) {
    ReplicaScope replica(graph, k);
    std::vector<Value> parts;
    for (int p : bucket) {
      const Value gradient = gradients[at(p)][at(k)];
      parts.push_back(graph.shape(gradient).size() == 1
                          ? gradient
                          : reshape(graph, gradient, {-1}, site(graph.name(gradient) + "_flat")));
    }
    packed.push_back(exchange.join_pieces(parts, k));
  }
  const std::vector<Value> reduced = sum_in_pieces(graph, packed, name);
  for (int p : bucket) sums[at(p)].resize(gradients[at(p)].size());
  for (int k = 0; k < replicas_; ++k) {
    ReplicaScope replica(graph, k);
    const std::vector<Value> pieces = exchange.split(reduced[at(k)], lengths, k);
    for (std::size_t i = 0; i < bucket.size(); ++i) {
      const Value gradient = gradients[at(bucket[i])][at(k)];
      sums[at(bucket[i])][at(k)] = reshape(graph, pieces[i], to_dims(graph.shape(gradient)),
                                           site(result_name(graph, gradient)));
    }
  }
}

// Each but the last has floor(length / pieces) elements; the last takes the rest.
std::vector<Value> AllReducer::sum_in_pieces(Graph& graph, const std::vector<Value>& flat,
                                             const std::string& name) {
  const int64_t length = element_count(to_dims(graph.shape(flat[0])));
  const int64_t count = std::min<int64_t>(options_.pieces, length);
  if (count <= 1) return sum(graph, flat, name);
  std::vector<int64_t> lengths(static_cast<std::size_t>(count), length / count);
  lengths.back() += length % count;
  Exchange exchange(graph, name + "_cut");
  std::vector<std::vector<Value>> pieces, sums(flat.size());
  for (std::size_t k = 0; k < flat.size(); ++k)
    pieces.push_back(exchange.split(flat[k], lengths, static_cast<int>(k)));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<Value> of_replicas;
    for (const auto& mine : pieces) of_replicas.push_back(mine[i]);
    of_replicas = sum(graph, of_replicas, join(name, "_piece_", i));
    for (std::size_t k = 0; k < flat.size(); ++k) sums[k].push_back(of_replicas[k]);
  }
  std::vector<Value> whole;
  for (std::size_t k = 0; k < flat.size(); ++k)
    whole.push_back(exchange.join_pieces(sums[k], static_cast<int>(k)));
  return whole;
}

}  // namespace lockstep
