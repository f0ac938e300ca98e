// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/all_reduce.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "builders/all_reduce/algorithm.h"
#include "builders/all_reduce/choice.h"
#include "builders/all_reduce/expand.h"
#include "builders/all_reduce/spec.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

struct Subdivisions {
  int64_t count = 1;
  std::string name, result;
};

// Sums each subdivision by a separate collective.
Value sum_subdivided(Graph& one, Value gradient, const AllReduceAttrs& attrs,
                     const Subdivisions& asked) {
  if (asked.count <= 1) return all_reduce(one, {gradient}, attrs, {asked.result}, asked.name)[0];
  const Dims dims = to_dims(one.shape(gradient));
  const bool is_flat = dims.size() == 1;
  const Value flat = is_flat ? gradient : reshape(one, gradient, {-1}, asked.result + "_flat");
  Pieces pieces(one, asked.name);
  std::vector<Value> sums;
  for (Value piece :
       pieces.split(flat, equal_lengths(element_count(dims), asked.count), kEveryReplica)) {
    const std::string number = join("_", sums.size());
    sums.push_back(
        all_reduce(one, {piece}, attrs, {asked.result + number}, asked.name + number)[0]);
  }
  const Value whole = pieces.join_pieces(sums, kEveryReplica);
  if (!is_flat) return reshape(one, whole, dims, asked.result);
  one.rename(whole, asked.result);
  return whole;
}

// Throws if no algorithm of the spec can use the auxiliary devices.
void check_auxiliaries(const AllReduceOptions& options) {
  check(options.auxiliaries >= 0, "all-reduce: ", options.auxiliaries,
        " auxiliary devices, should be at least 0 (", Key{"AUX_DEVICES"}, ", --aux-devices)");
  if (options.auxiliaries == 0) return;
  std::string who;
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms())
    if (algorithm.gathers) who += (who.empty() ? "" : ", ") + algorithm.name;
  for (const AllReduceRange& range : options.spec.ranges)
    if (range.algorithm != "auto" && algorithm_named(range.algorithm).gathers) return;
  fail("all-reduce spec '", text_of(options.spec),
       "' has no algorithm that gathers, so auxiliary devices (", Key{"AUX_DEVICES"},
       ", --aux-devices) would be idle; name an algorithm that gathers (", who,
       ") or remove the auxiliary devices");
}

}  // namespace

std::vector<int> ring_order_of(const AllReduceOptions& options, int replicas) {
  if (!options.ring_order.empty()) return options.ring_order;
  std::vector<int> order(replicas / options.processes);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void check_fits(const AllReduceOptions& options, int replicas) {
  const std::string text = text_of(options.spec);
  check(!options.spec.ranges.empty(),
        "all-reduce: the spec names no algorithm; name one, such as collective or xring");
  check(options.spec.ranges.back().limit < 0, "all-reduce spec '", text,
        "': it ends with a limit; the last range has none");
  check(options.processes >= 1 && replicas % options.processes == 0, "all-reduce: ", replicas,
        " replicas cannot be split equally over ", options.processes, " processes");
  check_wire(options.wire, DType::float32);
  check(options.pieces >= 1, "all-reduce: the number of pieces should be at least 1, is ",
        options.pieces);
  check(options.merge_scope >= 1,
        "all-reduce: the number of buckets under one scope should be at least 1, is ",
        options.merge_scope);
  check_auxiliaries(options);
  const int per_process = replicas / options.processes;
  std::vector<int> sorted = ring_order_of(options, replicas);
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < per_process; ++i)
    check(static_cast<int>(sorted.size()) == per_process && sorted[i] == i,
          "all-reduce: the ring order ",
          std::vector<int64_t>(options.ring_order.begin(), options.ring_order.end()),
          " should name replicas 0 to ", per_process - 1, " once each");
  for (const AllReduceRange& range : options.spec.ranges) {
    if (range.algorithm == "auto") continue;
    const AllReduceAlgorithm& algorithm = algorithm_named(range.algorithm);
    if (replicas == 1 || !algorithm.most_shards) continue;
    const bool elsewhere = algorithm.gathers && options.auxiliaries > 0;
    const int64_t most = elsewhere ? int64_t{options.processes} * options.auxiliaries
                                   : algorithm.most_shards(replicas, options.processes);
    check(range.shards <= most, "all-reduce spec '", text, "': ", text_of(range), " on ",
          options.processes, " x ", elsewhere ? options.auxiliaries : per_process,
          elsewhere ? " auxiliary devices" : " replicas", "; at most #", most,
          " is possible: ask for fewer shards",
          elsewhere ? phrase(" or more auxiliary devices (", Key{"AUX_DEVICES"}, ", --aux-devices)")
                    : Phrase{});
  }
}

AllReducer::AllReducer(const AllReduceOptions& options, int replicas)
    : options_(options), replicas_(replicas), tensors_(options.spec.ranges.size(), 0) {
  check_fits(options, replicas);
}

std::string AllReducer::result_name(const Graph& one, Value gradient) const {
  return one.name(gradient) + (means() ? "_mean" : "_sum");
}

AllReduceRange AllReducer::algorithm_for(std::size_t range, double bytes) {
  const AllReduceRange& asked = options_.spec.ranges[range];
  if (asked.algorithm != "auto") return asked;
  Choice choice = choose_algorithm(options_.topology, replicas_, options_.processes, bytes);
  choices_ += join("# auto: ", choice.why, "\n");
  return choice.range;
}

Value AllReducer::sum(Graph& one, Value gradient, const std::string& param) {
  if (replicas_ == 1) return gradient;
  const std::string name = param + "_grad_all_reduce", result = result_name(one, gradient);
  const Shape shape = one.shape(gradient);
  check(is_static(shape), name, ": the shape ", shape, " must be known");
  const int64_t length = element_count(to_dims(shape));
  const int64_t element = static_cast<int64_t>(size_of(one.dtype(gradient)));
  const std::size_t number = range_for(options_.spec, length, element);
  const AllReduceRange range = algorithm_for(number, static_cast<double>(length * element));
  const AllReduceAlgorithm& algorithm = algorithm_named(range.algorithm);
  if (algorithm.is_one_node()) {
    const AllReduceAttrs attrs{options_.spec.reduction, options_.wire, algorithm.order};
    return sum_subdivided(one, gradient, attrs, {std::min(range.shards, length), name, result});
  }
  const bool is_flat = shape.size() == 1 || length == 0;  // an empty tensor is not cut
  Value sum = is_flat ? gradient : reshape(one, gradient, {-1}, result + "_flat");
  const int64_t turn = tensors_[number]++;
  if (length > 0) sum = mark_for_expansion(one, sum, {range, options_.wire, turn}, name);
  if (means() && length > 0)
    sum =
        scale(one, sum, 1.F / static_cast<float>(replicas_), is_flat ? result : result + "_scaled");
  else if (is_flat)
    sum = identity(one, sum, result);
  return is_flat ? sum : reshape(one, sum, to_dims(shape), result);
}

std::vector<Value> AllReducer::sum_all(Graph& one, const std::vector<Value>& gradients,
                                       const std::vector<std::string>& params) {
  if (replicas_ == 1) return gradients;
  std::vector<GradientSize> sizes;
  for (std::size_t p = 0; p < params.size(); ++p)
    sizes.push_back(
        {params[p], element_count(to_dims(one.shape(gradients[p]))), one.dtype(gradients[p])});
  const Buckets buckets = options_.buckets.empty()
                              ? pack(options_.packing, sizes)
                              : parse_buckets(options_.buckets, sizes, options_.buckets_from);
  bucket_plan_.clear();
  std::vector<Value> sums(gradients.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    choices_.clear();
    std::optional<NameScope> scope;
    if (const std::size_t merged = options_.merge_scope; merged > 1)
      scope.emplace(one, join("allreduce_", b / merged));
    const Bucket& bucket = buckets[b];
    if (bucket.size() == 1 && options_.pieces == 1)
      sums[bucket[0]] = sum(one, gradients[bucket[0]], params[bucket[0]]);
    else
      sum_bucket(one, gradients, bucket, join("bucket_", b), sums);
    bucket_plan_ += choices_ + text_of({bucket}, sizes);
  }
  return sums;
}

void AllReducer::sum_bucket(Graph& one, const std::vector<Value>& gradients, const Bucket& whole,
                            const std::string& name, std::vector<Value>& sums) {
  Pieces pieces(one, name);
  Bucket bucket;
  std::vector<int64_t> lengths;
  std::vector<Value> parts;
  for (int p : whole) {
    const Value gradient = gradients[p];
    const Shape& shape = one.shape(gradient);
    if (element_count(to_dims(shape)) == 0) {  // nothing to sum
      sums[p] = identity(one, gradient, result_name(one, gradient));
      continue;
    }
    bucket.push_back(p);
    lengths.push_back(element_count(to_dims(shape)));
    parts.push_back(shape.size() == 1 ? gradient
                                      : reshape(one, gradient, {-1}, one.name(gradient) + "_flat"));
  }
  if (bucket.empty()) return;
  const Value packed = pieces.join_pieces(parts, kEveryReplica);
  const std::vector<Value> apart =
      pieces.split(sum_in_pieces(one, packed, name), lengths, kEveryReplica);
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    const Value gradient = gradients[bucket[i]];
    sums[bucket[i]] =
        reshape(one, apart[i], to_dims(one.shape(gradient)), result_name(one, gradient));
  }
}

Value AllReducer::sum_in_pieces(Graph& one, Value flat, const std::string& name) {
  const int64_t length = element_count(to_dims(one.shape(flat)));
  const int64_t count = std::min<int64_t>(options_.pieces, length);
  if (count <= 1) return sum(one, flat, name);
  Pieces pieces(one, name + "_cut");
  std::vector<Value> sums;
  for (Value piece : pieces.split(flat, equal_lengths(length, count), kEveryReplica))
    sums.push_back(sum(one, piece, join(name, "_piece_", sums.size())));
  return pieces.join_pieces(sums, kEveryReplica);
}

}  // namespace lockstep
